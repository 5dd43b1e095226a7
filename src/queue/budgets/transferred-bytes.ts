import type { Redis } from "ioredis";
import type { ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";

const keptSeconds = 172_800;

/**
 * Adds what a thread moves over the network on a day (YYYY-MM-DD), or gives it back where it is negative, for all
 * workers together. Resolves with the day's sum.
 */
export async function addTransferredBytes(
  redis: Redis,
  thread: ThreadId,
  day: string,
  bytes: number,
): Promise<number> {
  const key = keys.moved(thread, day);
  const [added] = (await redis.multi().incrby(key, bytes).expire(key, keptSeconds).exec()) ?? [];
  if (added?.[0] !== null) throw new Error(`${key} could not be raised: ${String(added?.[0])}`);
  return Number(added[1]);
}
