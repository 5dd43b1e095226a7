import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { createWorkspaceLifecycle } from "../../src/sandbox/workspaces/lifecycle.ts";
import type { Folder, FolderTools } from "../../src/sandbox/workspaces/lifecycle-contracts.ts";
import { createFolderStore, type WorkspaceStore } from "../../src/sandbox/workspaces/store.ts";
import { closedFolder } from "./two-threads.ts";

const day = 86_400_000;
const policy = { idleMs: 30 * day, archiveMs: 365 * day };
const thread = "slack:T1:C1:1700.1";

/** Archives without a sandbox: flat folders of text as JSON, each file with its content and time. */
function flatFolders(root: string): FolderTools<Folder> {
  const write = ({ path }: Folder, archive: string, takes: (file: string, time: number) => boolean) => {
    const packed: Record<string, [string, number]> = JSON.parse(readFileSync(archive, "utf8"));
    for (const [name, [text, time]] of Object.entries(packed)) {
      const file = join(path, name);
      if (!takes(file, time)) continue;
      writeFileSync(file, text);
      utimesSync(file, time, time);
    }
    return Promise.resolve(undefined);
  };
  return {
    key: () => "key",
    folderOf(_thread, path = join(root, "workspaces/key")) {
      mkdirSync(path, { recursive: true });
      return { path };
    },
    async pack({ path }, archive) {
      const entries = readdirSync(path).map((name) => {
        const file = join(path, name);
        return [name, [readFileSync(file, "utf8"), statSync(file).mtimeMs / 1_000]];
      });
      writeFileSync(archive, JSON.stringify(Object.fromEntries(entries)));
      return undefined;
    },
    unpack: (folder, archive) => write(folder, archive, () => true),
    merge: (folder, archive) =>
      write(folder, archive, (file, time) => {
        const here = statSync(file, { throwIfNoEntry: false });
        return here === undefined || here.mtimeMs / 1_000 < time;
      }),
    quiesce: async () => true,
  };
}

/** What a worker has. */
function createLifecycle(root: string, store: WorkspaceStore, options: { shared: boolean; now(): number }) {
  mkdirSync(join(root, "workspaces"), { recursive: true });
  return createWorkspaceLifecycle({ root, store, tools: flatFolders(root), log() {}, ...options });
}

test("A workspace that another process opens in the last moment of a clean-up stays", async () => {
  const root = closedFolder();
  onTestFinished(() => rmSync(root, { recursive: true }));
  let time = 0;
  const store = createFolderStore(join(root, "store"), () => time);
  const other = createLifecycle(root, store, { shared: false, now: () => time });
  const opened: Promise<Folder>[] = [];
  const lifecycle = createLifecycle(root, store, {
    shared: false,
    now() {
      // The name of the place to which the folder goes now has the time in it.
      const isArchived = readdirSync(root).includes("store");
      if (isArchived && opened.length === 0) opened.push(other.open(thread));
      return time;
    },
  });
  const { path } = await lifecycle.open(thread);
  writeFileSync(join(path, "file"), "old");
  time = 31 * day;
  expect(await lifecycle.clean(policy)).toEqual({ archived: [], forgotten: [], failed: [] });
  expect(opened).toHaveLength(1);
  expect(readFileSync(join(path, "file"), "utf8")).toBe("old");
  writeFileSync(join(path, "file"), "new");
  time = 62 * day;
  expect(await lifecycle.clean(policy)).toMatchObject({ archived: [thread] });
  expect(readFileSync(join((await other.open(thread)).path, "file"), "utf8")).toBe("new");
});

test("No turn's files are lost, however turns and clean-ups of several workers overlap", async () => {
  const turns = fc.array(fc.nat({ max: 2 }), { minLength: 2, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), turns, async (scheduler, plan) => {
      const threads = closedFolder();
      try {
        let time = 0;
        const done = new AbortController();
        const store = createFolderStore(join(threads, "store"), () => time);
        const scheduled: WorkspaceStore = {
          ...store,
          find: scheduler.scheduleFunction(store.find),
          put: scheduler.scheduleFunction(store.put),
          get: scheduler.scheduleFunction(store.get),
        };
        const workers = [0, 1, 2].map((index) =>
          createLifecycle(join(threads, String(index)), scheduled, { shared: true, now: () => time }),
        );

        const work = async () => {
          for (const [turn, index] of plan.entries()) {
            time += 31 * day; // Whoever had the turns before has not been used for long.
            const { path } = (await workers[index]?.open(thread)) ?? { path: "" };
            writeFileSync(join(path, "all"), `${turn}\n`, { flag: "a" });
            writeFileSync(join(path, `turn ${turn}`), "");
            await workers[index]?.save(thread);
          }
          done.abort();
        };
        const clean = async ({ clean: cleanUp }: (typeof workers)[number]) => {
          while (!done.signal.aborted) {
            await scheduler.schedule(Promise.resolve());
            await cleanUp(policy);
          }
        };
        await scheduler.waitFor(Promise.all([work(), ...workers.map(clean)]));

        const { path } = await createLifecycle(join(threads, "new"), store, {
          shared: true,
          now: () => time,
        }).open(thread);
        const names = plan.map((_, turn) => `turn ${turn}`);
        expect(readdirSync(path).toSorted()).toEqual(["all", ...names]);
        expect(readFileSync(join(path, "all"), "utf8")).toBe(plan.map((_, turn) => `${turn}\n`).join(""));
      } finally {
        rmSync(threads, { recursive: true });
      }
    }),
    { numRuns: 20 },
  );
});

test("An export has what another worker has saved since the thread was here, and what was written here since", async () => {
  const root = closedFolder();
  onTestFinished(() => rmSync(root, { recursive: true }));
  const store = createFolderStore(join(root, "store"));
  const [here, there] = ["here", "there"].map((name) =>
    createLifecycle(join(root, name), store, { shared: true, now: Date.now }),
  );
  const file = join(root, "exported");
  const exported = async () => {
    expect(await here?.export(thread, file)).toBe(true);
    return Object.keys(JSON.parse(readFileSync(file, "utf8"))).toSorted();
  };
  const write = async (lifecycle: typeof here, name: string) => {
    const { path } = (await lifecycle?.open(thread)) ?? { path: "" };
    writeFileSync(join(path, name), name);
  };
  await write(here, "first");
  expect(await exported()).toEqual(["first"]);
  await here?.save(thread);
  await write(there, "second");
  await there?.save(thread);
  expect(await exported()).toEqual(["first", "second"]);
  await write(here, "third");
  expect(await exported()).toEqual(["first", "second", "third"]);
});

test("Of several saves that follow the same one, a store takes one, and keeps nothing of the others", async () => {
  const folder = closedFolder();
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const store = createFolderStore(join(folder, "store"));
  const file = join(folder, "file");
  writeFileSync(file, "content");
  let newest: string | undefined;
  for (let round = 0; round < 5; round += 1) {
    const saves = Array.from({ length: 8 }, () => store.put("key", thread, file, newest));
    const taken = (await Promise.all(saves)).flatMap((saved) => saved ?? []);
    expect(taken).toHaveLength(1);
    newest = taken[0]?.version;
    expect(await store.find("key")).toEqual(taken[0]);
    expect(readdirSync(join(folder, "store/key"))).toEqual([String(round + 1)]);
  }
  await store.remove("key", newest ?? "");
  expect(readdirSync(join(folder, "store"))).toEqual([]);
});

test("A save that two others have overtaken meanwhile is not taken, as behind one", async () => {
  const folder = closedFolder();
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const store = createFolderStore(join(folder, "store"));
  const [file, slow] = [join(folder, "file"), join(folder, "slow")];
  writeFileSync(file, "content");
  execFileSync("mkfifo", [slow]); // Nothing is read of it before somebody writes.
  const first = await store.put("key", thread, file, undefined);
  const late = store.put("key", thread, slow, first?.version);
  await expect.poll(() => readdirSync(join(folder, "store/key"))).toHaveLength(2);
  const second = await store.put("key", thread, file, first?.version);
  const third = await store.put("key", thread, file, second?.version);
  writeFileSync(slow, "");
  expect(await late).toBeUndefined();
  expect(await store.find("key")).toEqual(third);
});
