import type { Redis } from "ioredis";
import type { JournalPiece, JournalReader, JournalRecord } from "../../../agent/journal/journal.ts";
import type { UserMessage } from "../../../agent/messages.ts";
import type { ThreadId } from "../../../chat/threads.ts";
import { keys } from "../../redis/keys.ts";
import { readUndone } from "../../undo/stored.ts";
import { readMessage, readRecord, readRecords } from "../stored.ts";

/**
 * A session's records, oldest first; empty when there is none. Those that cannot be read are there as `unreadable`.
 * Only for journals that are known to be short: see {@link readForward}.
 */
export async function readJournal(redis: Redis, thread: ThreadId): Promise<JournalRecord[]> {
  return readRecords(redis, thread, 0, await redis.lrange(keys.log(thread), 0, -1));
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
  const log = keys.log(thread);
  const length = await redis.llen(log);
  const end = Math.min(where.before ?? length, length);
  const from = Math.min(where.from ?? Math.max(0, end - limit), length);
  const last = where.from === undefined ? end : Math.min(from + limit, length);
  if (from >= last) return { records: [], from, length };
  const entries = await redis.lrange(log, from, last - 1);
  return { records: readRecords(redis, thread, from, entries), from, length };
}

/** Records of a piece: few at first, as they may be large, and then as many as make a piece of about this size. */
const firstPiece = 32;
const mostInPiece = 1_000;
const pieceChars = 500_000;

/** How many records the next piece is to have. */
function resize(count: number, chars: number): number {
  if (chars > 2 * pieceChars) return Math.max(1, Math.floor(count / 2));
  return chars < pieceChars ? Math.min(mostInPiece, 2 * count) : count;
}

/** The records from `from` up to `to`, which is not included, oldest first: of any journal, in little memory. */
export async function* readForward(
  redis: Redis,
  thread: ThreadId,
  from = 0,
  to = Infinity,
): AsyncGenerator<JournalPiece> {
  for (let count = firstPiece; from < to; ) {
    const entries = await redis.lrange(keys.log(thread), from, Math.min(to, from + count) - 1);
    if (entries.length === 0) return;
    const chars = charsOf(entries);
    yield { records: readRecords(redis, thread, from, entries), from, chars };
    from += entries.length;
    count = resize(count, chars);
  }
}

/** The records before the position `before`, the newest piece first; within a piece they are oldest first. */
export async function* readBackward(
  redis: Redis,
  thread: ThreadId,
  before = Infinity,
): AsyncGenerator<JournalPiece> {
  const log = keys.log(thread);
  let end = Math.min(before, await redis.llen(log));
  for (let count = firstPiece; end > 0; ) {
    const from = Math.max(0, end - count);
    const entries = await redis.lrange(log, from, end - 1);
    const chars = charsOf(entries);
    yield { records: readRecords(redis, thread, from, entries), from, chars };
    end = from;
    count = resize(count, chars);
  }
}

/** For the agent: of turns that were undone it reads nothing, and all others keep their positions. */
export function createJournalReader(redis: Redis, thread: ThreadId): JournalReader {
  async function* hideUndone(pieces: AsyncIterable<JournalPiece>): AsyncGenerator<JournalPiece> {
    const undone = await redis.hget(keys.head(thread), "undone");
    const spans = readUndone(redis, thread, { undone });
    for await (const piece of pieces) {
      const isHidden = (at: number) => spans.some(({ from, to }) => from <= at && at < to);
      const hideRecord = (record: JournalRecord, index: number) =>
        isHidden(piece.from + index) ? hidden : record;
      yield spans.length === 0 ? piece : { ...piece, records: piece.records.map(hideRecord) };
    }
  }
  return {
    forward: (from) => hideUndone(readForward(redis, thread, from)),
    backward: (before) => hideUndone(readBackward(redis, thread, before)),
  };
}

/** Says nothing. */
const hidden: JournalRecord = { type: "withdrawn", id: "", reason: "stopped" };

export function charsOf(entries: readonly string[]): number {
  return entries.reduce((chars, entry) => chars + entry.length, 0);
}

/** The newest record; undefined when there is none. */
export async function readLastRecord(redis: Redis, thread: ThreadId): Promise<JournalRecord | undefined> {
  const log = keys.log(thread);
  const [length, last] = await Promise.all([redis.llen(log), redis.lindex(log, -1)]);
  return last === null ? undefined : readRecord(redis, thread, length - 1, last);
}

/** The message that a session began with, also one that still waits. */
export async function readFirstMessage(redis: Redis, thread: ThreadId): Promise<UserMessage | undefined> {
  // In this order: a message that a turn takes between the two is in the second.
  const [waiting, begun] = await Promise.all([
    redis.lindex(keys.mail(thread), 0),
    redis.lrange(keys.log(thread), 0, firstRecords - 1),
  ]);
  const first = readRecords(redis, thread, 0, begun).find((record) => record.type === "user");
  if (first) return first.message;
  return waiting === null ? undefined : readMessage(redis, thread, waiting);
}

/** The first message stands behind the record of the turn's start. */
const firstRecords = 4;
