import type { Redis } from "ioredis";
import type { ThreadId } from "../../../chat/threads.ts";
import { failpoint } from "../../redis/failpoint.ts";
import { keys } from "../../redis/keys.ts";
import { loadScript } from "../../redis/script.ts";

const unlistScript = loadScript(new URL("../scripts/unlist.lua", import.meta.url));

/**
 * Lists the thread as having something to do, so that the sweeper finds it.
 *
 * @param wakeAt from when on, ms
 */
export async function enqueueForSweep(
  redis: Redis,
  thread: ThreadId,
  now: number,
  wakeAt = now,
): Promise<void> {
  // Not in one pipeline: in a cluster the two keys are in different slots.
  await failpoint("list", () =>
    Promise.all([redis.zadd(keys.waiting, wakeAt, thread), redis.zadd(keys.threads, now, thread)]),
  );
}

/** When the thread was last listed as having something to do. */
export function readListedAt(redis: Redis, thread: ThreadId): Promise<string | null> {
  return redis.zscore(keys.waiting, thread);
}

/**
 * Takes the thread off the list, unless it was listed anew since `listedSince` was read.
 *
 * @param wakeAt when it has something to do by itself, ms: it is listed for then
 */
export async function unlist(
  redis: Redis,
  thread: ThreadId,
  listedSince: string | null,
  wakeAt?: number,
): Promise<void> {
  if (listedSince === null && wakeAt === undefined) return;
  await unlistScript.run(redis, [keys.waiting], [thread, listedSince ?? "", wakeAt ?? ""]);
}
