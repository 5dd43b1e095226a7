import type { Redis } from "ioredis";
import { keys } from "./keys.ts";

const beatMs = 5_000;

/** Three lost beats, s. Redis counts the time, so that clocks need not agree. */
const silentSeconds = 15;

/**
 * Says in Redis, for as long as the event loop turns, that the Heddle of this host serves.
 *
 * @param options.worker whether it takes turns
 */
export async function startHeartbeat(options: {
  redis: Redis;
  host: string;
  worker: boolean;
  onError(error: unknown): void;
}): Promise<{ close(): Promise<void> }> {
  const { redis, host, worker, onError } = options;
  const beat = async () => {
    const present = worker ? [keys.alive(host), keys.workerAlive] : [keys.alive(host)];
    await Promise.all(present.map((key) => redis.set(key, "1", "EX", silentSeconds)));
  };
  await beat();
  const timer = setInterval(() => {
    // Commands that wait for a lost Redis would all be sent when it is back.
    if (redis.status === "ready") beat().catch(onError);
  }, beatMs);
  return {
    async close() {
      clearInterval(timer);
    },
  };
}

/** Whether the Heddle of that host has been heard of in the last 15 s. */
export async function isAlive(redis: Redis, host: string): Promise<boolean> {
  return (await redis.exists(keys.alive(host))) === 1;
}

/** Whether any worker has been heard of in the last 15 s. */
export async function hasWorker(redis: Redis): Promise<boolean> {
  return (await redis.exists(keys.workerAlive)) === 1;
}
