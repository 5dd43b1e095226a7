import { randomBytes } from "node:crypto";
import {
  copyFile,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { hasErrorCode } from "../system-error.ts";

/** A saved workspace. */
export interface SavedWorkspace {
  threadId: string;
  /** Different for every save. */
  version: string;
  /** Milliseconds since the epoch. */
  savedAt: number;
  bytes: number;
}

/** Where archives of workspaces are kept, one for each thread. Keys are file names. */
export interface WorkspaceStore {
  /** The newest save of a thread; undefined when there is none. */
  find(key: string): Promise<SavedWorkspace | undefined>;
  /**
   * Takes a copy of `file` as the thread's newest save, whole or not at all. Of several that follow the same save, one
   * gets through (an object store has conditional writes for that).
   *
   * @param after the version that what is in `file` was made from; undefined for none
   * @returns undefined, and nothing is kept, where another save is the newest; that there is none any more is no reason
   */
  put(
    key: string,
    threadId: string,
    file: string,
    after: string | undefined,
  ): Promise<SavedWorkspace | undefined>;
  /** Copies this save to `file`. Rejects when it is no more. */
  get(key: string, version: string, file: string): Promise<void>;
  list(): Promise<{ key: string; saved: SavedWorkspace }[]>;
  /** Removes this save and what is older. */
  remove(key: string, version: string): Promise<void>;
}

const savedSchema = z.object({
  threadId: z.string(),
  version: z.string().regex(/^\d+-[0-9a-f]+$/),
  savedAt: z.number(),
  bytes: z.number(),
});

/**
 * A folder: of this host, or one that several workers share. It has a folder for each thread, and in that one for each
 * save, by number; the highest is the newest. A save is made beside them and takes its number in one step, which only
 * one can do: no folder can be renamed over one with something in it.
 */
export function createFolderStore(folder: string, now: () => number = Date.now): WorkspaceStore {
  const place = (key: string, name: number | string) => join(folder, key, String(name));
  const archive = (key: string, name: number | string) => join(place(key, name), "archive.tar");
  const entry = (key: string, name: number | string) => join(place(key, name), "saved.json");

  async function find(key: string, without?: number): Promise<SavedWorkspace | undefined> {
    const numbers = (await names(join(folder, key))).filter((name) => /^\d+$/.test(name)).map(Number);
    if (numbers.length === 0) return undefined;
    const newest = Math.max(...numbers);
    if (newest === without) throw new Error(`${entry(key, newest)} is missing. Remove its folder.`);
    // Without an entry it was the newest until just now.
    return (await read(key, newest)) ?? find(key, newest);
  }

  async function read(key: string, number: number): Promise<SavedWorkspace | undefined> {
    try {
      return savedSchema.parse(JSON.parse(await readFile(entry(key, number), "utf8")));
    } catch (error) {
      if (hasErrorCode(error, "ENOENT")) return undefined;
      const why = `${entry(key, number)} cannot be read: ${String(error)}. Repair or remove its folder.`;
      throw new Error(why, { cause: error });
    }
  }

  /** Each in one step, so that a save is only ever seen whole. */
  async function removeSave(key: string, number: number): Promise<void> {
    const gone = place(key, `${number}-${randomBytes(8).toString("hex")}`);
    await rename(place(key, number), gone).catch(ignore("ENOENT"));
    await rm(gone, { recursive: true, force: true });
  }

  /** Saves, and what those have left who were killed over them. */
  async function removeUpTo(key: string, number: number): Promise<void> {
    for (const name of await names(join(folder, key))) {
      if (!(Number.parseInt(name, 10) <= number)) continue;
      if (/^\d+$/.test(name)) await removeSave(key, Number(name));
      else await rm(place(key, name), { recursive: true, force: true });
    }
    // Unless there is a newer one.
    await rmdir(join(folder, key)).catch(ignore("ENOENT", "ENOTEMPTY"));
  }

  return {
    find: (key) => find(key),
    async put(key, threadId, file, after) {
      const before = await find(key);
      if (before && before.version !== after) return undefined;
      const number = numberOf(after) + 1;
      const version = `${number}-${randomBytes(8).toString("hex")}`;
      const { size: bytes } = await stat(file);
      const saved = { threadId, version, savedAt: now(), bytes };
      await mkdir(place(key, version), { recursive: true, mode: 0o700 });
      try {
        await copyFile(file, archive(key, version));
        await writeFile(entry(key, version), JSON.stringify(saved), { mode: 0o600 });
        // What it was made of will be removed, and the save before it.
        await sync(archive(key, version));
        await sync(entry(key, version));
        await rename(place(key, version), place(key, number));
      } catch (error) {
        await rm(place(key, version), { recursive: true, force: true });
        if (hasErrorCode(error, "ENOTEMPTY", "EEXIST")) return undefined;
        // Of several others, the last has removed what was not there yet.
        if ((await find(key))?.version !== before?.version) return undefined;
        await removeUpTo(key, 0); // The disk may be full: not even an empty folder stays.
        throw error;
      }
      // Who stood still meanwhile may have got a number that was taken before, and removed after the next one.
      const isNewest = (await find(key))?.version === version;
      if (isNewest) await removeUpTo(key, number - 1);
      else await removeSave(key, number);
      return isNewest ? saved : undefined;
    },
    async get(key, version, file) {
      await copyFile(archive(key, numberOf(version)), file);
      const [saved, { size }] = await Promise.all([read(key, numberOf(version)), stat(file)]);
      if (saved?.version !== version) throw new Error(`the save ${version} of ${key} is no more`);
      // tar takes one that ends between two files for whole.
      if (saved.bytes !== size)
        throw new Error(`${archive(key, numberOf(version))} has ${size} of ${saved.bytes} bytes`);
    },
    async list() {
      const found = [];
      // One after the other: there may be more than a process may have open at once.
      for (const key of await names(folder)) {
        const saved = await find(key);
        if (saved) found.push({ key, saved });
      }
      return found;
    },
    remove: (key, version) => removeUpTo(key, numberOf(version)),
  };
}

/** Of a save; 0 without one. */
function numberOf(version = ""): number {
  return Number.parseInt(version, 10) || 0;
}

/** What a folder holds; nothing if there is none. */
async function names(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(ignore("ENOENT", "ENOTDIR"))) ?? [];
}

async function sync(path: string): Promise<void> {
  const file = await open(path);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** For the failures that are none. */
function ignore(...codes: string[]): (error: unknown) => undefined {
  return (error) => {
    if (!hasErrorCode(error, ...codes)) throw error;
    return undefined;
  };
}
