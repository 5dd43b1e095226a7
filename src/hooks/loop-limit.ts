import type { Redis } from "ioredis";
import { z } from "zod";
import { keys } from "../queue/redis/keys.ts";
import { loadScript } from "../queue/redis/script.ts";

const windowScript = loadScript(new URL("scripts/take-from-window.lua", import.meta.url));
/** See its header. */
const windowReply = z.literal([0, 1]);

/**
 * What keeps a trigger from feeding on its own work: where the turn that an event begins causes the next event, only so
 * many are taken within a window.
 */
interface LoopLimit {
  events: number;
  minutes: number;
}

/** `first`: nobody was told in this window yet. */
type WindowResult = { isBeyond: false } | { isBeyond: true; first: boolean };

/**
 * Counts a message among those of the last minutes that went to the same thread, once, however often it is delivered.
 * @param of.key whose events are counted together: those of a thread, or all of the trigger
 */
export async function takeFromWindow(
  redis: Redis,
  of: { trigger: string; key: string; message: string; limit: LoopLimit; now: number },
): Promise<WindowResult> {
  const windowMs = of.limit.minutes * 60_000;
  const args = [of.message, of.now, windowMs, of.limit.events];
  const reply = await windowScript.run(redis, [keys.hookRecent(of.trigger, of.key)], args);
  if (windowReply.parse(reply) === 1) return { isBeyond: false };
  const first = await redis.set(keys.hookLooping(of.trigger, of.key), "1", "PX", windowMs, "NX");
  return { isBeyond: true, first: first !== null };
}
