import type { Redis } from "ioredis";
import type { JournalRecord } from "../../agent/journal.ts";
import type { UserMessage } from "../../agent/messages.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import { readHeadNumber, readMessage, readRecord, readRecords } from "./stored.ts";

/** A session's records, oldest first; empty when there is none. Those that cannot be read are there as `unreadable`. */
export async function readJournal(redis: Redis, thread: ThreadId): Promise<JournalRecord[]> {
  return readRecords(redis, thread, 0, await redis.lrange(await logOf(redis, thread), 0, -1));
}

/** Some records in a row. `from` is the position of the first, counted from 0; a position never changes. */
export interface JournalSlice {
  records: JournalRecord[];
  from: number;
  /** How many the journal has. */
  length: number;
}

/**
 * At most `limit` records: those before the position `before`, or those from `from` on; the last ones without either.
 */
export async function readJournalSlice(
  redis: Redis,
  thread: ThreadId,
  where: { before?: number | undefined; from?: number | undefined },
  limit: number,
): Promise<JournalSlice> {
  const log = await logOf(redis, thread);
  const length = await redis.llen(log);
  const end = Math.min(where.before ?? length, length);
  const from = Math.min(where.from ?? Math.max(0, end - limit), length);
  const last = where.from === undefined ? end : Math.min(from + limit, length);
  if (from >= last) return { records: [], from, length };
  const entries = await redis.lrange(log, from, last - 1);
  return { records: readRecords(redis, thread, from, entries), from, length };
}

/** The newest record; undefined when there is none. */
export async function readLastRecord(redis: Redis, thread: ThreadId): Promise<JournalRecord | undefined> {
  const log = await logOf(redis, thread);
  const [length, last] = await Promise.all([redis.llen(log), redis.lindex(log, -1)]);
  return last === null ? undefined : readRecord(redis, thread, length - 1, last);
}

/** The message that a session began with, also one that still waits. */
export async function readFirstMessage(redis: Redis, thread: ThreadId): Promise<UserMessage | undefined> {
  // The journal's first list stays when a compaction starts another.
  const records = readRecords(redis, thread, 0, await redis.lrange(keys.log(thread, 0), 0, firstRecords - 1));
  const first = records.find((record) => record.type === "user");
  if (first) return first.message;
  const waiting = await redis.lindex(keys.mail(thread), 0);
  return waiting === null ? undefined : readMessage(redis, thread, waiting);
}

/** The first message stands behind the record of the turn's start. */
const firstRecords = 4;

async function logOf(redis: Redis, thread: ThreadId): Promise<string> {
  const generation = await redis.hget(keys.head(thread), "generation");
  return keys.log(thread, readHeadNumber(redis, thread, "generation", generation));
}
