import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import { z } from "zod";
import { createStoredParser } from "../agent/text/parse-stored.ts";
import type { ThreadId } from "../chat/threads.ts";
import { daySeconds, keys } from "../queue/redis/keys.ts";
import { type Lock, takeLock } from "../queue/redis/lock.ts";
import { readStored } from "../queue/redis/unreadable.ts";

/** Where the events with a key go: their thread, or since when somebody opens it, ms. */
const storedSchema = z.looseObject({
  version: z.literal(1),
  since: z.int(),
  /** The message whose event it was opened for. */
  first: z.string(),
  thread: z.string().optional(),
});

type Stored = z.infer<typeof storedSchema>;

const parseThread = createStoredParser(storedSchema);

export interface KeyedThread {
  thread: ThreadId;
  /** Its opening message tells of this one. */
  first: string;
}

/** A thread that no event has come to for so long is no longer found by its key. */
const rememberedSeconds = 90 * daySeconds;
/** Longer than opening one may take, s. */
const openingSeconds = 30;
const lookMs = 100;

export interface ThreadsOfKeys {
  /**
   * Finds the thread or opens it, once over all processes.
   * @param open `since`: an earlier attempt at that time may have opened it, and died before it could say so
   * @throws the signal's reason, where another process takes too long
   */
  findOrOpen(
    of: { trigger: string; key: string; message: string },
    open: (first: string, since: number | undefined) => Promise<ThreadId>,
    signal: AbortSignal,
  ): Promise<KeyedThread>;
  /** The thread, where one is open. */
  find(trigger: string, key: string): Promise<KeyedThread | undefined>;
  /** The thread is gone: the next event opens another. */
  forget(trigger: string, key: string): Promise<void>;
}

export function createThreadsOfKeys(redis: Redis, now: () => number): ThreadsOfKeys {
  /** What this process is opening, by its key in Redis. */
  const opening = new Map<string, Promise<KeyedThread>>();

  /** What cannot be read is kept beside it, for the key's events go on in a new thread, which takes its place. */
  const read = async (trigger: string, key: string): Promise<Stored | undefined> => {
    const json = await redis.get(keys.hookThread(trigger, key));
    if (json === null) return undefined;
    const aside = keys.hookThreadUnreadable(trigger, key);
    const stored = readStored(redis, parseThread, json, `The thread of a webhook's key, kept as ${aside},`);
    if (!stored) await redis.set(aside, json, "EX", rememberedSeconds);
    return stored;
  };

  const find = async (trigger: string, key: string): Promise<KeyedThread | undefined> => {
    const stored = await read(trigger, key);
    return stored?.thread === undefined ? undefined : { thread: stored.thread, first: stored.first };
  };

  const findOrOpenOnce: ThreadsOfKeys["findOrOpen"] = async ({ trigger, key, message }, open, signal) => {
    const name = keys.hookThread(trigger, key);
    let lock: Lock | undefined;
    while (!lock) {
      const found = await find(trigger, key);
      if (found) {
        await redis.expire(name, rememberedSeconds);
        return found;
      }
      lock = await takeLock(redis, keys.hookOpening(trigger, key), openingSeconds);
      if (!lock) await delay(lookMs, undefined, { signal });
    }
    try {
      const fresh = { version: 1, since: now(), first: message } as const;
      const isFirst = await redis.set(name, JSON.stringify(fresh), "EX", rememberedSeconds, "NX");
      const stored: Stored = isFirst ? fresh : ((await read(trigger, key)) ?? fresh);
      // Somebody else had it before the lock was ours.
      if (stored.thread !== undefined) return { thread: stored.thread, first: stored.first };
      const thread = await open(stored.first, isFirst ? undefined : stored.since);
      await redis.set(name, JSON.stringify({ ...stored, thread }), "EX", rememberedSeconds);
      return { thread, first: stored.first };
    } finally {
      await lock.release();
    }
  };

  return {
    find,
    findOrOpen(of, open, signal) {
      const name = keys.hookThread(of.trigger, of.key);
      const running = opening.get(name);
      if (running) return running;
      const started = findOrOpenOnce(of, open, signal).finally(() => opening.delete(name));
      opening.set(name, started);
      return started;
    },
    async forget(trigger, key) {
      await redis.del(keys.hookThread(trigger, key));
    },
  };
}
