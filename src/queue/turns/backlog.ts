import type { Redis } from "ioredis";
import { keys } from "../redis/keys.ts";
import { readMessage } from "../session/stored.ts";

/** What waits and what runs, of all processes together. */
export interface Backlog {
  /** Messages that no turn has taken. */
  messages: number;
  /** Age of the oldest of them by its platform's clock, ms; 0 when there is none. */
  oldestMs: number;
  /** What threads must still show. */
  outbox: number;
  /** Turns that hold a slot. */
  running: number;
}

/** More threads with something to do are not looked at: the figures then are the least that it is. */
const mostThreads = 2_000;

/** How many entries of a mailbox are looked at for the oldest: people may have moved newer messages before it. */
const lookedAt = 10;

/** @param now milliseconds since the epoch */
export async function readBacklog(redis: Redis, now: number): Promise<Backlog> {
  const [threads, running] = await Promise.all([
    redis.zrange(keys.waiting, "0", String(mostThreads - 1)),
    redis.zcount(keys.slots("all"), now, "+inf"),
  ]);
  const each = await Promise.all(
    threads.map(async (thread) => {
      const [messages, first, outbox] = await Promise.all([
        redis.llen(keys.mail(thread)),
        redis.lrange(keys.mail(thread), 0, lookedAt - 1),
        redis.hlen(keys.outbox(thread)),
      ]);
      const ages = first.map((entry) => now - (readMessage(redis, thread, entry)?.at ?? now));
      return { messages, outbox, ageMs: Math.max(0, ...ages) };
    }),
  );
  return each.reduce<Backlog>(
    (sum, { messages, outbox, ageMs }) => ({
      messages: sum.messages + messages,
      oldestMs: Math.max(sum.oldestMs, ageMs),
      outbox: sum.outbox + outbox,
      running,
    }),
    { messages: 0, oldestMs: 0, outbox: 0, running },
  );
}
