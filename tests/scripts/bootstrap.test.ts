import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, readlink, rm, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFailed, test } from "vitest";
import { isUsable } from "../../scripts/bootstrap/node.js";
import { sandboxPath } from "../../scripts/bootstrap/sandbox-path.js";
import { launchEnvironment } from "../../src/sandbox/bubblewrap/command-line.ts";
import { type Checkout, createCheckout } from "./checkout.ts";

let checkout: Checkout;
const start = (options: Parameters<Checkout["run"]>[1] = {}) =>
  checkout.run("heddle.js", { ...options, args: ["start", ...(options.args ?? [])] });

const npmCi = "ci --omit=dev --ignore-scripts --no-audit --no-fund";
const oldNode = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.1.0" } });`;
const ordinaryUser = "process.getuid = () => 1000;";

beforeEach(async () => {
  checkout = await createCheckout();
});

afterEach(() => checkout.remove());

describe("a start", () => {
  test("is the program, in the repository's folder and with its own Node first on PATH", async () => {
    const { code, stdout } = await start({ args: ["--flag", "two words"] });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      args: ["start", "--flag", "two words"],
      cwd: checkout.folder,
      path: `${dirname(process.execPath)}:${checkout.bin}`,
      parent: process.pid,
    });
  });

  test("says a line for what it sets up, and nothing when nothing is to do", async () => {
    expect((await start()).stderr).toBe(
      "heddle: installing the packages of package-lock.json into node_modules (npm ci)\n",
    );
    expect((await start()).stderr).toBe("");
    expect(await checkout.npmLog()).toEqual([npmCi]);
  });

  test.each([
    ["fail", { code: 7, signal: null }],
    ["abort", { code: null, signal: "SIGKILL" }],
  ])("ends as the program ends: %s", async (how, end) => {
    expect(await start({ args: [how] })).toMatchObject(end);
  });

  test.each([
    ["SIGTERM", 15],
    ["SIGINT", 2],
  ] as const)("passes %s on", async (signal, code) => {
    const run = await start({ args: ["wait"], onOutput: (send) => send(signal) });
    expect(run).toMatchObject({ code, signal: null });
  });
});

test("ends when npm, which tells only its shell, is told to end", async () => {
  const line = `"${process.execPath}" "${join(checkout.folder, "scripts/heddle.js")}" start wait; :`;
  const env = { PATH: checkout.bin, npm_execpath: checkout.npm, npm_lifecycle_event: "start" };
  const options = { env, detached: true };
  const shell = spawn("/bin/sh", ["-c", line], { ...options, stdio: ["ignore", "pipe", "ignore"] });
  const { pid = 0, stdout } = shell;
  onTestFailed(() => void process.kill(-pid, "SIGKILL"));
  await once(stdout, "data");
  shell.kill();
  // Until the last process has closed it.
  await once(stdout.resume(), "close");
});

describe("the packages", () => {
  test("are installed again when the lockfile has changed", async () => {
    await start();
    await checkout.writeLockfile({ "node_modules/a": { version: "1.0.1", integrity: "sha512-b" } });
    await start();
    await start();
    expect(await checkout.npmLog()).toEqual([npmCi, npmCi]);
  });

  test("are installed again after an installation that did not end", async () => {
    await start();
    await rm(join(checkout.folder, "node_modules/.package-lock.json"));
    await start();
    expect(await checkout.npmLog()).toEqual([npmCi, npmCi]);
  });

  test("of another platform and of development are not missed by the program", async () => {
    await checkout.writeLockfile({
      "node_modules/a": { version: "1.0.0" },
      "node_modules/darwin": { version: "1.0.0", optional: true },
      "node_modules/lint": { version: "1.0.0", dev: true },
    });
    const env = { NODE_ENV: "production" };
    await start({ env });
    await start({ env });
    expect(await checkout.npmLog()).toEqual([npmCi]);
    // The tests do miss them, and get them in spite of NODE_ENV: added to what is there.
    const { stderr } = await checkout.run("test.js", { env });
    expect(stderr).toMatch(
      /^heddle: adding the packages for development of package-lock\.json \(npm install\)\n/,
    );
    // They do not keep a start from starting at once.
    expect((await start({ env })).stderr).toBe("");
    expect((await checkout.npmLog()).slice(1)).toEqual([
      "install --no-save --include=dev --ignore-scripts --no-audit --no-fund",
    ]);
  });

  test("of development come with all others where one of those is missing or old", async () => {
    await start();
    await checkout.writeLockfile({
      "node_modules/a": { version: "1.0.1" },
      "node_modules/lint": { version: "1.0.0", dev: true },
    });
    await checkout.run("test.js");
    expect((await checkout.npmLog()).slice(1)).toEqual([
      "ci --include=dev --ignore-scripts --no-audit --no-fund",
    ]);
  });

  test("are installed once by starts at the same moment", async () => {
    const go = join(checkout.folder, "go");
    const waits = Promise.withResolvers<void>();
    const onWords = (words: string) =>
      words.includes("waiting for another start that is setting up") && waits.resolve();
    const runs = [1, 2, 3].map(() => start({ env: { NPM_WAITS: go }, onWords }));
    await waits.promise;
    await writeFile(go, "");
    expect((await Promise.all(runs)).map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(await checkout.npmLog()).toEqual([npmCi]);
  });

  test("are installed although a start that died left its lock behind", async () => {
    const lock = join(checkout.folder, ".cache/setup.lock");
    await mkdir(dirname(lock));
    await writeFile(lock, "1\n");
    const longAgo = new Date(Date.now() - 60_000);
    await utimes(lock, longAgo, longAgo);
    expect(await start()).toMatchObject({ code: 0 });
    await expect(readFile(lock)).rejects.toThrow("ENOENT");
  });

  test("that cannot be installed are a sentence after npm's own words", async () => {
    const { code, stdout, stderr } = await start({ env: { NPM_FAILS: "1" } });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr.split("\n").slice(1)).toEqual([
      "npm error code ENOTFOUND",
      "heddle: npm ci failed (exit status 3; its words are above). Check the connection to the npm registry and the free disk space, and start again.",
      "",
    ]);
  });

  test("need npm", async () => {
    const { code, stderr } = await start({
      env: { npm_execpath: "/none/pnpm.cjs" },
      preload: `process.execPath = "/none/of/them/node";`,
    });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining("npm is not on PATH: install it"),
    });
  });
});

describe("Node", () => {
  test.each(["18.20.8", "20.20.2", "22.18.0", "23.11.0", "25.1.0"])("%s is too old or odd", (version) => {
    expect(isUsable(version)).toBe(false);
  });

  test.each(["22.19.0", "22.22.1", "24.0.0", "26.10.0", "27.0.0"])("%s is used as it is", (version) => {
    expect(isUsable(version)).toBe(true);
  });

  test("of the repository's own is installed where the system's is too old, once", async () => {
    const { stdout, stderr } = await start({ preload: oldNode });
    expect(stderr).toMatch(
      /^heddle: Heddle does not run on Node 20\.1\.0: installing Node 26\.10\.0 into \.node \(56 MB, once: npm install node-/,
    );
    expect(JSON.parse(stdout).path).toMatch(/\/a folder\/\.node\/node_modules\/node-[a-z0-9-]+\/bin:/);
    expect((await checkout.npmLog())[0]).toMatch(
      /^install --prefix .*\/\.node --no-save node-.*@26\.10\.0 --ignore-scripts /,
    );
    expect((await start({ preload: oldNode })).stderr).toBe("");
    const installed = (await readdir(join(checkout.folder, ".node/node_modules"))).find((name) =>
      name.startsWith("node-"),
    );
    // Without the headers, a third of what it takes on the disk.
    expect(await readdir(join(checkout.folder, ".node/node_modules", `${installed}`))).toEqual(["bin"]);
  });

  test("cannot be brought along for musl, and the sentence says what to do", async () => {
    const musl = "process.report.getReport = () => ({ header: {} });";
    const { code, stderr } = await start({ preload: oldNode + musl });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/musl \(Alpine Linux\)\. Install Node 24 or 26/),
    });
  });

  test("cannot be brought along for an unknown platform", async () => {
    const riscv = `Object.defineProperty(process, "arch", { value: "riscv64" });`;
    const { code, stderr } = await start({ preload: oldNode + riscv });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/brings none for \w+ riscv64\. Install Node/),
    });
  });
});

describe.runIf(process.platform === "linux")("bubblewrap", () => {
  const log = () => readFile(join(checkout.bin, "log"), "utf8");
  const installer =
    'echo "$0 $*" >> "${0%/*}/log"; [ "$1" = update ] || { : > "${0%/*}/bwrap"; /bin/chmod +x "${0%/*}/bwrap"; }';

  beforeEach(async () => {
    await rm(join(checkout.bin, "bwrap"));
    await checkout.command("env", 'shift; command="$1"; shift; exec "${0%/*}/$command" "$@"');
  });

  test("is installed by root with the system's package manager", async () => {
    await checkout.command("apt-get", installer);
    const { code, stderr } = await start({ preload: "process.getuid = () => 0;" });
    expect(code).toBe(0);
    expect(stderr).toContain(
      "heddle: installing bubblewrap, the sandbox of the agent's commands (as root: apt-get update; apt-get install ",
    );
    expect(await log()).toMatch(/apt-get update\n.*apt-get install -y .* bubblewrap\n$/);
  });

  test("is installed with sudo where that asks for no password", async () => {
    await checkout.command("dnf", installer);
    await checkout.command(
      "sudo",
      'echo "sudo" >> "${0%/*}/log"; shift; command="$1"; shift; [ "$command" = true ] || exec "${0%/*}/$command" "$@"',
    );
    const { code, stderr } = await start({ preload: ordinaryUser });
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining("(as root: sudo dnf install -y bubblewrap)"),
    });
    expect(await log()).toMatch(/^sudo\nsudo\n/);
  });

  test("is not waited for where a password is needed: the program starts, and the command to run is said", async () => {
    await checkout.command("pacman", installer);
    await checkout.command("sudo", "exit 1");
    const { code, stdout, stderr } = await start({ preload: ordinaryUser });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('"args"') });
    expect(stderr).toMatch(
      /not installed\. Starting without: .* no shell and no files\. .* run `sudo pacman -Sy --noconfirm --needed bubblewrap` and start again\n$/,
    );
  });

  test("that cannot be installed is a sentence after the words of the package manager, and the program starts", async () => {
    await checkout.command("apk", "echo 'unable to select packages'; exit 1");
    const { code, stderr } = await start({ preload: "process.getuid = () => 0;" });
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /unable to select packages\nheddle: .* failed \(exit status 1\)\. Starting without: .* run `sudo apk add /,
    );
  });

  test("is named by its package on a system without a known package manager", async () => {
    const { code, stderr } = await start();
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining("install your system's package bubblewrap"),
    });
  });

  test("is looked for where the program looks for it, and nowhere else on PATH", async () => {
    expect(sandboxPath.join(":")).toBe(launchEnvironment.PATH);
    const own = join(checkout.folder, "own");
    await mkdir(own);
    await writeFile(join(own, "bwrap"), "#!/bin/sh\n", { mode: 0o755 });
    const { stderr } = await start({ env: { PATH: `${own}:${checkout.bin}` } });
    expect(stderr).toContain("is not installed. Starting without");
  });

  test("is not needed by commands that run nothing", async () => {
    expect(await checkout.run("heddle.js", { args: ["manifest", "slack"] })).toMatchObject({ code: 0 });
  });
});

describe.runIf(process.platform === "linux")("a Redis server", () => {
  const log = () => readFile(join(checkout.bin, "log"), "utf8").catch(() => "");
  const asRoot = { preload: "process.getuid = () => 0;" };
  /** A package manager that knows bubblewrap and this package, and installs nothing where one is unknown. */
  const knowing = (name: string) => `
    [ "$1" = update ] && exit 0
    echo "$*" >> "\${0%/*}/log"
    for word in "$@"; do case "$word" in
      redis*|valkey*) [ "$word" = ${name} ] || { echo "unknown: $word"; exit 1; }; : > "\${0%/*}/redis-server"; /bin/chmod +x "\${0%/*}/redis-server";;
      bubblewrap) : > "\${0%/*}/bwrap"; /bin/chmod +x "\${0%/*}/bwrap";;
    esac; done`;

  beforeEach(async () => {
    await rm(join(checkout.bin, "redis-server"));
    await checkout.command("env", 'shift; command="$1"; shift; exec "${0%/*}/$command" "$@"');
  });

  test("is installed in one go with bubblewrap, after one line that says so", async () => {
    await rm(join(checkout.bin, "bwrap"));
    await checkout.command("apt-get", knowing("redis-tools"));
    const { code, stderr } = await start(asRoot);
    expect(code).toBe(0);
    expect(stderr).toContain(
      "heddle: installing bubblewrap, the sandbox of the agent's commands, and Redis or Valkey, which keeps what must survive (as root: apt-get update; apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120 bubblewrap redis-tools)\n",
    );
    expect((await log()).split("\n")).toHaveLength(2);
    expect((await start(asRoot)).stderr).toBe("");
  });

  test("is asked for by its other name where the first one is unknown", async () => {
    await checkout.command("dnf", knowing("redis"));
    expect(await start(asRoot)).toMatchObject({ code: 0 });
    expect(await log()).toBe("install -y valkey\ninstall -y redis\n");
  });

  test("that cannot be installed keeps neither bubblewrap nor the program from starting", async () => {
    await rm(join(checkout.bin, "bwrap"));
    await checkout.command("apk", knowing("none"));
    const { code, stderr } = await start(asRoot);
    expect(code).toBe(0);
    expect(await log()).toMatch(/bubblewrap valkey\n.*bubblewrap redis\n.*bubblewrap\n$/);
    expect(stderr).toContain("no server could be installed: the embedded one serves");
  });

  test.each([
    ["one is there, if only under the name of its checking program", {}, "redis-check-rdb"],
    ["REDIS_URL names one", { REDIS_URL: "redis://127.0.0.1:1" }, undefined],
    ["HEDDLE_NO_INSTALL forbids it", { HEDDLE_NO_INSTALL: "1" }, undefined],
  ])("is not installed where %s", async (_, env, program) => {
    await start();
    await checkout.command("apt-get", knowing("redis-tools"));
    if (program) await checkout.command(program, "exit 0");
    expect(await start({ ...asRoot, env })).toMatchObject({ code: 0, stderr: "" });
    expect(await log()).toBe("");
  });

  test.each([
    ["HEDDLE_NO_INSTALL=1\n", { HEDDLE_NO_INSTALL: "" }, ""],
    ["HEDDLE_NO_INSTALL=0\nHEDDLE_NO_INSTALL=1\n", {}, ""],
    ["", { HEDDLE_NO_INSTALL: "1\n" }, ""],
    ["REDIS_URL=\nHEDDLE_PORT=1\n", {}, expect.stringContaining("redis-tools")],
  ])("minds %j in .env and %j as the program does", async (file, env, installs) => {
    await start();
    await checkout.command("apt-get", knowing("redis-tools"));
    await writeFile(join(checkout.folder, ".env"), file);
    expect(await start({ ...asRoot, env })).toMatchObject({ code: 0 });
    expect(await log()).toEqual(installs);
  });

  test("is found by the tests under its name", async () => {
    await checkout.command("apt-get", "exit 9");
    await checkout.command("redis-check-rdb", "exit 0");
    await mkdir(join(checkout.folder, "node_modules/vitest"), { recursive: true });
    await writeFile(join(checkout.folder, "node_modules/vitest/vitest.mjs"), "console.log(process.env.PATH)");
    const { stdout } = await checkout.run("test.js", asRoot);
    expect(stdout).toContain(`:${join(checkout.folder, ".cache/bin")}:`);
    expect(await readlink(join(checkout.folder, ".cache/bin/redis-server"))).toBe(
      join(checkout.bin, "redis-check-rdb"),
    );
  });

  test("is not installed where .env names one, nor where that needs a password", async () => {
    await start();
    await checkout.command("apt-get", knowing("redis-tools"));
    await checkout.command("sudo", "exit 1");
    expect(await start({ preload: ordinaryUser })).toMatchObject({ code: 0, stderr: "" });
    await writeFile(join(checkout.folder, ".env"), "# REDIS_URL=no\nREDIS_URL=redis://127.0.0.1:1\n");
    expect(await start(asRoot)).toMatchObject({ code: 0, stderr: "" });
    expect(await log()).toBe("");
  });
});

describe("HEDDLE_NO_INSTALL=1", () => {
  const env = { HEDDLE_NO_INSTALL: "1" };

  test("is a sentence where packages are missing, and installs none", async () => {
    const { code, stderr } = await start({ env });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/which HEDDLE_NO_INSTALL=1 forbids: run `npm ci` there/),
    });
    expect(await checkout.npmLog()).toEqual([]);
  });

  test.runIf(process.platform === "linux")("is a sentence where bubblewrap is missing", async () => {
    await start();
    await rm(join(checkout.bin, "bwrap"));
    await checkout.command("apt-get", "exit 9");
    const { code, stderr } = await start({ env, preload: "process.getuid = () => 0;" });
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /HEDDLE_NO_INSTALL=1 forbids installing it\. Starting without: .* run `sudo apt-get install .* bubblewrap`/,
    );
  });
});
