import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { readCleanPolicy } from "../../src/app/sandbox.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import { createBubblewrapBackend } from "../../src/sandbox/bubblewrap/backend.ts";
import type { SandboxBackend } from "../../src/sandbox/sandbox.ts";
import { createFolderStore, type WorkspaceStore } from "../../src/sandbox/workspaces/store.ts";
import { closedFolder, dataFolder, output } from "./two-threads.ts";

const day = 86_400_000;
const policy = { idleMs: 30 * day, archiveMs: 365 * day };
const thread = "slack:T1:C1:1700.1";

const leftovers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const clean of leftovers.splice(0).toReversed()) await clean();
});

/** A worker's host; a store makes it one of several. */
function host(options: { store?: string | WorkspaceStore; now?: () => number } = {}): {
  dataDir: string;
  backend: SandboxBackend;
} {
  const dataDir = dataFolder();
  const backend = createBubblewrapBackend({
    dataDir,
    ...(options.now && { now: options.now }),
    ...(options.store && {
      store: typeof options.store === "string" ? createFolderStore(options.store) : options.store,
    }),
  });
  leftovers.push(async () => {
    await backend.close();
    rmSync(dataDir, { recursive: true });
  });
  return { dataDir, backend };
}

function archivedFiles(dataDir: string): string[] {
  const archives = join(dataDir, "archives");
  const names = readdirSync(archives, { recursive: true, encoding: "utf8" });
  return names.map((name) => join(archives, name)).filter((path) => statSync(path).isFile());
}

/** Files with everything that is easily lost: modes, links, an empty folder, an unreadable one, a repository. */
const work = `
git init -q repo && echo change >repo/file && mkdir -p empty locked && echo x >locked/file && chmod 0 locked/file locked
echo 'echo hi' >run.sh && chmod 750 run.sh && ln -s run.sh link && printf 'ü\\n' >'a name
with a line'`;
const look = "stat -c '%A %s %n' *; cat link; cat repo/file; cd repo && git status --short";

describe("a workspace that nobody uses", () => {
  test("becomes an archive, is listed as one, and is back with its files when the thread goes on", async () => {
    let time = 1_000 * day;
    const { backend, dataDir } = host({ now: () => time });
    const sandbox = await backend.open(thread);
    await output(sandbox, `${work}; chmod 700 locked; chmod 600 locked/file`);
    const before = await output(sandbox, look);
    expect(before).toContain("?? file");
    const workspaces = await backend.workspaces();
    // What a full disk has left of the notes on another.
    writeFileSync(join(dataDir, "threads", "0123.abcd"), "");

    time += 29 * day;
    expect(await workspaces.clean(policy)).toEqual({ archived: [], forgotten: [], failed: [] });
    const [listed] = await workspaces.list();
    expect(listed).toEqual({ threadId: thread, usedAt: 1_000 * day, folder: expect.any(String) });
    expect(existsSync(listed?.folder ?? "")).toBe(true);
    time += day;
    expect(await workspaces.clean(policy)).toEqual({ archived: [thread], forgotten: [], failed: [] });
    expect(await workspaces.list()).toEqual([{ threadId: thread, usedAt: time }]);
    expect(readdirSync(join(dataDir, "replaced"))).toEqual([]);

    const again = await backend.open(thread);
    expect(await output(again, look)).toBe(before);
  });

  test("is archived by one of several processes that clean up at the same moment", async () => {
    let time = 0;
    const now = () => time;
    const { backend, dataDir } = host({ now });
    const beside = createBubblewrapBackend({ dataDir, now });
    leftovers.push(() => beside.close());
    await output(await backend.open(thread), work);
    time = 31 * day;
    const both = [await backend.workspaces(), await beside.workspaces()];
    const [one, other] = await Promise.all(both.map((workspaces) => workspaces.clean(policy)));
    expect([one, other]).toEqual([{ archived: [thread], forgotten: [], failed: [] }, undefined]);
    expect(
      archivedFiles(dataDir)
        .map((name) => name.replace(/.*\./, ""))
        .toSorted(),
    ).toEqual(["json", "tar"]);
    expect(await output(await beside.open(thread), "cat repo/file")).toBe("change");
    // A process that was killed while it cleaned up does not keep the others from it for long.
    const mark = join(dataDir, "cleaning");
    writeFileSync(mark, "");
    expect(await both[0]?.clean(policy)).toBeUndefined();
    utimesSync(mark, 0, 0);
    expect(await both[0]?.clean(policy)).toBeDefined();
  });

  test("is archived also when the agent has locked itself out of its folders", async () => {
    let time = 0;
    const { backend } = host({ now: () => time });
    await output(await backend.open(thread), work);
    time = 31 * day;
    const workspaces = await backend.workspaces();
    expect(await workspaces.clean(policy)).toMatchObject({ archived: [thread], failed: [] });
    expect(await output(await backend.open(thread), "cat locked/file")).toBe("x");
  });

  test("stays as it is when it cannot be archived, and while something runs in it", async () => {
    let time = 0;
    const { backend, dataDir } = host({ now: () => time });
    const sandbox = await backend.open(thread);
    await sandbox.writeFile("kept", Buffer.from("x"));
    time = 31 * day;
    const workspaces = await backend.workspaces();
    const started = await sandbox.start({ command: "sleep 60" });
    expect(await workspaces.clean(policy)).toEqual({ archived: [], forgotten: [], failed: [] });
    if (started.ok) await started.job.kill();
    // A file in the place of the folder for archives: nothing can be put there.
    execFileSync("touch", [join(dataDir, "archives")]);
    expect(await workspaces.clean(policy).catch(() => "failed")).not.toMatchObject({ archived: [thread] });
    expect(await output(sandbox, "cat kept")).toBe("x");
  });

  test("is not taken for an empty one when its archive cannot be read for a while", async () => {
    let time = 0;
    const { backend, dataDir } = host({ now: () => time });
    await (await backend.open(thread)).writeFile("kept", Buffer.from("x"));
    time = 31 * day;
    await (await backend.workspaces()).clean(policy);
    const archive = archivedFiles(dataDir).find((name) => name.endsWith(".tar")) ?? "";
    const whole = readFileSync(archive);
    for (const broken of [() => rmSync(archive), () => writeFileSync(archive, whole.subarray(0, 700))]) {
      broken();
      await expect(backend.open(thread)).rejects.toThrow("could not be restored");
    }
    writeFileSync(archive, whole);
    expect(await output(await backend.open(thread), "cat kept")).toBe("x");
    expect(readdirSync(join(dataDir, "staging"))).toEqual([]);
  });

  test("is forgotten when its archive is old", async () => {
    let time = 0;
    const { backend, dataDir } = host({ now: () => time });
    await (await backend.open(thread)).writeFile("old", Buffer.from("x"));
    const workspaces = await backend.workspaces();
    time = 31 * day;
    await workspaces.clean(policy);
    time += 366 * day;
    expect(await workspaces.clean(policy)).toEqual({ archived: [], forgotten: [thread], failed: [] });
    expect(await workspaces.list()).toEqual([]);
    expect(readdirSync(join(dataDir, "archives"))).toEqual([]);
  });
});

test("a workspace is not idle while a job of its last turn may run in another process", () => {
  const idle = (settings: object) => readCleanPolicy({ settings: settingsSchema.parse(settings) }).idleMs;
  expect(idle({})).toBe(30 * day);
  const long = { workspaces: { idleDays: 1 }, sandbox: { jobMinutes: 2_880 }, agent: { maxMinutes: 60 } };
  expect(idle(long)).toBe(2_940 * 60_000);
});

describe("an export", () => {
  test("is a tar archive, of a workspace and of an archived one, and never follows a link out of it", async () => {
    let time = 0;
    const { backend, dataDir } = host({ now: () => time });
    await output(await backend.open(thread), "echo data >file; ln -s /etc/hostname away");
    const workspaces = await backend.workspaces();
    const listing = async () => {
      const file = join(dataDir, "out.tar");
      expect(await workspaces.export(thread, file)).toBe(true);
      return execFileSync("tar", ["-tvf", file], { encoding: "utf8" });
    };
    const here = await listing();
    expect(here).toMatch(/\.\/file\n/);
    expect(here).toMatch(/away -> \/etc\/hostname/);
    time = 31 * day;
    await workspaces.clean(policy);
    expect(await listing()).toBe(here);
    expect(await workspaces.export("slack:T1:C1:other", join(dataDir, "none.tar"))).toBe(false);
    expect(existsSync(join(dataDir, "none.tar"))).toBe(false);
  });
});

describe("workers that share a store", () => {
  test("hand a thread's files to each other, back and forth", async () => {
    const store = closedFolder();
    leftovers.push(() => rmSync(store, { recursive: true }));
    const [one, two] = [host({ store }).backend, host({ store }).backend];
    await output(await one.open(thread), "echo first >file; echo gone >old");
    await one.settle(thread);
    const there = await two.open(thread);
    expect(await output(there, "cat file old; echo second >>file; rm old")).toBe("first\ngone");
    await two.settle(thread);
    expect(await output(await one.open(thread), "cat file; ls")).toBe("first\nsecond\nfile");
  });

  test("bring what another did into a workspace in which a job runs, and lose the work of neither", async () => {
    const store = closedFolder();
    leftovers.push(() => rmSync(store, { recursive: true }));
    const [one, two] = [host({ store }).backend, host({ store }).backend];
    const first = await one.open(thread);
    await output(first, "touch -d '1 hour ago' shared served");
    const started = await first.start({ command: "sleep 60" });
    await one.settle(thread);
    await output(await two.open(thread), "echo edited >shared; echo new >added");
    await two.settle(thread);
    await output(first, "echo written meanwhile >served");

    const again = await one.open(thread);
    expect(await output(again, "cat shared added served")).toBe("edited\nnew\nwritten meanwhile");
    if (started.ok) expect(started.job.status()).toEqual({ state: "running" });
    await one.settle(thread);
    expect(await output(await two.open(thread), "cat shared added served")).toBe(
      "edited\nnew\nwritten meanwhile",
    );
  });

  test("never put what they have left behind over what another has done since", async () => {
    const store = closedFolder();
    leftovers.push(() => rmSync(store, { recursive: true }));
    let time = 0;
    const now = () => time;
    const [one, two] = [host({ store, now }), host({ store, now }).backend];
    await output(await one.backend.open(thread), "echo old >file");
    await one.backend.settle(thread);
    time = 29 * day;
    await output(await two.open(thread), "echo new >file");
    await two.settle(thread);
    time = 31 * day;
    const report = await (await one.backend.workspaces()).clean(policy);
    expect(report).toMatchObject({ archived: [], failed: [] });
    expect(readdirSync(join(one.dataDir, "replaced"))).toHaveLength(1);
    expect(await output(await two.open(thread), "cat file")).toBe("new");
    expect(await output(await one.backend.open(thread), "cat file")).toBe("new");
  });

  test("never put it over a whole turn of another that overlaps their clean-up", async () => {
    const store = closedFolder();
    leftovers.push(() => rmSync(store, { recursive: true }));
    const packed = Promise.withResolvers<void>();
    const turnEnded = Promise.withResolvers<void>();
    let time = 0;
    const now = () => time;
    const slow = createFolderStore(store, now);
    const one = host({
      now,
      store: {
        ...slow,
        async put(...save) {
          if (time > 0) {
            packed.resolve();
            await turnEnded.promise;
          }
          return slow.put(...save);
        },
      },
    });
    const two = host({ store, now }).backend;
    await output(await one.backend.open(thread), "echo old >file");
    await one.backend.settle(thread);
    time = 31 * day;
    const cleaning = (await one.backend.workspaces()).clean(policy);
    await packed.promise;
    await output(await two.open(thread), "echo new >file");
    await two.settle(thread);
    turnEnded.resolve();
    expect(await cleaning).toEqual({ archived: [], forgotten: [], failed: [] });
    expect(await output(await one.backend.open(thread), "cat file")).toBe("new");
    expect(await output(await host({ store, now }).backend.open(thread), "cat file")).toBe("new");
  });

  test("keep the work of both where one, that was taken for dead, saves late", async () => {
    const store = closedFolder();
    leftovers.push(() => rmSync(store, { recursive: true }));
    const [one, two] = [host({ store }).backend, host({ store }).backend];
    await output(await one.open(thread), "echo by one >first");
    await output(await two.open(thread), "echo by two >second");
    await two.settle(thread);
    await one.settle(thread);
    expect(await output(await two.open(thread), "cat first second")).toBe("by one\nby two");
  });

  test("save only what may have changed", async () => {
    const store = closedFolder();
    leftovers.push(() => rmSync(store, { recursive: true }));
    const { backend } = host({ store });
    await output(await backend.open(thread), "echo x >file");
    await backend.settle(thread);
    const saved = await createFolderStore(store).list();
    await backend.open(thread);
    await backend.settle(thread);
    expect(await createFolderStore(store).list()).toEqual(saved);
  });
});

test("nothing is left of a workspace's note for which there is no room", () => {
  const folder = closedFolder();
  leftovers.push(() => rmSync(folder, { recursive: true }));
  const module = new URL("../../src/sandbox/workspaces/records.ts", import.meta.url).href;
  const program = `import { createWorkspaceRecords } from ${JSON.stringify(module)};
    try { createWorkspaceRecords(${JSON.stringify(folder)}).write("key", { threadId: "thread", usedAt: 1 }); }
    catch ({ code }) { console.log(code); }`;
  const limited = `trap '' XFSZ; ulimit -f 0; exec "$0" --input-type=module -e "$1" | cat`;
  const said = execFileSync("bash", ["-c", limited, process.execPath, program], { encoding: "utf8" });
  expect(said).toBe("EFBIG\n");
  expect(readdirSync(folder)).toEqual([]);
});

test("a store keeps nothing of an archive for which it has no room", () => {
  const store = closedFolder();
  leftovers.push(() => rmSync(store, { recursive: true }));
  const module = new URL("../../src/sandbox/workspaces/store.ts", import.meta.url).href;
  const program = `import { createFolderStore } from ${JSON.stringify(module)};
    await createFolderStore(${JSON.stringify(store)}).put("key", "thread", process.execPath, undefined).catch(({ code }) => console.log(code));`;
  // A limit on the size of files stands for the full disk; Node itself is the file.
  const limited = `trap '' XFSZ; ulimit -f 1000; exec "$0" --input-type=module -e "$1"`;
  const said = execFileSync("bash", ["-c", limited, process.execPath, program], { encoding: "utf8" });
  expect(said).toBe("EFBIG\n");
  expect(readdirSync(store)).toEqual([]);
});
