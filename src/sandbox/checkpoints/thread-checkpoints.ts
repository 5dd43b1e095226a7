import { randomBytes } from "node:crypto";
import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import type { CheckpointLimits, Checkpoints } from "../checkpoints.ts";
import type { Host, ThreadFolder } from "../thread/host.ts";
import type { WorkspaceLifecycle } from "../workspaces/lifecycle-contracts.ts";
import type { Staging } from "../workspaces/staging.ts";
import { describe, type FileSnapshots } from "./file-snapshots.ts";
import { differ, type Entry } from "./listing.ts";
import type { CheckpointRecord } from "./kept-files.ts";
import type { CheckpointStore } from "./store.ts";

/** What a restore does, in this order. */
export type RestoreStep = "filled" | "committed" | "moved-away" | "moved-in" | "noted" | "saved";

export interface ThreadCheckpointDeps {
  host: Host;
  lifecycle: WorkspaceLifecycle<ThreadFolder>;
  staging: Staging;
  store: CheckpointStore;
  snapshots: FileSnapshots;
  limits: CheckpointLimits;
  /** Whether something runs in the thread here. */
  isWorking(threadId: string): boolean;
  now(): number;
  /** Called behind each step; a test stands still there. */
  reached?(step: RestoreStep): Promise<void>;
}

export interface ThreadCheckpoints extends Checkpoints {
  /** Removes what is kept of the thread. */
  remove(threadId: string): Promise<void>;
  /** Removes what is too old. */
  clean(): Promise<void>;
}

/** Files that are to be made as they were kept. */
interface Making {
  from: string;
  name: string;
  to: string;
  signal: AbortSignal | undefined;
}

/** The checkpoints of the workspaces of this host, or of all that share a store. */
export function createThreadCheckpoints(deps: ThreadCheckpointDeps): ThreadCheckpoints {
  const { host, lifecycle, staging, store, snapshots, limits, now, reached = async () => {} } = deps;

  async function findRecord(threadId: string, name: string): Promise<CheckpointRecord | undefined> {
    return (await store.records(host.keyOf(threadId))).findLast((record) => record.name === name);
  }

  async function listKept(threadId: string, name: string): Promise<Entry[] | undefined> {
    const record = await findRecord(threadId, name);
    return record && store.list(host.keyOf(threadId), record);
  }

  /** What is to be brought back, or why that cannot be. */
  async function readKept(
    threadId: string,
    name: string,
  ): Promise<{ record: CheckpointRecord; entries: Entry[] } | string> {
    const record = await findRecord(threadId, name);
    if (!record) return "the files of that time are not kept on this host";
    const entries = record.lost === undefined && (await store.list(host.keyOf(threadId), record));
    return entries ? { record, entries } : (record.lost ?? "the list of the files is not there");
  }

  /** Makes the files in a folder of their own, and then lets `take` move them to where they belong. */
  async function make(
    { from, name, to, signal }: Making,
    take: (made: ThreadFolder, entries: Entry[], record: CheckpointRecord) => Promise<string | undefined>,
  ): ReturnType<Checkpoints["restore"]> {
    const kept = await readKept(from, name);
    if (typeof kept === "string") return { ok: false, why: kept };
    const made = host.folderOf(to, await openPlace(deps, host.keyOf(to)));
    try {
      let entries: Entry[];
      try {
        entries = await snapshots.fill(made, host.keyOf(from), kept.entries, signal);
      } catch (error) {
        signal?.throwIfAborted();
        return { ok: false, why: error instanceof Error ? error.message : String(error) };
      }
      const why = await take(made, entries, kept.record);
      return why === undefined ? { ok: true } : { ok: false, why };
    } finally {
      await staging.discard(made.path);
    }
  }

  /** What was there goes with the folder in which the files were made. */
  async function swap(place: ThreadFolder, made: ThreadFolder): Promise<void> {
    await rename(join(place.path, "ws"), join(made.path, "earlier"));
    await reached("moved-away");
    await rename(join(made.path, "ws"), join(place.path, "ws"));
    await reached("moved-in");
  }

  return {
    async keep(threadId, name, beside) {
      return snapshots.keep(await lifecycle.open(threadId), name, { onDemand: true, beside });
    },
    async find(threadId, name) {
      const record = await findRecord(threadId, name);
      return record && describe(record);
    },
    async compare(threadId, from, to) {
      const [before, after] = await Promise.all([listKept(threadId, from), listKept(threadId, to)]);
      return before && after && differ(before, after);
    },
    async isCurrent(threadId, name) {
      const kept = await listKept(threadId, name);
      return kept !== undefined && snapshots.isEqual(await lifecycle.open(threadId), kept);
    },
    async restore(threadId, name, commit = async () => true, signal?: AbortSignal) {
      if (deps.isWorking(threadId)) return { ok: false, why: "something is running there" };
      const key = host.keyOf(threadId);
      return make({ from: threadId, name, to: threadId, signal }, async (made, entries, record) => {
        await reached("filled");
        const place = await lifecycle.open(threadId);
        if (!(await commit())) return "it was called off";
        await reached("committed");
        await swap(place, made);
        await store.replaceList(key, record, entries, now());
        await reached("noted");
        await lifecycle.save(threadId);
        await reached("saved");
        return undefined;
      });
    },
    async copy(threadId, name, target, commit = async () => true, signal?: AbortSignal) {
      return make({ from: threadId, name, to: target, signal }, async (made) => {
        const place = await lifecycle.open(target);
        if (!(await commit())) return "it was called off";
        await swap(place, made);
        const at = now();
        try {
          await lifecycle.save(target);
        } catch (error) {
          // Unless somebody has begun something there.
          await lifecycle.remove(target, at).catch(() => false);
          throw error;
        }
        return undefined;
      });
    },
    remove: (threadId) => store.remove(host.keyOf(threadId)),
    async clean() {
      for (const key of await store.keys()) await store.prune(key, limits, now());
    },
  };
}

/**
 * A new place to make files in. Whoever stood still in an earlier attempt finds its own gone: it must not put its files
 * in the place of what was written since.
 */
async function openPlace(
  { host, staging }: Pick<ThreadCheckpointDeps, "host" | "staging">,
  key: string,
): Promise<string> {
  const [folder, prefix] = [join(host.root, "staging"), `restore-${key}-`];
  for (const name of await readdir(folder)) {
    if (!name.startsWith(prefix)) continue;
    const gone = staging.newPath();
    await rename(join(folder, name), gone).catch(() => undefined);
    await staging.discard(gone);
  }
  return join(folder, `${prefix}${randomBytes(6).toString("hex")}`);
}
