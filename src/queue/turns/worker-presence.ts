import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { keys } from "../redis/keys.ts";

const beatMs = 5_000;
/** Three lost beats, s. Redis counts the time, so that clocks need not agree. */
const silentSeconds = 15;
/** A set that no worker has renewed for so long holds dead ones only, s. */
const setSeconds = 60;
/** How many members of the set a worker looks at with each beat. */
const mostLookedAt = 10;

interface Presence {
  close(): Promise<void>;
}

/** Who is present: workers, or all processes that serve. */
const lists = {
  workers: { set: keys.workers, one: keys.worker },
  processes: { set: keys.processes, one: keys.process },
};

type List = keyof typeof lists;

/** Says in Redis, for as long as the event loop turns, that this Heddle serves. */
export async function startHeartbeat(options: {
  redis: Redis;
  /** Which one, see app/process/instance.ts. */
  instance: string;
  onError(error: unknown): void;
}): Promise<Presence> {
  const { redis, instance } = options;
  const stop = await beat(options, () => redis.set(keys.alive(instance), "1", "EX", silentSeconds));
  return { close: async () => stop() };
}

/** Whether that Heddle has been heard of in the last 15 s. */
export async function isAlive(redis: Redis, instance: string): Promise<boolean> {
  return (await redis.exists(keys.alive(instance))) === 1;
}

/**
 * Says in Redis that a worker takes turns, or that a process serves, and what it is and does, for other processes. It
 * is what it says of itself at that time. Closing it takes it off the list.
 *
 * @param describe what becomes JSON; small, and without secrets
 */
export async function startPresence(options: {
  redis: Redis;
  describe(): object | Promise<object>;
  onError(error: unknown): void;
  list?: List;
}): Promise<Presence & { tell(): Promise<void> }> {
  const { redis, describe, list = "workers" } = options;
  const { set, one } = lists[list];
  const id = randomUUID();
  const tell = async () => {
    await redis.set(one(id), JSON.stringify(await describe()), "EX", silentSeconds);
    await redis.sadd(set, id);
    // With the last one goes the set.
    await redis.expire(set, setSeconds);
    // Those that died without a word, some at a time: where there are many, all of them look.
    const some = await redis.srandmember(set, mostLookedAt);
    await dropSilent(redis, list, some);
  };
  const stop = await beat(options, tell);
  return {
    tell,
    async close() {
      stop();
      await Promise.all([redis.srem(set, id), redis.del(one(id))]);
    },
  };
}

/** What those that were heard of in the last 15 s say of themselves, as JSON. */
export async function readPresence(
  redis: Redis,
  list: List = "workers",
): Promise<{ id: string; report: string }[]> {
  return await dropSilent(redis, list, await redis.smembers(lists[list].set));
}

/** Takes those off the list that were not heard of in the last 15 s, and returns the others. */
async function dropSilent(
  redis: Redis,
  list: List,
  ids: readonly string[],
): Promise<{ id: string; report: string }[]> {
  const { set, one } = lists[list];
  // All at once: of many workers behind a slow network each would take its time.
  const found = await Promise.all(
    ids.map(async (id) => {
      const report = await redis.get(one(id));
      if (report === null) await redis.srem(set, id);
      return report === null ? [] : [{ id, report }];
    }),
  );
  return found.flat();
}

/** Whether a worker serves anywhere. */
export async function hasWorker(redis: Redis): Promise<boolean> {
  return (await readPresence(redis)).length > 0;
}

/** Does it now and with every beat. */
async function beat(
  { redis, onError }: { redis: Redis; onError(error: unknown): void },
  tell: () => Promise<unknown>,
): Promise<() => void> {
  await tell();
  const timer = setInterval(() => {
    // Commands that wait for a lost Redis would all be sent when it is back.
    if (redis.status === "ready") tell().catch(onError);
  }, beatMs);
  return () => clearInterval(timer);
}
