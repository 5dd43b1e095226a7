import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { keys } from "./keys.ts";

const beatMs = 5_000;
/** Three lost beats, s. Redis counts the time, so that clocks need not agree. */
const silentSeconds = 15;

/**
 * Says in Redis what a worker is and does, for processes that have no worker themselves. It is what the worker says
 * of itself at that time, and nothing depends on it. Closing it takes the worker off the list.
 *
 * @param describe what becomes JSON; small, and without secrets
 */
export async function startPresence(options: {
  redis: Redis;
  describe(): object;
  onError(error: unknown): void;
}): Promise<{ close(): Promise<void> }> {
  const { redis, describe, onError } = options;
  const id = randomUUID();
  const tell = async () => {
    await redis.set(keys.worker(id), JSON.stringify(describe()), "EX", silentSeconds);
    await redis.sadd(keys.workers, id);
  };
  await tell();
  const timer = setInterval(() => {
    // Commands that wait for a lost Redis would all be sent when it is back.
    if (redis.status === "ready") tell().catch(onError);
  }, beatMs);
  return {
    async close() {
      clearInterval(timer);
      await Promise.all([redis.srem(keys.workers, id), redis.del(keys.worker(id))]);
    },
  };
}

/** What the workers that were heard of in the last 15 s say of themselves. */
export async function readPresence(redis: Redis): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const id of await redis.smembers(keys.workers)) {
    const told = await redis.get(keys.worker(id));
    if (told === null) await redis.srem(keys.workers, id);
    else found.push(JSON.parse(told));
  }
  return found;
}
