import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { createBubblewrapBackend } from "../../src/sandbox/bubblewrap/backend.ts";
import type { Probe, SandboxBackend } from "../../src/sandbox/sandbox.ts";
import { closedFolder, dataFolder, output } from "./ground.ts";

const isRoot = process.getuid?.() === 0;
const needsRoot = "only a root bot has users to give to threads";
const folders: string[] = [];
let backend: SandboxBackend | undefined;

afterEach(async () => {
  await backend?.close();
  backend = undefined;
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function backendIn(dataDir: string): SandboxBackend {
  folders.push(dataDir);
  backend = createBubblewrapBackend({ dataDir });
  return backend;
}

const workspacesIn = (summary: string) => /workspaces in (\S+?)(?:;| \(|$)/.exec(summary)?.[1] ?? "";

describe("the probe", () => {
  test("names bubblewrap's version, the tier of limits in force and the place of the workspaces", async () => {
    const dataDir = dataFolder();
    const { ok, summary, problems } = await backendIn(dataDir).probe();
    expect({ ok, problems }).toEqual({ ok: true, problems: [] });
    expect(summary).toMatch(/^bubblewrap 0\.\d+\.\d+; limits tier [123] \(/);
    expect(workspacesIn(summary)).toBe(join(dataDir, "workspaces"));
  });

  test("fails with the cause when the folder cannot be used, and then no sandbox opens", async () => {
    const unusable = backendIn("/sys/heddle/data");
    const { ok, problems } = await unusable.probe();
    expect(ok).toBe(false);
    expect(problems).toEqual([
      { what: expect.stringContaining("/sys/heddle"), fix: expect.stringMatching(/folder/) },
    ]);
    await expect(unusable.open("a:b:c:d")).rejects.toThrow(/sys.heddle/);
  });
});

describe("a bot in namespaces of a container", () => {
  /** What the probe finds there. */
  function probeUnder(unshare: string[]) {
    const dataDir = dataFolder();
    folders.push(dataDir);
    const module = JSON.stringify(new URL("../../src/sandbox/bubblewrap/backend.ts", import.meta.url).href);
    const program = `
      import { createBubblewrapBackend } from ${module};
      const backend = createBubblewrapBackend({ dataDir: ${JSON.stringify(dataDir)} });
      console.log(JSON.stringify(await backend.probe()));
      await backend.close();`;
    const node = [process.execPath, "--input-type=module", "-e", program];
    const { stdout, stderr } = spawnSync("unshare", [...unshare, ...node], {
      timeout: 30_000,
      encoding: "utf8",
    });
    // What the program above prints.
    return stdout ? (JSON.parse(stdout) as Probe) : stderr;
  }

  test("is refused as root where there are no user ids to give to threads", () => {
    expect(probeUnder(["--user", "--map-root-user"])).toMatchObject({
      ok: false,
      problems: [{ what: expect.stringContaining("must not run as root"), fix: expect.any(String) }],
    });
  });

  test("is warned as process 1, which does not collect what has ended", (context) => {
    context.skip(!isRoot, "only root can make a PID namespace that sandboxes can be made in");
    expect(probeUnder(["--pid", "--fork", "--mount-proc"])).toMatchObject({
      problems: [{ what: expect.stringContaining("process 1"), fix: expect.stringContaining("--init") }],
    });
  });
});

describe("the place of the workspaces", () => {
  test("is the data folder, with a folder for each thread that only its owner can enter", async () => {
    const dataDir = dataFolder();
    await backendIn(dataDir).open("a:b:c:d");
    const workspaces = join(dataDir, "workspaces");
    expect(statSync(workspaces).mode & 0o777).toBe(0o711);
    for (const thread of readdirSync(workspaces)) {
      const status = statSync(join(workspaces, thread));
      expect(status.mode & 0o777).toBe(0o700);
      expect(status.uid).not.toBe(0);
      expect(readdirSync(join(workspaces, thread)).toSorted()).toEqual(["shm", "tmp", "ws"]);
    }
  });

  test("is another folder when sandbox users cannot walk to the data folder", async (context) => {
    context.skip(!isRoot, needsRoot);
    const dataDir = closedFolder();
    const opened = backendIn(dataDir);
    const { ok, summary } = await opened.probe();
    expect(ok).toBe(true);
    expect(summary).toContain("sandbox users cannot reach the data folder");
    const workspaces = workspacesIn(summary);
    folders.push(join(workspaces, ".."));
    expect(workspaces).toMatch(/^\/var\/lib\/heddle\/[0-9a-f]{16}\/workspaces$/);
    expect(await output(await opened.open("a:b:c:d"), "echo hello >file; cat file")).toBe("hello");
    expect(existsSync(join(dataDir, "workspaces"))).toBe(false);
  });

  test("gives each thread a user of its own", async (context) => {
    context.skip(!isRoot, needsRoot);
    const dataDir = dataFolder();
    const opened = backendIn(dataDir);
    await Promise.all(["a:b:c:1", "a:b:c:2", "a:b:c:3"].map((thread) => opened.open(thread)));
    const workspaces = join(dataDir, "workspaces");
    const owners = readdirSync(workspaces).map((thread) => statSync(join(workspaces, thread, "ws")).uid);
    expect(new Set(owners).size).toBe(owners.length);
  });
});

test("a thread finds its files again, through another backend of the same host as well", async () => {
  const dataDir = dataFolder();
  const first = await backendIn(dataDir).open("a:b:c:d");
  expect(await backend?.open("a:b:c:d")).toBe(first);
  await first.writeFile("kept", Buffer.from("still here"));
  await backend?.close();
  const again = await backendIn(dataDir).open("a:b:c:d");
  expect(await output(again, "cat kept")).toBe("still here");
});

test("an idle backend does not keep its process from ending", () => {
  const dataDir = dataFolder();
  folders.push(dataDir);
  const module = JSON.stringify(new URL("../../src/sandbox/bubblewrap/backend.ts", import.meta.url).href);
  const program = `
    import { createBubblewrapBackend } from ${module};
    const sandbox = await createBubblewrapBackend({ dataDir: ${JSON.stringify(dataDir)} }).open("a:b:c:d");
    process.stdout.write((await sandbox.exec({ command: "echo done" })).stdout);`;
  const { stdout, status } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    timeout: 10_000,
  });
  expect([stdout.toString(), status]).toEqual(["done\n", 0]);
});
