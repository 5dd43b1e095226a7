import type { Redis } from "ioredis";
import type { JournalRecord } from "../../agent/journal.ts";
import { heddle } from "../../agent/messages.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";

const page = 100;

/** Ids of those who wrote what a turn of the thread works on or is going to. */
export async function listRequesters(redis: Redis, thread: ThreadId): Promise<string[]> {
  const [mail, status] = await Promise.all([
    redis.lrange(keys.mail(thread), 0, -1),
    redis.hget(keys.head(thread), "status"),
  ]);
  return [
    ...authorsOf(mail.map(parse)),
    ...(status === "running" ? await readLastRequesters(redis, thread) : []),
  ];
}

/** Ids of those who wrote what the thread's last turn has worked on. */
export async function readLastRequesters(redis: Redis, thread: ThreadId): Promise<string[]> {
  return authorsOf(await readLastTurn(redis, thread));
}

function authorsOf(records: readonly JournalRecord[]): string[] {
  const authors = records.flatMap((record) => (record.type === "user" ? [record.message.author.id] : []));
  return [...new Set(authors)].filter((id) => id !== heddle.id);
}

/** What the journal holds of the thread's last turn, oldest first. */
export async function readLastTurn(redis: Redis, thread: ThreadId): Promise<JournalRecord[]> {
  const generation = await redis.hget(keys.head(thread), "generation");
  const log = keys.log(thread, Number(generation ?? 0));
  const records: JournalRecord[] = [];
  for (let end = -1; ; end -= page) {
    const older = (await redis.lrange(log, end - page + 1, end)).map(parse);
    const start = older.findLastIndex(({ type }) => type === "turn-start");
    records.unshift(...older.slice(Math.max(start, 0)));
    if (start >= 0 || older.length < page) return records;
  }
}

function parse(entry: string): JournalRecord {
  return JSON.parse(entry) as JournalRecord; // Only our own scripts write these lists.
}
