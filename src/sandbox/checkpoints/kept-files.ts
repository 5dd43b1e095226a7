import { randomBytes } from "node:crypto";
import {
  chmod,
  copyFile,
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { z } from "zod";
import { hasErrorCode } from "../system-error.ts";
import { type Content, type Entry, readStoredListing, serializeListing } from "./listing.ts";

/** A checkpoint as it is remembered; `list` names the list of its files. */
const recordSchema = z.object({
  v: z.literal(1),
  number: z.int().positive(),
  name: z.string(),
  at: z.number(),
  files: z.number(),
  bytes: z.number(),
  list: z.string().optional(),
  /** When the list was made, ms since the epoch: the newest one knows the files as they are on the disk. */
  listedAt: z.number().optional(),
  /** Where content lies that it needs. */
  packs: z.array(z.string()).default([]),
  lost: z.string().optional(),
  /** Kept because somebody wanted to see or copy the files, and not for a turn. */
  onDemand: z.boolean().optional(),
});
export type CheckpointRecord = z.infer<typeof recordSchema>;

/** A part of a file, and the content that it may be. */
export interface Piece {
  offset: number;
  length: number;
  kept: Content | undefined;
}

/** The records, lists and packs of one thread, files in a folder of their own. */
export interface KeptFolder {
  /** Oldest first. */
  records(): Promise<CheckpointRecord[]>;
  writeRecord(record: CheckpointRecord): Promise<void>;
  writeList(entries: readonly Entry[]): Promise<Pick<CheckpointRecord, "list" | "packs">>;
  /** Undefined where it is not there, or cannot be read. */
  list(record: CheckpointRecord): Promise<Entry[] | undefined>;
  /** Takes the file that holds a pack's content; gives the pack's name. */
  addPack(file: string): Promise<string>;
  /** Writes the content of files, one behind the other. @throws where not all of it is there */
  assemble(entries: readonly Entry[], file: string): Promise<void>;
  /** Of each piece of a file the content that is kept, where it is the same. */
  findSame(file: string, pieces: readonly Piece[]): Promise<(Content | undefined)[]>;
  /** A path in the folder for a file to be made. */
  newFile(): string;
  /** Bytes of the lists and packs that checkpoints need, the content in them included that none needs any more. */
  measure(): Promise<number>;
  /** Removes lists and packs that no record names, and these records. */
  sweep(unneeded: readonly CheckpointRecord[]): Promise<void>;
}

export function openKeptFolder(folder: string): KeptFolder {
  const fileOf = (name: string) => join(folder, name);
  const newFile = () => fileOf(`${newId()}.new`);

  async function readRecord(name: string): Promise<CheckpointRecord | undefined> {
    try {
      return recordSchema.parse(JSON.parse(await readFile(fileOf(name), "utf8")));
    } catch {
      // One that a full disk has cut off, or a later Heddle has written, is none.
      return undefined;
    }
  }

  async function records(): Promise<CheckpointRecord[]> {
    const found = (await listNames(folder)).filter((name) => /^\d+\.json$/.test(name));
    const read = await Promise.all(found.map(readRecord));
    return read.filter((record) => record !== undefined).toSorted((a, b) => a.number - b.number);
  }

  async function write(name: string, data: string | Buffer): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const fresh = newFile();
    try {
      await writeFile(fresh, data, { mode: 0o600, flush: true });
      await rename(fresh, fileOf(name));
    } catch (error) {
      await rm(fresh, { force: true });
      throw error;
    }
  }

  return {
    records,
    newFile,
    writeRecord: (record) => write(`${record.number}.json`, JSON.stringify(record)),
    async writeList(entries) {
      const list = newId();
      await write(`${list}.list`, await compress(serializeListing(entries)));
      return { list, packs: [...new Set(entries.flatMap(({ content }) => content?.pack ?? []))] };
    },
    async list({ list }) {
      if (list === undefined) return undefined;
      try {
        return readStoredListing(await decompress(await readFile(fileOf(`${list}.list`))));
      } catch {
        return undefined;
      }
    },
    async addPack(file) {
      const pack = newId();
      const place = fileOf(`${pack}.pack`);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await move(file, place);
      await chmod(place, 0o600);
      return pack;
    },
    assemble: (entries, file) => assemble(entries, file, (pack) => fileOf(`${pack}.pack`)),
    findSame: (file, pieces) => findSame(file, pieces, (pack) => fileOf(`${pack}.pack`)),
    async measure() {
      const all = await records();
      const needed = new Set(all.flatMap(namesOf));
      const sizes = await Promise.all([...needed].map((name) => sizeOf(fileOf(name))));
      return sizes.reduce((sum, size) => sum + size, 0);
    },
    async sweep(unneeded) {
      await Promise.all(unneeded.map(({ number }) => rm(fileOf(`${number}.json`), { force: true })));
      const left = await records();
      const needed = new Set(left.flatMap((record) => [`${record.number}.json`, ...namesOf(record)]));
      const others = (await listNames(folder)).filter((name) => !needed.has(name));
      await Promise.all(others.map((name) => removeOld(fileOf(name))));
    },
  };
}

function namesOf({ list, packs }: CheckpointRecord): string[] {
  return [...(list === undefined ? [] : [`${list}.list`]), ...packs.map((pack) => `${pack}.pack`)];
}

const compress = promisify(gzip);
const decompress = promisify(gunzip);

function newId(): string {
  return randomBytes(8).toString("hex");
}

/** What a folder holds; nothing if there is none. */
export async function listNames(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (hasErrorCode(error, "ENOENT")) return [];
    throw error;
  }
}

async function move(file: string, place: string): Promise<void> {
  const handle = await open(file);
  try {
    // A record that names it must not survive a crash of the host that its content does not.
    await handle.datasync();
  } finally {
    await handle.close();
  }
  try {
    await rename(file, place);
  } catch (error) {
    if (!hasErrorCode(error, "EXDEV")) throw error;
    await copyFile(file, place);
  }
}

/** 0 for what is not there. */
async function sizeOf(path: string): Promise<number> {
  const status = await stat(path).catch(() => undefined);
  return status?.size ?? 0;
}

/** What was made a moment ago may belong to a checkpoint that another process is about to note. */
const freshMs = 60_000;

async function removeOld(path: string): Promise<void> {
  const status = await stat(path).catch(() => undefined);
  if (status && Date.now() - status.mtimeMs > freshMs) await rm(path, { force: true });
}

const chunkBytes = 1_048_576;

async function assemble(
  entries: readonly Entry[],
  file: string,
  pathOf: (pack: string) => string,
): Promise<void> {
  const packs = new Map<string, FileHandle>();
  const target = await open(file, "w", 0o600);
  try {
    for (const { pack, offset, length } of joinRuns(entries)) {
      const source = packs.get(pack) ?? (await open(pathOf(pack)));
      packs.set(pack, source);
      const buffer = Buffer.allocUnsafe(Math.min(length, chunkBytes));
      for (let done = 0; done < length; ) {
        const { bytesRead } = await source.read(
          buffer,
          0,
          Math.min(buffer.length, length - done),
          offset + done,
        );
        if (bytesRead === 0) throw new Error("what is kept of the files is not complete");
        await target.writeFile(buffer.subarray(0, bytesRead));
        done += bytesRead;
      }
    }
  } finally {
    await Promise.all([...packs.values(), target].map((handle) => handle.close()));
  }
}

async function findSame(
  file: string,
  pieces: readonly Piece[],
  pathOf: (pack: string) => string,
): Promise<(Content | undefined)[]> {
  const packs = new Map<string, FileHandle | undefined>();
  const own = await open(file);
  try {
    const found: (Content | undefined)[] = [];
    for (const { offset, length, kept } of pieces) {
      if (kept && !packs.has(kept.pack))
        packs.set(kept.pack, await open(pathOf(kept.pack)).catch(() => undefined));
      const pack = kept?.length === length ? packs.get(kept.pack) : undefined;
      const isSame = kept && pack && (await isEqual(length, [own, offset], [pack, kept.offset]));
      found.push(isSame ? kept : undefined);
    }
    return found;
  } finally {
    await Promise.all([own, ...packs.values()].map(async (handle) => handle?.close()));
  }
}

type Place = readonly [file: FileHandle, offset: number];

async function isEqual(length: number, ...places: readonly [Place, Place]): Promise<boolean> {
  for (let done = 0; done < length; done += chunkBytes) {
    const size = Math.min(chunkBytes, length - done);
    const [one, other] = await Promise.all(
      places.map(async ([file, offset]) => {
        const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(size), 0, size, offset + done);
        return buffer.subarray(0, bytesRead);
      }),
    );
    if (one?.length !== size || !other?.equals(one)) return false;
  }
  return true;
}

/** Content that lies in a row is read as one. */
function* joinRuns(entries: readonly Entry[]): Generator<Content> {
  let run: Content | undefined;
  for (const { content } of entries) {
    if (!content || content.length === 0) continue;
    if (run && run.pack === content.pack && run.offset + run.length === content.offset) {
      run = { ...run, length: run.length + content.length };
      continue;
    }
    if (run) yield run;
    run = content;
  }
  if (run) yield run;
}
