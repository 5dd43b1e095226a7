import type { Redis } from "ioredis";
import type { ThreadId } from "../../../chat/threads.ts";
import { keys } from "../../redis/keys.ts";

/** How much Redis holds, for operators. */
export interface StorageSizes {
  /** Bytes that Redis uses and may use; no `limit` where there is none, absent where it does not tell. */
  memory?: { used: number; limit?: number };
  sessions: number;
  /** The largest first, some few, of the latest {@link mostThreads} sessions. A journal's bytes count its snapshot. */
  journals: ListSize[];
  mailboxes: ListSize[];
}

export interface ListSize {
  thread: ThreadId;
  records: number;
  /** As Redis estimates it; absent where it cannot. */
  bytes?: number;
}

/** Sessions that are looked at: what grows is among those that were active last. */
const mostThreads = 1_000;
/** Sessions that are looked at together, so that nothing else waits long. */
const atOnce = 100;
/** Lists of the most records whose bytes are asked for, and how many of them are told of. */
const measured = 20;
const told = 5;

interface Lengths {
  thread: ThreadId;
  /** Of its journal. */
  records: number;
  /** In its mailbox. */
  waiting: number;
}

/** Costs two commands a session, none of which depends on how long a list is. */
export async function readSizes(redis: Redis): Promise<StorageSizes> {
  const [memory, sessions, threads] = await Promise.all([
    readMemory(redis),
    redis.zcard(keys.threads),
    redis.zrange(keys.threads, "0", String(mostThreads - 1), "REV"),
  ]);
  const all: Lengths[] = [];
  for (let from = 0; from < threads.length; from += atOnce) {
    all.push(
      ...(await Promise.all(threads.slice(from, from + atOnce).map((thread) => lengthsOf(redis, thread)))),
    );
  }
  const [journals, mailboxes] = await Promise.all([
    largest(
      redis,
      all.map(({ thread, records }) => ({
        thread,
        lists: [keys.log(thread), keys.snapshot(thread)],
        records,
      })),
    ),
    largest(
      redis,
      all.map(({ thread, waiting }) => ({ thread, lists: [keys.mail(thread)], records: waiting })),
    ),
  ]);
  return { ...(memory && { memory }), sessions, journals, mailboxes };
}

async function lengthsOf(redis: Redis, thread: ThreadId): Promise<Lengths> {
  const [records, waiting] = await Promise.all([redis.llen(keys.log(thread)), redis.llen(keys.mail(thread))]);
  return { thread, records, waiting };
}

async function largest(
  redis: Redis,
  all: { thread: ThreadId; lists: readonly string[]; records: number }[],
): Promise<ListSize[]> {
  const longest = all
    .filter(({ records }) => records > 0)
    .toSorted((a, b) => b.records - a.records)
    .slice(0, measured);
  const sizes = await Promise.all(
    longest.map(async ({ thread, lists, records }): Promise<ListSize> => {
      const bytes = await bytesOf(redis, lists);
      return { thread, records, ...(bytes !== undefined && { bytes }) };
    }),
  );
  return sizes.toSorted((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0)).slice(0, told);
}

/** Of all of them together. Undefined where the server has no such command, as the embedded one, or refuses it. */
async function bytesOf(redis: Redis, lists: readonly string[]): Promise<number | undefined> {
  try {
    // Redis looks at five parts of a list, so the time does not grow with it.
    const sizes = await Promise.all(lists.map((list) => redis.memory("USAGE", list, "SAMPLES", 5)));
    return sizes.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
  } catch {
    return undefined;
  }
}

async function readMemory(redis: Redis): Promise<StorageSizes["memory"]> {
  const info = await redis.info("memory").catch(() => "");
  const figure = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, "m").exec(info)?.[1] ?? 0);
  const [used, limit] = [figure("used_memory"), figure("maxmemory")];
  return used > 0 ? { used, ...(limit > 0 && { limit }) } : undefined;
}
