import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openSandboxBackend } from "../../src/app/sandbox.ts";
import { validateReferences } from "../../src/app/validate-references.ts";
import { environmentSchema } from "../../src/config/environment.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import type { SandboxBackend } from "../../src/sandbox/sandbox.ts";
import { countAttacks } from "../attacks.ts";
import { dataFolder, output } from "./two-threads.ts";

/** A folder as a language's archive unpacks to. */
function makeToolChain(folder: string): void {
  mkdirSync(join(folder, "bin"), { recursive: true });
  writeFileSync(
    join(folder, "bin", "weave"),
    '#!/bin/sh\necho woven by $(cat "$(dirname "$0")/../VERSION")\n',
  );
  writeFileSync(join(folder, "VERSION"), "1.0\n");
  chmodSync(join(folder, "bin", "weave"), 0o755);
}

describe("a tool chain of the operator's", () => {
  const dataDir = dataFolder();
  // Sandboxes have a /tmp of their own.
  const [own, hidden] = [mkdtempSync("/var/tmp/heddle-chains-"), mkdtempSync("/var/tmp/heddle-chains-")];
  let backend: SandboxBackend;

  beforeAll(() => {
    chmodSync(own, 0o755);
    makeToolChain(join(own, "weave"));
    makeToolChain(join(hidden, "weave"));
    writeFileSync(join(dataDir, "secret"), "canary");
    backend = open({ weave: join(own, "weave") });
  });
  afterAll(async () => {
    await backend.close();
    for (const folder of [dataDir, own, hidden]) rmSync(folder, { recursive: true });
  });

  function open(toolChains: Record<string, string>): SandboxBackend {
    const names = Object.keys(toolChains);
    const settings = settingsSchema.parse({
      sandbox: { toolChains },
      channels: { "slack:T1:C1": { toolChains: names } },
    });
    validateReferences(settings, []);
    const environment = environmentSchema.parse({});
    return openSandboxBackend({
      dataDir,
      secretFiles: [join(own, "keys.env")],
      settings,
      environment,
      variables: {},
    });
  }

  test("is on PATH in its channel, ready and told, and in no other", async () => {
    const sandbox = await backend.open("slack:T1:C1:1");
    expect(await output(sandbox, "weave; node -p 1+1")).toBe("woven by 1.0\n2");
    expect(backend.note("slack:T1:C1:1")).toBe(
      `These tool chains are on PATH: weave (${join(own, "weave")}).`,
    );
    const other = await backend.open("slack:T1:C2:1");
    expect(await output(other, `weave; ls ${own}`)).toMatch(/weave: command not found[^]*No such file/);
    expect(backend.note("slack:T1:C2:1")).toBe("");
    expect(await output(await backend.open("local:console:main:1"), "weave")).toContain("not found");
  });

  test("cannot be changed from a sandbox", async (context) => {
    countAttacks(context, 2);
    const sandbox = await backend.open("slack:T1:C1:2");
    const folder = join(own, "weave");
    expect(await output(sandbox, `echo 2.0 > ${folder}/VERSION; rm -rf ${folder}/bin; weave`)).toMatch(
      /woven by 1\.0[^]*Read-only file system/,
    );
  });

  test("that is not there, or would show what is Heddle's own, is named at start and not shown", async (context) => {
    countAttacks(context, 6);
    writeFileSync(join(own, "keys.env"), "KEY=canary\n");
    const folders = {
      ...{ absent: "/opt/no-such-thing", root: "/usr/..", kernel: "/proc/self", kept: dataDir },
      ...{ above: join(dataDir, ".."), keys: own, home: "/workspace/x", closed: join(hidden, "weave") },
    };
    const bad = open(folders);
    try {
      const { ok, problems } = await bad.probe();
      expect(ok).toBe(true);
      const said = problems.map(({ what, fix }) => `${what} ${fix}`).join("\n");
      expect(said).toMatch(
        /absent is not shown to threads: there is no folder \/opt\/no-such-thing\. Install/,
      );
      for (const name of ["root", "kernel", "kept", "above", "keys"]) {
        expect(said).toMatch(new RegExp(`tool chain ${name} is not shown to threads`));
      }
      if (process.getuid?.() === 0) expect(said).toMatch(/tool chain closed is not shown.*cannot enter/);
      const sandbox = await bad.open("slack:T1:C1:3");
      expect(await output(sandbox, `cat ${dataDir}/secret ${own}/keys.env; weave`)).not.toContain("canary");
    } finally {
      await bad.close();
    }
  });

  test("that is gone since keeps no command from running", async () => {
    const folder = join(own, "brief");
    makeToolChain(folder);
    const brief = open({ brief: folder });
    try {
      await brief.probe();
      rmSync(folder, { recursive: true });
      expect(await output(await brief.open("slack:T1:C1:4"), "echo runs")).toBe("runs");
    } finally {
      await brief.close();
    }
  });

  test("that a channel names and nobody has is refused at start", () => {
    const settings = settingsSchema.parse({ channels: { "slack:T1:C1": { toolChains: ["go"] } } });
    expect(() => validateReferences(settings, [])).toThrow(
      "channels.slack:T1:C1.toolChains: there is no tool chain go; there are none.",
    );
    for (const folder of ["opt/go", "/", "/opt/a:b", "/opt/go/"]) {
      expect(settingsSchema.safeParse({ sandbox: { toolChains: { go: folder } } }).success, folder).toBe(
        false,
      );
    }
  });
});
