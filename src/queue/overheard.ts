import type { Redis } from "ioredis";
import type { ThreadId } from "../adapters/adapter.ts";
import type { Quote } from "../agent/messages.ts";
import { keys } from "./keys.ts";
import { scriptJson, scripts } from "./scripts.ts";

/** What is remembered of people without permission between two accepted messages. */
const mostMessages = 20;
const mostChars = 4_000;
const seenSeconds = 86_400;
const keptSeconds = 30 * 86_400;

/** As `overhear.lua` stores it and `deliver.lua` reads it. */
interface Overheard {
  message: string;
  quote: Quote;
}

/**
 * Keeps what somebody without permission wrote in a thread with a session, once, as a quote that goes along with
 * the next accepted message. The oldest are dropped when there are many.
 */
export async function overhear(
  redis: Redis,
  thread: ThreadId,
  message: string,
  { author, text, at }: Quote,
): Promise<void> {
  if (text.trim() === "") return;
  const overheard: Overheard = { message, quote: { author, text: text.slice(0, mostChars), at } };
  await scripts.overhear.run(
    redis,
    [keys.head(thread), keys.seen(thread, message), keys.overheard(thread)],
    [scriptJson(overheard), mostMessages, seenSeconds, keptSeconds],
  );
}

/** Whoever has written it has deleted it: unless it has gone along already, nobody will read it. */
export async function forgetOverheard(redis: Redis, thread: ThreadId, message: string): Promise<void> {
  for (const entry of await redis.lrange(keys.overheard(thread), 0, -1)) {
    // Only `overhear` writes there.
    const { message: id } = JSON.parse(entry) as Overheard;
    if (id === message) await redis.lrem(keys.overheard(thread), 0, entry);
  }
}
