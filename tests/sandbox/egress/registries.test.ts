import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { reachRegistries, readRegistries } from "../../../src/app/repositories/registries.ts";
import { openSandboxBackend } from "../../../src/app/sandbox.ts";
import { environmentSchema } from "../../../src/config/environment.ts";
import { settingsSchema } from "../../../src/config/schema.ts";
import { createBubblewrapBackend } from "../../../src/sandbox/bubblewrap/backend.ts";
import { createEgress } from "../../../src/sandbox/egress/egress.ts";
import type { SandboxBackend } from "../../../src/sandbox/sandbox.ts";
import { countAttacks } from "../../attacks.ts";
import { type FakeRegistries, startRegistries } from "../../fakes/registries.ts";
import { dataFolder, output } from "../two-threads.ts";

const shop = { url: "https://github.com/acme/shop", registries: ["npm", "apt"] };

describe("the registries of a channel", () => {
  const reachOf = (settings: object) => readRegistries(settingsSchema.parse(settings));

  test("are those that it and its repositories name, and no other channel has any", () => {
    const reach = reachOf({
      repositories: { shop },
      channels: {
        "slack:T1:C1": { repositories: ["shop"], registries: ["go", "npm"] },
        "slack:T1:C2": { registries: ["pypi", "crates"] },
        "slack:T1:C3": { network: ["example.com"] },
      },
    });
    expect(Object.keys(reach)).toEqual(["slack:T1:C1", "slack:T1:C2"]);
    expect(reach["slack:T1:C1"]?.hosts).toEqual([
      ...["proxy.golang.org", "sum.golang.org", "registry.npmjs.org"],
      ...[
        "deb.debian.org",
        "security.debian.org",
        "archive.ubuntu.com",
        "security.ubuntu.com",
        "ports.ubuntu.com",
      ],
    ]);
    expect(reach["slack:T1:C1"]?.variables).toEqual({});
    expect(reach["slack:T1:C2"]?.hosts).toEqual([
      ...["pypi.org", "files.pythonhosted.org", "index.crates.io", "static.crates.io"],
    ]);
  });

  test("are the operator's own where there are some, which programs are told of", () => {
    const registries = {
      npm: "https://npm.corp.example:8443/all/",
      pypi: "http://pypi.corp.example/simple",
      crates: "https://cargo.corp.example/all/index",
      go: "https://go.corp.example",
      apt: [
        "deb [signed-by=/usr/share/keyrings/corp.gpg] https://apt.corp.example/debian stable main contrib",
        "deb https://apt.corp.example/debian stable-updates main",
      ],
    };
    const settings = {
      egress: { registries },
      channels: { "slack:T1:C1": { registries: ["npm", "pypi", "crates", "go", "apt"] } },
    };
    const reach = reachOf(settings)["slack:T1:C1"];
    expect(reach?.hosts).toEqual(["sum.golang.org"]);
    expect(reach?.variables).toEqual({
      npm_config_registry: registries.npm,
      ...{ PIP_INDEX_URL: registries.pypi, UV_DEFAULT_INDEX: registries.pypi },
      ...{ PIP_TRUSTED_HOST: "pypi.corp.example", UV_INSECURE_HOST: "pypi.corp.example" },
      ...{ GOPROXY: registries.go, APT_CONFIG: "/etc/apt/apt.conf" },
    });
    expect(reach?.files).toMatchObject({
      "/.cargo/config.toml": `[source.crates-io]\nreplace-with = "own"\n\n[source.own]\nregistry = "sparse+${registries.crates}/"\n`,
      "/etc/apt/sources.list": `${registries.apt.join("\n")}\n`,
    });
    const environment = environmentSchema.parse({});
    const place = { dataDir: "/nowhere", secretFiles: [], environment, variables: {} };
    const backend = openSandboxBackend({ ...place, settings: settingsSchema.parse(settings) });
    expect(backend.note("slack:T1:C1:1")).toContain(
      "to fetch from here: https://npm.corp.example:8443/all/, http://pypi.corp.example/, https://cargo.corp.example/all/, https://go.corp.example/, https://apt.corp.example/debian.",
    );
    expect(backend.note("slack:T1:C2:1")).toBe("");
  });

  test.each(["https://ada:secret@npm.example/", "https://npm.example/?token=x", "ftp://npm.example/"])(
    "are not at %s",
    (npm) => {
      expect(settingsSchema.safeParse({ egress: { registries: { npm } } }).success).toBe(false);
    },
  );

  test.each([
    "https://apt.example/debian stable main",
    "deb https://ada:secret@apt.example/debian stable main",
    "deb copy:/etc stable main",
    "deb https://apt.example/debian",
    "deb https://apt.example/debian stable main\ndeb file:/etc ./",
  ])("are not told to apt by %s", (line) => {
    expect(settingsSchema.safeParse({ egress: { registries: { apt: [line] } } }).success).toBe(false);
  });
});

/** Where rustup or the system has it. */
const cargo = [join(homedir(), ".rustup", "toolchains"), "/usr/local/rustup/toolchains"]
  .flatMap((folder) => (existsSync(folder) ? readdirSync(folder).map((one) => join(folder, one)) : []))
  .concat("/usr", "/usr/local")
  .map((folder) => join(folder, "bin", "cargo"))
  .find((path) => existsSync(path));

/** Beside no compiler, which fetching does without; where sandboxes, which have a /tmp of their own, can be shown it. */
function copyCargo(path: string): string {
  const folder = mkdtempSync("/var/tmp/heddle-cargo-");
  chmodSync(folder, 0o755);
  copyFileSync(path, join(folder, "cargo"));
  return folder;
}

/** A key that signs, and the public half in a folder that sandboxes can be shown; undefined without GnuPG. */
function makeKey(): { folder: string; sign(text: Buffer): Buffer; end(): void } | undefined {
  if (!existsSync("/usr/bin/gpg")) return undefined;
  const [home, folder] = [mkdtempSync("/tmp/heddle-gpg-"), mkdtempSync("/var/tmp/heddle-keys-")];
  chmodSync(folder, 0o755);
  const gpg = (args: readonly string[], input?: Buffer) =>
    execFileSync("gpg", ["--homedir", home, "--batch", "--quiet", "--passphrase", "", ...args], {
      ...{ stdio: ["pipe", "pipe", "ignore"] },
      ...(input && { input }),
    });
  for (const name of ["corp", "other"]) {
    gpg([
      "--pinentry-mode",
      "loopback",
      "--quick-generate-key",
      `${name}@example.com`,
      "ed25519",
      "sign",
      "never",
    ]);
    writeFileSync(join(folder, `${name}.gpg`), gpg(["--export", `${name}@example.com`]), { mode: 0o644 });
  }
  return {
    folder,
    sign: (text) => gpg(["--local-user", "corp@example.com", "--clearsign"], text),
    end() {
      execFileSync("gpgconf", ["--homedir", home, "--kill", "gpg-agent"]);
      rmSync(home, { recursive: true, force: true });
    },
  };
}

const missing = ["socat", "nsenter", "npm", "pip3", "curl"].filter((name) => !existsSync(`/usr/bin/${name}`));

describe.skipIf(missing.length > 0)("through the proxy", () => {
  const dataDir = dataFolder();
  const folders: Record<string, string> = {};
  const dialled: string[] = [];
  let registries: FakeRegistries;
  let backend: SandboxBackend;
  let mirror: string;
  const key = makeKey();

  beforeAll(async () => {
    registries = await startRegistries("http://registry.example", key?.sign);
    mirror = `http://registry.example:${registries.port}`;
    const egress = createEgress({
      rules: {
        ...{ allow: [], channels: {}, credentials: [] },
        registries: {
          "local:w:own": reachRegistries(["npm", "pypi", "crates", "apt"], {
            npm: `${mirror}/npm/`,
            pypi: `${mirror}/pypi/simple`,
            crates: `${mirror}/crates/index`,
            apt: [`deb [trusted=yes] ${mirror}/apt stable main`],
          }),
          ...Object.fromEntries(
            ["signed corp", "signed other", "forged corp", "apt corp"].map((each) => {
              const [path = "", signer = ""] = each.split(" ");
              const line = `deb [signed-by=${key?.folder}/${signer}.gpg] ${mirror}/${path} stable main`;
              return [`local:w:${path}-${signer}`, reachRegistries(["apt"], { apt: [line] })];
            }),
          ),
          "local:w:secure": reachRegistries(["npm"], { npm: `https://registry.example:${registries.port}/` }),
          "local:w:public": reachRegistries(["npm", "apt"], {}),
        },
      },
      limits: { connections: 16, bytesPerDay: 1e9 },
      dialer: {
        async resolve(host) {
          if (host === "registry.example" || host === "security.debian.org") return ["10.9.8.7"];
          return host === "deb.debian.org" ? ["93.184.216.34"] : [];
        },
        connect(address, port) {
          dialled.push(`${address}:${port}`);
          return connect(registries.port, "127.0.0.1");
        },
        secure: (socket) => socket,
      },
      log: () => {},
    });
    if (cargo !== undefined) folders["cargo"] = copyCargo(cargo);
    if (key) folders["keys"] = key.folder;
    backend = createBubblewrapBackend({
      ...{ dataDir, egress },
      toolChains: { folders, of: () => Object.keys(folders) },
    });
  });
  afterAll(async () => {
    await backend.close();
    await registries.close();
    key?.end();
    for (const folder of [dataDir, ...Object.values(folders)]) rmSync(folder, { recursive: true });
  });

  test("npm installs from the operator's registry, at a private address and on its port", async () => {
    const sandbox = await backend.open("local:w:own:npm");
    const said = await output(
      sandbox,
      `npm install --no-fund loomweight 2>&1; node -p 'require("loomweight")'; grep resolved package-lock.json`,
    );
    expect(said).toMatch(/added 1 package[^]*from npm/);
    expect(said).toContain(`${mirror}/npm/loomweight/-/loomweight-1.0.0.tgz`);
    expect(registries.requests).toContain("GET /npm/loomweight/-/loomweight-1.0.0.tgz");
    expect(await output(sandbox, "npm install no-such-thing 2>&1")).toContain("404");
    expect(await output(sandbox, "npm install @weavers/loom 2>&1")).toContain("404");
    expect(registries.requests).toContain("GET /npm/@weavers%2floom");
  });

  test("pip installs from the operator's index", async () => {
    const sandbox = await backend.open("local:w:own:pip");
    const said = await output(
      sandbox,
      "pip3 install --disable-pip-version-check --target packages Loomweight 2>&1; PYTHONPATH=packages python3 -c 'import loomweight; print(loomweight.said)'",
    );
    expect(said).toMatch(/Successfully installed [Ll]oomweight-1\.0\.0[^]*from pypi/);
  });

  // Nothing of Heddle's needs Cargo: where it is not installed, the file that it would read is looked at below.
  const withCargo = cargo === undefined ? () => undefined : test;
  withCargo("Cargo fetches from the operator's index", async () => {
    const sandbox = await backend.open("local:w:own:cargo");
    const said = await output(
      sandbox,
      `mkdir -p shop/src && cd shop && touch src/lib.rs && printf '[package]\\nname = "shop"\\n[dependencies]\\nloomweight = "1"\\n' > Cargo.toml && cargo vendor --respect-source-config 2>&1; cat vendor/loomweight/src/lib.rs`,
    );
    expect(said).toContain("from crates");
    expect(registries.requests).toContain("GET /crates/dl/loomweight/1.0.0/download");
  });

  test.skipIf(!existsSync("/usr/bin/apt-get"))("apt fetches from the operator's sources", async () => {
    const sandbox = await backend.open("local:w:own:apt");
    const said = await output(
      sandbox,
      "apt-get update 2>&1 && apt-get download loomweight 2>&1 && dpkg -x loomweight_*.deb there && cat there/usr/share/loomweight; apt-get download no-such-thing 2>&1",
    );
    expect(said).toMatch(/from apt\n[^]*Unable to locate package no-such-thing/);
    expect(said).not.toMatch(/^[WE]: .*Unable to read/m);
  });

  test.skipIf(!existsSync("/usr/bin/apt-get") || !key).each([
    ["signed-corp", /from apt$/],
    ["signed-other", /NO_PUBKEY[^]*is not signed/],
    ["forged-corp", /BADSIG[^]*is not signed/],
    ["apt-corp", /does not have a Release file|is not signed/],
  ])("apt believes sources of the operator's by their key alone: %s", async (channel, expected) => {
    const sandbox = await backend.open(`local:w:${channel}:apt`);
    const said = await output(
      sandbox,
      "apt-get update 2>&1 && apt-get download loomweight 2>&1 && dpkg -x loomweight_*.deb there && cat there/usr/share/loomweight",
    );
    expect(said).toMatch(expected);
    expect(said.includes("from apt")).toBe(channel === "signed-corp");
  });

  test("what programs read of the operator's registries cannot be changed, and other channels have none of it", async (context) => {
    countAttacks(context, 4);
    const sandbox = await backend.open("local:w:own:files");
    const paths = ["/.cargo/config.toml", "/etc/apt/apt.conf", "/etc/apt/sources.list"];
    const changed = "echo x >> /.cargo/config.toml; mv /etc/apt/sources.list /tmp; rm -rf /etc/apt /.cargo";
    expect(await output(sandbox, `${changed}; cat ${paths.join(" ")}`)).toMatch(
      /registry = "sparse\+http:\/\/registry\.example:\d+\/crates\/index\/"\n[^]*Dir::State[^]*\ndeb \[trusted=yes\]/,
    );
    expect(await output(sandbox, `stat -c %A ${paths.join(" ")}`)).toBe("-rw-r--r--\n".repeat(3).trim());
    const other = await backend.open("local:w:public:files");
    expect(await output(other, `ls ${paths.join(" ")} 2>/dev/null; echo [$APT_CONFIG]`)).toBe("[]");
  });

  test("nothing else of that host is reached, nothing is published, and no other channel gets there", async (context) => {
    countAttacks(context, 12);
    const before = registries.requests.length;
    const status = async (channel: string, args: string) => {
      const sandbox = await backend.open(`local:w:${channel}:attack`);
      return await output(
        sandbox,
        `curl -s -o /dev/null -w '%{http_code} %{http_connect}' --max-time 5 ${args}`,
      );
    };
    for (const args of [
      `${mirror}/other/secret`,
      `--path-as-is ${mirror}/npm/../other/secret`,
      `--path-as-is ${mirror}/npm/%2e%2e/other/secret`,
      `--path-as-is ${mirror}/npm/..%2f..%2Fother/secret`,
      `--path-as-is ${mirror}/npm/x%5c..%5c..%5Cother`,
      `--path-as-is '${mirror}/npm/..;/other/secret'`,
      `--path-as-is '${mirror}/npm/..;%2fnpm/other/secret'`,
      `--path-as-is '${mirror}/npm/%2e%2e%3Bx=1%2fother/secret'`,
      `-H 'Host: other.example' ${mirror}/other/secret`,
      `${mirror}/npmx/secret`,
      `-X PUT -d x ${mirror}/npm/loomweight`,
      `-X POST -d x ${mirror}/npm/-/v1/login`,
      "http://registry.example:1/npm/loomweight",
      "http://registry.example/npm/loomweight",
    ]) {
      expect(await status("own", args), args).toMatch(/^403/);
    }
    expect(await status("own", `https://registry.example:${registries.port}/`)).toMatch(/ 403$/);
    expect(await status("public", `${mirror}/npm/loomweight`)).toMatch(/^403/);
    expect(await status("none", `${mirror}/npm/loomweight`)).toMatch(/^000/);
    expect(registries.requests).toHaveLength(before);
  });

  test("a registry over https is a tunnel to its host and port, and to no other port", async () => {
    const sandbox = await backend.open("local:w:secure:1");
    const connected = (port: number) =>
      output(
        sandbox,
        `curl -s -o /dev/null -w '%{http_connect}' --max-time 5 https://registry.example:${port}/`,
      );
    expect(await connected(registries.port)).toBe("200");
    expect(await connected(443)).toBe("403");
    expect(await connected(registries.port + 1)).toBe("403");
    expect(await output(sandbox, "echo $npm_config_registry")).toBe(
      `https://registry.example:${registries.port}/`,
    );
  });

  test("apt's servers are read without TLS, unless they are at a private address", async () => {
    const sandbox = await backend.open("local:w:public:1");
    const status = (url: string) => output(sandbox, `curl -s -o /dev/null -w '%{http_code}' ${url}`);
    dialled.length = 0;
    expect(await status("http://deb.debian.org/debian/dists/stable/InRelease")).toBe("404");
    expect(dialled).toEqual(["93.184.216.34:80"]);
    expect(await status("http://security.debian.org/")).toBe("403");
    expect(await status("http://registry.npmjs.org/loomweight")).toBe("403");
  });
});
