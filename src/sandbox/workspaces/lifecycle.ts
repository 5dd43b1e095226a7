import { randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { chown, copyFile, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { CleanReport, WorkspaceInfo, Workspaces } from "../sandbox.ts";
import { withFileLock } from "./file-lock.ts";
import type { WorkspaceStore } from "./store.ts";

/** A thread's folder on this host, as the back end lays it out. */
export interface Folder {
  path: string;
  owner?: { uid: number; gid: number };
}

/** What a back end does for its workspaces. Archives are made and read inside the thread's own sandbox. */
export interface FolderTools<Kind extends Folder> {
  key(threadId: string): string;
  /** Makes the thread's folder if need be; `path` is where, if not where the thread has it. */
  folderOf(threadId: string, path?: string): Kind;
  /** Writes the workspace to `file` as tar. Resolves with what went wrong. */
  pack(folder: Kind, file: string): Promise<string | undefined>;
  /** Fills the empty workspace from `file`. Resolves with what went wrong. */
  unpack(folder: Kind, file: string): Promise<string | undefined>;
  /** Brings what is newer in `file` into a workspace in use. Resolves with what went wrong. */
  merge(folder: Kind, file: string): Promise<string | undefined>;
  /** Lets the thread come to rest. False when something of it runs in this process. */
  rest(threadId: string): Promise<boolean>;
}

/** What is remembered of a workspace that is on this host. */
const recordSchema = z.object({
  threadId: z.string(),
  usedAt: z.number(),
  /** The save that it came from or went to. */
  version: z.string().optional(),
});
type WorkspaceRecord = z.infer<typeof recordSchema>;

export interface WorkspaceLifecycle<Kind extends Folder> extends Workspaces {
  /** The thread's folder with its newest content: restored when clean-up or another worker has it. */
  open(threadId: string): Promise<Kind>;
  /** The same for a folder in which something runs: it stays, and gets what is newer elsewhere. */
  catchUp(threadId: string): Promise<void>;
  /** Saves the workspace for other workers. Nothing happens without a shared store. */
  save(threadId: string): Promise<void>;
}

/**
 * Looks after the workspaces of one host.
 *
 * @param options.root holds `workspaces/`; records and archives in the making go beside it
 * @param options.shared whether other workers use the same store
 */
export function createWorkspaceLifecycle<Kind extends Folder>(options: {
  root: string;
  store: WorkspaceStore;
  shared: boolean;
  tools: FolderTools<Kind>;
  log(line: string): void;
  now(): number;
}): WorkspaceLifecycle<Kind> {
  const { root, store, shared, tools, now, log } = options;
  const records = join(root, "threads");
  const staging = join(root, "staging");
  const trash = join(root, "replaced");
  mkdirSync(records, { recursive: true, mode: 0o700 });
  mkdirSync(trash, { recursive: true, mode: 0o700 });
  mkdirSync(staging, { recursive: true });
  chmodSync(staging, 0o711);

  const placeOf = (key: string) => join(root, "workspaces", key);
  /** Where something is made that the thread's sandbox can reach. */
  const newStage = () => join(staging, `${process.pid}-${randomBytes(6).toString("hex")}`);

  function recordOf(key: string): WorkspaceRecord | undefined {
    try {
      return recordSchema.parse(JSON.parse(readFileSync(join(records, key), "utf8")));
    } catch {
      return undefined; // There is none, or a full disk has taken only a part of it.
    }
  }

  function remember(key: string, record: WorkspaceRecord): void {
    const path = join(records, key);
    const fresh = `${path}.${randomBytes(4).toString("hex")}`;
    writeFileSync(fresh, JSON.stringify(record), { mode: 0o600 });
    renameSync(fresh, path);
  }

  /** What cannot be removed must not stop a clean-up: a tenant may have locked folders. */
  function discard(path: string): void {
    try {
      rmSync(path, { recursive: true, force: true });
    } catch (error) {
      log(`${path} could not be removed: ${String(error)}`);
    }
  }

  /** A file that the thread's sandbox can read and write, gone afterwards. */
  async function withStaging<Result>(
    folder: Folder,
    use: (file: string) => Promise<Result>,
  ): Promise<Result> {
    const file = newStage();
    try {
      await (await open(file, "wx", 0o600)).close();
      if (folder.owner) await chown(file, folder.owner.uid, folder.owner.gid);
      return await use(file);
    } finally {
      await rm(file, { force: true });
    }
  }

  /** Saves the workspace. Undefined where another worker has saved it since this one fetched or saved it. */
  async function put(key: string, threadId: string): Promise<string | undefined> {
    const folder = tools.folderOf(threadId);
    // Of before the packing. Without other workers, what is here is always the newest.
    const after = shared ? recordOf(key)?.version : (await store.find(key))?.version;
    return withStaging(folder, async (file) => {
      const problem = await tools.pack(folder, file);
      if (problem !== undefined) throw new Error(`The workspace of ${threadId} was not saved: ${problem}`);
      return (await store.put(key, threadId, file, after))?.version;
    });
  }

  /** What is here is not needed any more, and is kept until clean-up. */
  function moveToTrash(key: string): string {
    const place = join(trash, `${key}-${now()}-${randomBytes(4).toString("hex")}`);
    renameSync(placeOf(key), place);
    return place;
  }

  /** The save of another worker that is newer than what is here. */
  async function newerElsewhere(
    key: string,
    record: WorkspaceRecord | undefined,
  ): Promise<string | undefined> {
    const saved = shared ? await store.find(key) : undefined;
    return saved?.version === record?.version ? undefined : saved?.version;
  }

  async function fetch(
    key: string,
    folder: Kind,
    version: string,
    take: (folder: Kind, file: string) => Promise<string | undefined>,
  ): Promise<string | undefined> {
    return withStaging(folder, async (file) => {
      await store.get(key, version, file);
      return take(folder, file);
    });
  }

  /** Fills a folder elsewhere: nobody must take half a workspace for the whole, not even after a crash. */
  async function restore(key: string, threadId: string, version: string): Promise<void> {
    const made = tools.folderOf(threadId, newStage());
    try {
      const problem = await fetch(key, made, version, tools.unpack);
      if (problem !== undefined) throw new Error(problem);
      const isHere = existsSync(placeOf(key));
      if (isHere && recordOf(key)?.version === version) return; // Another process of this host was faster.
      if (isHere) moveToTrash(key);
      renameSync(made.path, placeOf(key));
      remember(key, { threadId, usedAt: now(), version });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`The workspace of ${threadId} could not be restored from its archive: ${why}`, {
        cause: error,
      });
    } finally {
      discard(made.path);
    }
  }

  /** Archives a workspace and then removes it. False when it was used meanwhile, here or elsewhere. */
  async function archive(key: string, record: WorkspaceRecord): Promise<boolean> {
    const version = await put(key, record.threadId);
    if (wasReopened(key, record, version)) return false;
    const gone = moveToTrash(key);
    if (wasReopened(key, record, version)) {
      // By another process of this host, in the last moment. What it then found is empty.
      if (existsSync(placeOf(key))) moveToTrash(key);
      renameSync(gone, placeOf(key));
      return false;
    }
    if (version === undefined) return false; // Another worker has gone on with it.
    remember(key, { ...record, version });
    discard(gone);
    return true;
  }

  /** Whether the workspace was opened since it was looked at, to be saved as this version. */
  function wasReopened(key: string, before: WorkspaceRecord, version: string | undefined): boolean {
    const current = recordOf(key);
    if (current?.usedAt === before.usedAt) return false;
    // What goes on here goes on from what was saved, unless something newer was fetched since.
    if (version && current?.version === before.version) remember(key, { ...before, ...current, version });
    return true;
  }

  async function catchUp(threadId: string): Promise<void> {
    const key = tools.key(threadId);
    const version = await newerElsewhere(key, recordOf(key));
    if (version === undefined) return;
    const problem = await fetch(key, tools.folderOf(threadId), version, tools.merge);
    if (problem !== undefined) {
      throw new Error(`What another worker did in ${threadId} could not be fetched: ${problem}`);
    }
    remember(key, { threadId, usedAt: now(), version });
  }

  async function clean({ idleMs, archiveMs }: Parameters<Workspaces["clean"]>[0]): Promise<CleanReport> {
    const report: CleanReport = { archived: [], forgotten: [], failed: [] };
    for (const key of readdirSync(records)) {
      const record = recordOf(key);
      if (record === undefined || now() - record.usedAt < idleMs || !existsSync(placeOf(key))) continue;
      if (!(await tools.rest(record.threadId))) continue;
      try {
        if (await archive(key, record)) report.archived.push(record.threadId);
      } catch (error) {
        report.failed.push(record.threadId);
        log(error instanceof Error ? error.message : String(error));
      }
    }
    for (const { key, saved } of await store.list()) {
      if (now() - saved.savedAt < archiveMs || existsSync(placeOf(key))) continue;
      await store.remove(key, saved.version);
      rmSync(join(records, key), { force: true });
      report.forgotten.push(saved.threadId);
    }
    for (const name of readdirSync(staging)) {
      const stage = join(staging, name);
      // What a killed process left; none takes that long.
      const status = statSync(stage, { throwIfNoEntry: false });
      if (status && Date.now() - status.mtimeMs > 86_400_000) discard(stage);
    }
    for (const name of readdirSync(trash)) {
      const replacedAt = Number(name.split("-")[1]);
      if (now() - replacedAt >= idleMs) discard(join(trash, name));
    }
    return report;
  }

  return {
    async open(threadId) {
      const key = tools.key(threadId);
      const record = recordOf(key);
      // First of all, so that a clean-up that is under way lets go of it.
      remember(key, { ...record, threadId, usedAt: now() });
      const isHere = existsSync(placeOf(key));
      const saved = isHere && !shared ? undefined : await store.find(key);
      if (saved && !(isHere && saved.version === record?.version))
        await restore(key, threadId, saved.version);
      return tools.folderOf(threadId);
    },

    catchUp,

    async save(threadId) {
      if (!shared) return;
      const key = tools.key(threadId);
      let version = await put(key, threadId);
      while (version === undefined) {
        await catchUp(threadId); // Both have worked on it, as a worker does that was taken for dead: keep what both did.
        version = await put(key, threadId);
      }
      remember(key, { threadId, usedAt: now(), version });
    },

    async list() {
      const found = new Map<string, WorkspaceInfo>();
      for (const { key, saved } of await store.list()) {
        found.set(key, { threadId: saved.threadId, usedAt: saved.savedAt });
      }
      for (const key of readdirSync(records)) {
        const folder = placeOf(key);
        const record = existsSync(folder) ? recordOf(key) : undefined;
        if (record) found.set(key, { threadId: record.threadId, usedAt: record.usedAt, folder });
      }
      return [...found.values()].toSorted((a, b) => b.usedAt - a.usedAt);
    },

    async export(threadId, file) {
      const key = tools.key(threadId);
      const saved = existsSync(placeOf(key)) ? undefined : await store.find(key);
      if (saved !== undefined) {
        await store.get(key, saved.version, file);
        return true;
      }
      if (!existsSync(placeOf(key))) return false;
      const folder = tools.folderOf(threadId);
      await withStaging(folder, async (staged) => {
        const problem = await tools.pack(folder, staged);
        if (problem !== undefined) throw new Error(`The workspace could not be exported: ${problem}`);
        await copyFile(staged, file);
      });
      return true;
    },

    // Two at once would each take what the other removes for the whole workspace.
    clean: (policy) => withFileLock(join(root, "cleaning"), () => clean(policy)),
  };
}
