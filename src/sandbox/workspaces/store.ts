import { randomBytes } from "node:crypto";
import { copyFile, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

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
  /** Takes a copy of `file` as the thread's newest save, whole or not at all. */
  put(key: string, threadId: string, file: string): Promise<SavedWorkspace>;
  /** Copies this save to `file`. Rejects when it is no more. */
  get(key: string, version: string, file: string): Promise<void>;
  list(): Promise<{ key: string; saved: SavedWorkspace }[]>;
  remove(key: string): Promise<void>;
}

const savedSchema = z.object({
  threadId: z.string(),
  version: z.string().regex(/^[0-9a-f]+$/),
  savedAt: z.number(),
  bytes: z.number(),
});

/** A folder: of this host, or one that several workers share. */
export function folderStore(folder: string, now: () => number = Date.now): WorkspaceStore {
  const entry = (key: string) => join(folder, `${key}.json`);
  const archive = (key: string, version: string) => join(folder, `${key}-${version}.tar`);

  async function find(key: string): Promise<SavedWorkspace | undefined> {
    try {
      return savedSchema.parse(JSON.parse(await readFile(entry(key), "utf8")));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw new Error(`${entry(key)} cannot be read: ${String(error)}. Repair or remove it.`, {
        cause: error,
      });
    }
  }

  return {
    find,
    async put(key, threadId, file) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const before = await find(key);
      const version = randomBytes(8).toString("hex");
      const { size: bytes } = await stat(file);
      const saved = { threadId, version, savedAt: now(), bytes };
      const fresh = `${entry(key)}.${version}`;
      try {
        await copyFile(file, archive(key, version));
        await sync(archive(key, version)); // What it was made of will be removed.
        // The entry names the archive, so that it is only ever seen whole.
        await writeFile(fresh, JSON.stringify(saved), { mode: 0o600 });
        await rename(fresh, entry(key));
      } catch (error) {
        // The disk may be full: what has got there must not stay for ever.
        for (const part of [archive(key, version), fresh]) await rm(part, { force: true });
        throw error;
      }
      if (before) await rm(archive(key, before.version), { force: true });
      return saved;
    },
    async get(key, version, file) {
      await copyFile(archive(key, version), file);
      const [saved, { size }] = await Promise.all([find(key), stat(file)]);
      // tar takes one that ends between two files for whole.
      if (saved?.version === version && saved.bytes !== size)
        throw new Error(`${archive(key, version)} has ${size} of ${saved.bytes} bytes`);
    },
    async list() {
      const names = await readdir(folder).catch((error: unknown) => {
        if (isMissing(error)) return [];
        throw error;
      });
      const found = [];
      // One after the other: there may be more than a process may have open at once.
      for (const name of names.filter((each) => each.endsWith(".json"))) {
        const key = name.slice(0, -".json".length);
        const saved = await find(key);
        if (saved) found.push({ key, saved });
      }
      return found;
    },
    async remove(key) {
      const saved = await find(key);
      await rm(entry(key), { force: true });
      if (saved) await rm(archive(key, saved.version), { force: true });
    },
  };
}

async function sync(path: string): Promise<void> {
  const file = await open(path);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
