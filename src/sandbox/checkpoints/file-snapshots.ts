import type { CheckpointLimits, KeptFiles } from "../checkpoints.ts";
import type { Host, ThreadFolder } from "../thread/host.ts";
import { shellCommand } from "../thread/shell.ts";
import type { Spawner } from "../thread/spawner.ts";
import type { Staging } from "../workspaces/staging.ts";
import { createContents, type Contents } from "./contents.ts";
import { createInsideRunner, mostFiles, nodeScript, packInside } from "./inside-runner.ts";
import { insideProgram, unpackFiles } from "./inside.ts";
import { byPath, type Entry, isSame } from "./listing.ts";
import type { CheckpointRecord } from "./kept-files.ts";
import type { CheckpointStore } from "./store.ts";

export interface FileSnapshotDeps {
  host: Host;
  spawner: Spawner;
  store: CheckpointStore;
  staging: Staging;
  limits: CheckpointLimits;
  log(line: string): void;
  now(): number;
}

/** Keeps the files of folders, and makes folders of what is kept. */
export interface FileSnapshots extends Pick<Contents, "isEqual"> {
  /** Never rejects: what could not be kept is remembered with the reason, unless it was stopped. */
  keep(folder: ThreadFolder, name: string, options?: KeepOptions): Promise<KeptFiles>;
  /**
   * Fills the empty workspace of a folder with these, kept for the thread of that key.
   *
   * @returns the same as they are there
   */
  fill(folder: ThreadFolder, key: string, entries: readonly Entry[], signal?: AbortSignal): Promise<Entry[]>;
}

interface KeepOptions {
  signal?: AbortSignal | undefined;
  /** Not for a turn. */
  onDemand?: boolean;
  /** As of `Checkpoints.keep`. */
  beside?: string | undefined;
}

const restoreMs = 10 * 60_000;
const mebibyte = 1_048_576;

export function createFileSnapshots(deps: FileSnapshotDeps): FileSnapshots {
  const { store, staging, limits, now, log } = deps;
  const runner = createInsideRunner(deps);
  const { run, list, assertRoom } = runner;
  const contents = createContents({ store, staging, runner });
  /** Of each thread one at a time. */
  const keeping = new Map<string, Promise<KeptFiles>>();

  async function find(key: string, name: string): Promise<CheckpointRecord | undefined> {
    return (await store.records(key)).findLast((record) => record.name === name);
  }

  async function keepNow(
    folder: ThreadFolder,
    name: string,
    { signal, onDemand = false, beside }: KeepOptions,
  ): Promise<KeptFiles> {
    const at = now();
    const record = { name, at, packs: [], ...(onDemand && { onDemand }) };
    try {
      const entries = await list(folder, signal);
      const files = entries.filter(({ type }) => type !== "d").length;
      const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0);
      const facts = { ...record, files, bytes };
      const lost = describeExcess(entries.length, bytes, limits);
      if (lost !== undefined) {
        await store.add(folder.key, { ...facts, lost }, entries);
        return { at, files, bytes, lost };
      }
      await store.add(folder.key, facts, await contents.pack(folder, entries, signal));
      await store.prune(folder.key, limits, at, beside);
      return describe((await find(folder.key, name)) ?? facts);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      log(`the files of ${folder.path} could not be kept for an undo: ${why}`);
      const failed = { at, files: 0, bytes: 0, lost: `they could not be kept: ${why}` };
      // Whoever goes on with what was stopped has written nothing yet, and keeps them then.
      if (!signal?.aborted) await store.add(folder.key, { ...record, ...failed }).catch(() => {});
      return failed;
    }
  }

  return {
    isEqual: contents.isEqual,
    async keep(folder, name, options = {}) {
      const before = keeping.get(folder.key) ?? Promise.resolve();
      const kept = before.then(async () => {
        const known = await find(folder.key, name);
        return known ? describe(known) : keepNow(folder, name, options);
      });
      keeping.set(folder.key, kept);
      try {
        return await kept;
      } finally {
        if (keeping.get(folder.key) === kept) keeping.delete(folder.key);
      }
    },
    async fill(folder, key, entries, signal) {
      await assertRoom(2 * entries.reduce((sum, { bytes }) => sum + bytes, 0));
      await staging.withFile(folder, async (file) => {
        await store.assemble(key, entries, file);
        await run(folder, {
          program: shellCommand(nodeScript, [insideProgram(unpackFiles), packInside]),
          stdin: describeEntries(entries),
          view: ["--ro-bind", file, packInside],
          timeoutMs: restoreMs,
          mostBytes: 65_536,
          signal,
        });
      });
      return compareMade(await list(folder), entries);
    },
  };
}

/** As `unpackFiles` reads it. */
function describeEntries(entries: readonly Entry[]): Buffer {
  const fields = entries.map(({ type, mode, modified, content, path, target }) =>
    [type, mode, modified, content?.length ?? 0, path, target, ""].join("\0"),
  );
  return Buffer.from(fields.join(""), "latin1");
}

/** What was made, with where its content is kept. @throws where it is not what it should be */
function compareMade(made: readonly Entry[], entries: readonly Entry[]): Entry[] {
  const wanted = byPath(entries);
  const complete = made.map((entry) => {
    const content = wanted.get(entry.path)?.content;
    return content ? { ...entry, content } : entry;
  });
  const isComplete =
    made.length === entries.length &&
    complete.every((entry) => {
      const expected = wanted.get(entry.path);
      return (
        expected !== undefined && (entry.type === "d" || isSame(entry, { ...expected, mode: entry.mode }))
      );
    });
  if (!isComplete) throw new Error("the files that were made are not those that were kept");
  return complete;
}

/** Why that much is not kept. */
function describeExcess(entries: number, bytes: number, limits: CheckpointLimits): string | undefined {
  if (entries > mostFiles) return `the workspace has more than ${mostFiles} files`;
  if (bytes <= limits.bytes) return undefined;
  const [has, may] = [bytes, limits.bytes].map((amount) => Math.ceil(amount / mebibyte));
  return `the workspace has ${has} MB, and up to ${may} MB are kept (undo.megabytes)`;
}

export function describe({ at, files, bytes, lost }: KeptFiles | CheckpointRecord): KeptFiles {
  return { at, files, bytes, ...(lost !== undefined && { lost }) };
}
