import type { Redis } from "ioredis";
import type { Quote } from "../../../agent/messages.ts";
import type { ThreadId } from "../../../chat/threads.ts";
import { daySeconds, keys } from "../../redis/keys.ts";
import { loadScript, scriptJson } from "../../redis/script.ts";

const storeUnauthorizedScript = loadScript(new URL("../scripts/store-unauthorized.lua", import.meta.url));

/** What is remembered of people without permission until a turn takes messages. */
const mostMessages = 20;
const mostChars = 4_000;
const seenSeconds = daySeconds;
const keptSeconds = 30 * daySeconds;

/** As `store-unauthorized.lua` stores it and `take.lua` reads it. */
interface Overheard {
  message: string;
  quote: Quote;
}

/**
 * Keeps what somebody without permission wrote in a thread with a session, once, as a quote that goes along with
 * the messages that are taken next. The oldest are dropped when there are many.
 */
export async function storeUnauthorized(
  redis: Redis,
  thread: ThreadId,
  message: string,
  quote: Quote,
): Promise<void> {
  if (quote.text.trim() !== "") await keep(redis, thread, { message, quote }, "0");
}

/** Whoever has written it has changed it, or deleted it without a text: until a turn takes it, that counts. */
export function storeUnauthorizedEdit(
  redis: Redis,
  thread: ThreadId,
  message: string,
  quote: Quote,
): Promise<void> {
  return keep(redis, thread, { message, quote }, "1");
}

async function keep(
  redis: Redis,
  thread: ThreadId,
  { message, quote: { author, text, at } }: Overheard,
  onlyKnown: "0" | "1",
): Promise<void> {
  const overheard: Overheard = { message, quote: { author, text: text.slice(0, mostChars), at } };
  await storeUnauthorizedScript.run(
    redis,
    [keys.head(thread), keys.seen(thread, message), keys.unauthorized(thread)],
    [
      ...[message, text.trim() === "" ? "" : scriptJson(overheard), onlyKnown],
      ...[mostMessages, seenSeconds, keptSeconds],
    ],
  );
}
