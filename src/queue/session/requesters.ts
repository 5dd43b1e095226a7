import type { Redis } from "ioredis";
import type { JournalRecord } from "../../agent/journal/journal.ts";
import { heddle, type UserMessage } from "../../agent/messages.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import { readJournalSlice } from "./journal/journal.ts";
import { readMessage } from "./stored.ts";

const page = 100;

/** Ids of those who wrote what a turn of the thread works on or is going to. */
export async function listRequesters(redis: Redis, thread: ThreadId): Promise<string[]> {
  const [mail, status] = await Promise.all([
    redis.lrange(keys.mail(thread), 0, -1),
    redis.hget(keys.head(thread), "status"),
  ]);
  return [
    ...authorsOf(mail.flatMap((json) => readMessage(redis, thread, json) ?? [])),
    ...(status === "running" ? await readLastRequesters(redis, thread) : []),
  ];
}

/** Ids of those who wrote what the thread's last turn has worked on. */
export async function readLastRequesters(redis: Redis, thread: ThreadId): Promise<string[]> {
  const records = await readLastTurn(redis, thread);
  return authorsOf(records.flatMap((record) => (record.type === "user" ? [record.message] : [])));
}

function authorsOf(messages: readonly UserMessage[]): string[] {
  return [...new Set(messages.map(({ author }) => author.id))].filter((id) => id !== heddle.id);
}

/** What the journal holds of the thread's last turn, oldest first. */
export async function readLastTurn(redis: Redis, thread: ThreadId): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  for (let before: number | undefined; ; ) {
    const { records: older, from } = await readJournalSlice(redis, thread, { before }, page);
    const start = older.findLastIndex(({ type }) => type === "turn-start");
    records.unshift(...older.slice(Math.max(start, 0)));
    if (start >= 0 || from === 0) return records;
    before = from;
  }
}
