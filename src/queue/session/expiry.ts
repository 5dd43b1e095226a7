import type { Redis } from "ioredis";
import type { ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import { loadScript } from "../redis/script.ts";

const touchScript = loadScript(new URL("scripts/touch.lua", import.meta.url));

/** What expires with a session besides its head, log and outbox. */
export function expiringKeys(thread: ThreadId): string[] {
  return [
    keys.notes("thread", thread),
    keys.schedules(thread),
    keys.asked(thread),
    keys.jobs(thread),
    keys.unauthorized(thread),
  ];
}

/**
 * Lets everything of a session expire after `seconds` of silence. To be called at the end of each turn. A claim does so
 * too: what had nearly expired must not while it is worked on.
 */
export async function touchSession(redis: Redis, thread: ThreadId, seconds: number): Promise<void> {
  await touchScript.run(
    redis,
    [
      ...[keys.head(thread), keys.log(thread), keys.outbox(thread), keys.snapshot(thread)],
      ...expiringKeys(thread),
    ],
    [seconds],
  );
  // Those whose keys are gone leave the list. Twice, because work that took long has expired later than its message.
  await redis.zremrangebyscore(keys.threads, "-inf", Date.now() - 2_000 * seconds);
}
