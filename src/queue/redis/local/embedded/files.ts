import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { encodeRecord } from "./record.ts";
import { header, replayRecords, writeAll } from "./record-file.ts";
import { applyEffect, effectsOf, type Store } from "./store.ts";

/**
 * The files of the embedded server, numbered in the order of their writing: `7.log` holds the records that came after
 * all of `6.log`, and `7.base` replaces everything before `7.log`. What is read is the newest base and the logs from
 * its number on. A base is made from closed files under another name, so a crash leaves the old ones or the new one.
 */
interface Files {
  base: number | undefined;
  logs: number[];
}

export const logName = (folder: string, n: number) => join(folder, `${n}.log`);
const baseName = (folder: string, n: number) => join(folder, `${n}.base`);

export function listFiles(folder: string): Files {
  const numbers = { base: [] as number[], log: [] as number[] };
  for (const name of listExisting(folder)) {
    const [, n, kind] = /^(\d+)\.(base|log)$/.exec(name) ?? [];
    if (kind === "base" || kind === "log") numbers[kind].push(Number(n));
  }
  const base = numbers.base.length > 0 ? Math.max(...numbers.base) : undefined;
  const logs = numbers.log.filter((n) => base === undefined || n >= base).toSorted((a, b) => a - b);
  return { base, logs };
}

function listExisting(folder: string): string[] {
  return statSync(folder, { throwIfNoEntry: false }) ? readdirSync(folder) : [];
}

/** @returns the store, and where the last whole record of the last log ends */
export function readStore(folder: string): { store: Store; end: number; torn: number } {
  const store: Store = new Map();
  const { base, logs } = listFiles(folder);
  let end = 0;
  let torn = 0;
  const files = [
    ...(base === undefined ? [] : [baseName(folder, base)]),
    ...logs.map((n) => logName(folder, n)),
  ];
  for (const file of files) {
    const mayBeTorn = file === files.at(-1) && logs.length > 0;
    ({ end, torn } = replayRecords(file, mayBeTorn, (effects) => {
      for (const effect of effects) applyEffect(store, effect);
    }));
  }
  return { store, end, torn };
}

/** Size of the newest base. */
export function baseBytes(folder: string): number {
  const { base } = listFiles(folder);
  return base === undefined ? 0 : statSync(baseName(folder, base)).size;
}

/** Enough for a write to be worth its while. */
const pieceBytes = 1 << 20;

/** Writes what the store holds as the base that comes before `n.log`, in one step. */
export function writeBase(folder: string, n: number, store: Store): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const temporary = join(folder, `${n}.base.new`);
  const handle = openSync(temporary, "w", 0o600);
  try {
    let pending: Buffer[] = [header];
    let size = 0;
    const flush = () => {
      writeAll(handle, Buffer.concat(pending));
      pending = [];
      size = 0;
    };
    for (const [key, stored] of store) {
      for (const effect of effectsOf(key, stored)) {
        const record = encodeRecord([effect]);
        pending.push(record);
        size += record.length;
        if (size > pieceBytes) flush();
      }
    }
    flush();
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(temporary, baseName(folder, n));
  syncFolder(folder);
}

/** Makes one base of everything before `n.log`, which must not be written to any more. */
export function compact(folder: string, n: number): void {
  const store: Store = new Map();
  const { base, logs } = listFiles(folder);
  const read = (file: string) =>
    replayRecords(file, false, (effects) => {
      for (const effect of effects) applyEffect(store, effect);
    });
  if (base !== undefined) read(baseName(folder, base));
  for (const log of logs.filter((each) => each < n)) read(logName(folder, log));
  writeBase(folder, n, store);
}

/** Removes what the newest base has replaced, and what an interrupted compaction left. */
export function removeReplaced(folder: string): void {
  const { base = 0 } = listFiles(folder);
  for (const name of listExisting(folder)) {
    const [, n] = /^(\d+)\.(?:base|log)$/.exec(name) ?? [];
    if (name.endsWith(".new") || (n !== undefined && Number(n) < base)) rmSync(join(folder, name));
  }
}

export function syncFolder(folder: string): void {
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
