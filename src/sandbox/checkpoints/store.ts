import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { CheckpointLimits } from "../checkpoints.ts";
import {
  type CheckpointRecord,
  type KeptFolder,
  listNames,
  openKeptFolder,
  type Piece,
} from "./kept-files.ts";
import type { Content, Entry } from "./listing.ts";

/** What is remembered of checkpoints whose content is gone. */
const mostLost = 50;
/** When there is too much, it is brought down to so much of the limit, so that the next one need not do the same. */
const roomFactor = 0.75;

/** What is kept for threads, within its limits. Keys are file names. */
export interface CheckpointStore {
  /** Oldest first. */
  records(key: string): Promise<CheckpointRecord[]>;
  list(key: string, record: CheckpointRecord): Promise<Entry[] | undefined>;
  addPack(key: string, file: string): Promise<string>;
  /** @param entries absent where not even their names are known; without content where that is lost */
  add(key: string, record: Omit<CheckpointRecord, "v" | "number">, entries?: readonly Entry[]): Promise<void>;
  /** The same files in another place: their content is known by new signatures. */
  replaceList(key: string, record: CheckpointRecord, entries: readonly Entry[], at: number): Promise<void>;
  assemble(key: string, entries: readonly Entry[], file: string): Promise<void>;
  findSame(key: string, file: string, pieces: readonly Piece[]): Promise<(Content | undefined)[]>;
  /** @param beside as of `Checkpoints.keep`, which has just kept the newest */
  prune(key: string, limits: CheckpointLimits, now: number, beside?: string): Promise<void>;
  keys(): Promise<string[]>;
  remove(key: string): Promise<void>;
}

export function createCheckpointStore(folder: string): CheckpointStore {
  const open = (key: string) => openKeptFolder(join(folder, key));
  return {
    records: (key) => open(key).records(),
    list: (key, record) => open(key).list(record),
    addPack: (key, file) => open(key).addPack(file),
    assemble: (key, entries, file) => open(key).assemble(entries, file),
    findSame: (key, file, pieces) => open(key).findSame(file, pieces),
    async add(key, record, entries) {
      const kept = open(key);
      const number = ((await kept.records()).at(-1)?.number ?? 0) + 1;
      const listed = entries ? await kept.writeList(entries) : {};
      await kept.writeRecord({ ...record, ...listed, v: 1, number });
    },
    async replaceList(key, record, entries, listedAt) {
      const kept = open(key);
      await kept.writeRecord({ ...record, ...(await kept.writeList(entries)), listedAt });
    },
    prune: (key, limits, now, beside) => prune(open(key), limits, now, beside),
    keys: () => listNames(folder),
    remove: (key) => rm(join(folder, key), { recursive: true, force: true }),
  };
}

async function prune(
  kept: KeptFolder,
  limits: CheckpointLimits,
  now: number,
  beside: string | undefined,
): Promise<void> {
  const present = (await kept.records()).filter(({ lost }) => lost === undefined);
  // Apart: a look at what an undo would change must not cost the checkpoint that it would bring back.
  for (const onDemand of [true, false]) {
    const those = present.filter((record) => (record.onDemand ?? false) === onDemand);
    const tooMany = those.slice(0, Math.max(0, those.length - limits.most));
    for (const record of tooMany)
      await lose(kept, record, `only the newest ${limits.most} are kept (undo.checkpoints)`);
    for (const record of those.slice(tooMany.length)) {
      if (now - record.at > limits.ageMs) await lose(kept, record, "it is too long ago (undo.days)");
    }
  }
  await sweep(kept);
  if ((await kept.measure()) > limits.bytes) await makeRoom(kept, limits.bytes, beside);
}

/** Forgets the content of a checkpoint; why it is not there is remembered for a while. */
async function lose(
  kept: KeptFolder,
  record: CheckpointRecord,
  lost: string,
  keepsList = false,
): Promise<void> {
  const { list: _, ...rest } = record;
  await kept.writeRecord({ ...(keepsList ? record : rest), packs: [], lost });
}

async function sweep(kept: KeptFolder): Promise<void> {
  const lost = (await kept.records()).filter((record) => record.lost !== undefined);
  await kept.sweep(lost.slice(0, -mostLost));
}

interface Listed {
  record: CheckpointRecord;
  entries: Entry[];
}

/**
 * Drops the oldest until what the others need has room, and then the content that none of them needs. The newest may
 * have all the room that what stays `beside` it leaves, and keeps its list where that is too little.
 */
async function makeRoom(kept: KeptFolder, bytes: number, beside: string | undefined): Promise<void> {
  const contents = new Map<string, Content>();
  const listed: Listed[] = [];
  let needed = 0;
  let isFull = false;
  const present = (await kept.records()).filter(({ lost }) => lost === undefined).toReversed();
  const [newest] = present;
  const stays = ({ name }: CheckpointRecord) => name === beside;
  for (const record of [...present.filter(stays), ...present.filter((each) => !stays(each))]) {
    const entries: Entry[] | undefined = isFull ? undefined : await kept.list(record);
    const fresh = listContents(entries ?? []).filter((content) => !contents.has(nameOf(content)));
    const more = fresh.reduce((sum, { length }) => sum + length, 0);
    const room = record === newest ? bytes : bytes * roomFactor;
    const fits = listed.length === 0 || needed + more <= room;
    if (!entries || !fits) {
      if (!fits && record !== newest) isFull = true;
      const why = "the room for what is kept (undo.megabytes) was needed for later turns";
      await lose(kept, record, why, record === newest);
      continue;
    }
    for (const content of fresh) contents.set(nameOf(content), content);
    needed += more;
    listed.push({ record, entries });
  }
  await sweep(kept);
  if ((await kept.measure()) > bytes) await compact(kept, listed, [...contents.values()]);
}

/** Brings all content that is needed into one pack. */
async function compact(
  kept: KeptFolder,
  listed: readonly Listed[],
  contents: readonly Content[],
): Promise<void> {
  const file = kept.newFile();
  await kept.assemble(contents.map(asEntry), file);
  const pack = await kept.addPack(file);
  const moved = new Map<string, Content>();
  let offset = 0;
  for (const content of contents) {
    moved.set(nameOf(content), { pack, offset, length: content.length });
    offset += content.length;
  }
  for (const { record, entries } of listed) {
    const renamed = entries.map((entry) => {
      const content = entry.content && moved.get(nameOf(entry.content));
      return content ? { ...entry, content } : entry;
    });
    await kept.writeRecord({ ...record, ...(await kept.writeList(renamed)) });
  }
  await sweep(kept);
}

function listContents(entries: readonly Entry[]): Content[] {
  return entries.flatMap(({ content }) => content ?? []);
}

function nameOf({ pack, offset, length }: Content): string {
  return `${pack} ${offset} ${length}`;
}

function asEntry(content: Content): Entry {
  const nothing = { path: "", mode: "", modified: "", signature: "", target: "" };
  return { ...nothing, type: "f", bytes: content.length, content };
}
