import type { ThreadFolder } from "../thread/host.ts";
import { shellCommand } from "../thread/shell.ts";
import type { Staging } from "../workspaces/staging.ts";
import {
  bytesPerFile,
  type InsideRunner,
  keepMs,
  mostFiles,
  nodeScript,
  packInside,
} from "./inside-runner.ts";
import { insideProgram, packFiles } from "./inside.ts";
import { byPath, type Entry, isAlike, isEqualListing, isSame } from "./listing.ts";
import type { CheckpointStore } from "./store.ts";

/** What is in the files of workspaces, as far as it is kept. */
export interface Contents {
  /** Keeps what has changed since the newest checkpoint. Gives the entries with their content, and none that went meanwhile. */
  pack(folder: ThreadFolder, entries: Entry[], signal?: AbortSignal): Promise<Entry[]>;
  /** Whether the workspace of the folder holds these. @throws where that cannot be found out */
  isEqual(folder: ThreadFolder, entries: readonly Entry[]): Promise<boolean>;
}

/** Where the content of a file was read to. */
interface ReadContent {
  entry: Entry;
  offset: number;
  length: number;
}

export function createContents({
  store,
  staging,
  runner: { run, list, assertRoom },
}: {
  store: CheckpointStore;
  staging: Staging;
  runner: InsideRunner;
}): Contents {
  /** What has changed since the newest checkpoint gets into a pack of its own. */
  async function pack(folder: ThreadFolder, entries: Entry[], signal?: AbortSignal): Promise<Entry[]> {
    const known = byPath((await listNewest(store, folder.key)) ?? []);
    const changed: Entry[] = [];
    for (const entry of entries) {
      if (entry.type !== "f") continue;
      const before = known.get(entry.path);
      if (before?.content && before.signature === entry.signature) entry.content = before.content;
      else changed.push(entry);
    }
    if (changed.length === 0) return entries;
    await packContents(folder, changed, known, signal);
    // One that went meanwhile was going: nothing of it can be brought back.
    return entries.filter(({ type, content }) => type !== "f" || content !== undefined);
  }

  /** Where a workspace has come out of its archive, all signatures are new, and most of the content is known. */
  async function packContents(
    folder: ThreadFolder,
    changed: readonly Entry[],
    known: ReadonlyMap<string, Entry>,
    signal?: AbortSignal,
  ): Promise<void> {
    const rest = await readContents(folder, changed, signal, async (file, pieces) => {
      const fresh = await takeKnown(folder.key, file, pieces, known);
      if (fresh.length < pieces.length || fresh.length === 0) return fresh;
      const name = await store.addPack(folder.key, file);
      for (const { entry, ...place } of pieces) entry.content = { pack: name, ...place };
      return [];
    });
    const entries = rest.map(({ entry }) => entry);
    if (entries.length > 0) await packContents(folder, entries, new Map(), signal);
  }

  /** Gives entries their content where it is kept already; returns the others. */
  async function takeKnown(
    key: string,
    file: string,
    pieces: readonly ReadContent[],
    known: ReadonlyMap<string, Entry>,
  ): Promise<ReadContent[]> {
    const wanted = pieces.map((piece) => ({ ...piece, kept: known.get(piece.entry.path)?.content }));
    const found = await store.findSame(key, file, wanted);
    return pieces.filter(({ entry }, index) => {
      const content = found[index];
      if (content) entry.content = content;
      return content === undefined;
    });
  }

  /** Reads the content of files into one file, piece by piece; none of those that are gone meanwhile. */
  async function readContents<Result>(
    folder: ThreadFolder,
    entries: readonly Entry[],
    signal: AbortSignal | undefined,
    use: (file: string, pieces: readonly ReadContent[]) => Promise<Result>,
  ): Promise<Result> {
    await assertRoom(entries.reduce((sum, { bytes }) => sum + bytes, 0));
    return staging.withFile(folder, async (file) => {
      const printed = await run(folder, {
        program: shellCommand(nodeScript, [insideProgram(packFiles), packInside]),
        stdin: Buffer.from(entries.map(({ path }) => `${path}\0`).join(""), "latin1"),
        view: ["--bind", file, packInside],
        timeoutMs: keepMs,
        mostBytes: mostFiles * bytesPerFile,
        signal,
      });
      const lengths = printed.toString().split("\n").slice(0, -1).map(Number);
      if (lengths.length !== entries.length) throw new Error("not all files were read");
      let offset = 0;
      const pieces = entries.flatMap((entry, index) => {
        const length = lengths[index] ?? -1;
        if (length < 0) return [];
        offset += length;
        return [{ entry, offset: offset - length, length }];
      });
      return use(file, pieces);
    });
  }

  return {
    pack,
    async isEqual(folder, entries) {
      const present = await list(folder);
      const known = byPath(entries);
      const doubtful = present.filter((entry) => {
        const kept = known.get(entry.path);
        return entry.type === "f" && kept !== undefined && !isSame(entry, kept) && isAlike(entry, kept);
      });
      if (doubtful.length > 0) {
        await readContents(folder, doubtful, undefined, (file, pieces) =>
          takeKnown(folder.key, file, pieces, known),
        );
      }
      return isEqualListing(present, entries);
    },
  };
}

async function listNewest(store: CheckpointStore, key: string): Promise<Entry[] | undefined> {
  const kept = (await store.records(key)).filter(({ lost }) => lost === undefined);
  const newest = kept.toSorted((a, b) => (a.listedAt ?? a.at) - (b.listedAt ?? b.at)).at(-1);
  return newest && store.list(key, newest);
}
