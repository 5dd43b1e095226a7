import type { Redis } from "ioredis";

/** The time by the one clock that all processes share, ms. */
export async function readRedisTime(redis: Redis): Promise<number> {
  const [seconds = 0, microseconds = 0] = (await redis.time()).map(Number);
  return seconds * 1_000 + Math.floor(microseconds / 1_000);
}
