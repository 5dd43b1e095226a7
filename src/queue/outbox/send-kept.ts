import type { Redis } from "ioredis";
import type { ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import type { TurnQueue } from "../turns/wake-queue.ts";

/** Has what is kept for a thread sent now, instead of at its next retry; nothing where nothing is kept. */
export async function sendKept(
  redis: Redis,
  queue: Pick<TurnQueue, "wake">,
  thread: ThreadId,
): Promise<void> {
  if (await redis.exists(keys.outbox(thread))) await queue.wake(thread);
}
