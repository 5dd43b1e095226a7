import type { Redis } from "ioredis";
import type { WakeTime } from "../../../chat/channel-watch.ts";
import type { ThreadId } from "../../../chat/threads.ts";
import { failpoint } from "../../redis/failpoint.ts";
import { keys } from "../../redis/keys.ts";
import { loadScript } from "../../redis/script.ts";

const unlistScript = loadScript(new URL("../scripts/unlist.lua", import.meta.url));

/**
 * Lists the thread as having something to do, so that the sweeper finds it.
 *
 * @param wake when it may be woken. Default: at once
 */
export async function enqueueForSweep(
  redis: Redis,
  thread: ThreadId,
  now: number,
  wake?: WakeTime,
): Promise<void> {
  // Not in one pipeline: in a cluster the two keys are in different slots.
  await failpoint("list", () =>
    Promise.all([
      wake ? enqueueForLater(redis, thread, now, wake) : redis.zadd(keys.waiting, now, thread),
      redis.zadd(keys.threads, now, thread),
    ]),
  );
}

async function enqueueForLater(
  redis: Redis,
  thread: ThreadId,
  now: number,
  { at, insteadOf }: WakeTime,
): Promise<void> {
  const isListed = await runUnlist(redis, thread, insteadOf ?? "", at);
  // For something else, before that time. Whoever is about to take it off the list must see that there is more.
  if (isListed) await redis.zadd(keys.waiting, now, thread);
}

/** When the thread was last listed as having something to do. */
export function readListedAt(redis: Redis, thread: ThreadId): Promise<string | null> {
  return redis.zscore(keys.waiting, thread);
}

/**
 * Takes the thread off the list, unless it was listed anew since `listedSince` was read.
 *
 * @param wakeAt when it has something to do by itself, ms: it is listed for then, or for before if it was listed anew
 */
export async function unlist(
  redis: Redis,
  thread: ThreadId,
  listedSince: string | null,
  wakeAt?: number,
): Promise<void> {
  if (listedSince === null && wakeAt === undefined) return;
  await runUnlist(redis, thread, listedSince ?? "", wakeAt ?? "");
}

/** See the header of unlist.lua. */
async function runUnlist(
  redis: Redis,
  thread: ThreadId,
  score: string | number,
  wakeAt: number | "",
): Promise<boolean> {
  return (await unlistScript.run(redis, [keys.waiting], [thread, score, wakeAt])) === 1;
}
