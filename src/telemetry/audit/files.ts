import { createReadStream, existsSync } from "node:fs";
import { mkdir, open, readdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Redis } from "ioredis";
import { keys } from "../../queue/redis/keys.ts";
import { takeLock } from "../../queue/redis/lock.ts";
import { hasErrorCode } from "../../sandbox/system-error.ts";
import { type AuditEntry, parseEntry } from "./chain.ts";
import { readAuditLines } from "./log.ts";

/** `000000000123.jsonl`: the entries from number 123 on, one a line. */
const fileName = /^\d{12}\.jsonl$/;

/** Somebody who died while holding the log is given up after this time; whoever lives says so in between. */
const heldSeconds = 60;
const renewMs = 15_000;
const dayMs = 86_400_000;

/** Another process moves the log to files, or reads all of it. */
export class AuditBusy extends Error {
  override readonly name = "AuditBusy";
  override readonly message =
    "The audit log is being moved or read by another process; try again in a minute.";
}

/** Does the work while nobody moves entries. @throws AuditBusy */
export async function withAuditLock<T>(redis: Redis, work: () => Promise<T>): Promise<T> {
  const lock = await takeLock(redis, keys.auditHeld, heldSeconds);
  if (!lock) throw new AuditBusy();
  const renewal = setInterval(() => {
    lock.extend().catch(() => undefined);
  }, renewMs);
  try {
    return await work();
  } finally {
    clearInterval(renewal);
    await lock.release();
  }
}

/**
 * Moves the entries of past days (UTC) from Redis to a file. The file is complete and on the disk before Redis
 * forgets them; who dies in between leaves entries in both, and the next writes the same file again.
 *
 * @param now milliseconds since the epoch
 * @returns how many entries were moved
 * @throws AuditBusy
 */
export async function moveToFiles(redis: Redis, folder: string, now: number): Promise<number> {
  return await withAuditLock(redis, async () => {
    const moved = await writeFile(folder, readPastLines(redis, now - (now % dayMs)));
    if (!moved) return 0;
    await redis.xtrim(keys.audit, "MINID", `${moved.last + 1}-0`);
    return moved.last - moved.first + 1;
  });
}

async function* readPastLines(redis: Redis, today: number): AsyncGenerator<{ n: number; line: string }> {
  let last = 0;
  for await (const line of readAuditLines(redis, 0)) {
    const entry = parseEntry(line);
    if (entry && entry.at >= today) return;
    // What is no entry keeps its place among the others; `verify` tells of it.
    last = entry?.n ?? last + 1;
    yield { n: last, line };
  }
}

async function writeFile(
  folder: string,
  entries: AsyncIterable<{ n: number; line: string }>,
): Promise<{ first: number; last: number } | undefined> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const part = join(folder, "moving.part");
  let first: number | undefined;
  let last = 0;
  const file = await open(part, "w", 0o600);
  try {
    for await (const { n, line } of entries) {
      first ??= n;
      last = n;
      // A disk that is nearly full takes a part of a `write` without an error.
      await file.appendFile(`${line}\n`);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  if (first === undefined) return undefined;
  const target = join(folder, `${String(first).padStart(12, "0")}.jsonl`);
  if (!(await beginsWith(part, target))) {
    throw new Error(
      `The audit log in Redis is another one than in ${target}, so that file was left alone; move the folder elsewhere to begin a new log there.`,
    );
  }
  await rename(part, target);
  return { first, last };
}

/** Whether `file` goes on with what `earlier` holds; true when there is no earlier one. */
async function beginsWith(file: string, earlier: string): Promise<boolean> {
  if (!existsSync(earlier)) return true;
  const [now, before] = await Promise.all([readFile(file), readFile(earlier)]);
  return now.subarray(0, before.length).equals(before);
}

/** Every line of the log, from the files and then from Redis, as they are. */
export async function* readAllLines(redis: Redis, folder: string): AsyncGenerator<string> {
  let last = 0;
  for (const name of await listFiles(folder)) {
    const lines = createInterface({ input: createReadStream(join(folder, name)), crlfDelay: Infinity });
    for await (const line of lines) {
      yield line;
      last = readNumber(line) || last;
    }
  }
  yield* readAuditLines(redis, last + 1);
}

/** All entries, the first first. Nothing is proven. */
export async function* readAllEntries(redis: Redis, folder: string): AsyncGenerator<AuditEntry> {
  for await (const line of readAllLines(redis, folder)) {
    const entry = parseEntry(line);
    if (entry) yield entry;
  }
}

/**
 * The newest entries before number `before`, the newest first, among at most `limit` lines; `next` is where the lines go
 * on, and absent at the beginning of the log. Nothing is proven: that takes the whole log, see `verifyLog`.
 */
export async function readLatestEntries(
  redis: Redis,
  folder: string,
  before: number,
  limit: number,
): Promise<{ entries: AuditEntry[]; next?: number }> {
  const newest = await redis.xrevrange(keys.audit, `${before - 1}-0`, "-", "COUNT", limit);
  // What is no entry has its place among the others.
  let lines = newest.map(([id, fields]) => ({ n: Number.parseInt(id, 10), line: fields[1] ?? "" }));
  const files = (await listFiles(folder)).toReversed();
  for (const name of files) {
    const end = lines.at(-1)?.n ?? before;
    if (lines.length >= limit) break;
    if (Number.parseInt(name, 10) < end)
      lines = [...lines, ...(await readLast(folder, name, end, limit - lines.length))];
  }
  // Of what is no entry, or not what Heddle has written, `heddle audit verify` tells.
  const entries = lines.flatMap(({ line }) => parseEntry(line) ?? []);
  const next = lines.length < limit ? undefined : lines.at(-1)?.n;
  return { entries, ...(next !== undefined && { next }) };
}

/** The last lines of a file before that entry, the newest first. */
async function readLast(
  folder: string,
  name: string,
  before: number,
  limit: number,
): Promise<{ n: number; line: string }[]> {
  const kept: { n: number; line: string }[] = [];
  let n = Number.parseInt(name, 10) - 1;
  const lines = createInterface({ input: createReadStream(join(folder, name)), crlfDelay: Infinity });
  for await (const line of lines) {
    n = readNumber(line) || n + 1;
    if (n >= before) break;
    kept.push({ n, line });
    if (kept.length > limit) kept.shift();
  }
  return kept.toReversed();
}

function readNumber(line: string): number {
  return Number(/"n":(\d+)/.exec(line)?.[1] ?? 0);
}

async function listFiles(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => fileName.test(name)).toSorted();
  } catch (error) {
    if (hasErrorCode(error, "ENOENT")) return [];
    throw error;
  }
}
