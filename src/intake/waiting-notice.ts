import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import type { InboundMessage } from "../chat/inbound.ts";
import type { ChatSurface } from "../chat/surface.ts";
import { type ThreadId, threadId } from "../chat/threads.ts";
import { readMailboxEnds } from "../queue/session/mailbox/mailbox.ts";
import { readSessionStatus } from "../queue/session/lists/sessions.ts";
import type { Replies } from "./replies.ts";

export interface WaitingOptions {
  redis: Redis;
  /** How many turns are ahead of the one that the thread waits for, on behalf of that person. */
  ahead(thread: ThreadId, person: string): Promise<number>;
  surface(platform: string): ChatSurface;
}

/**
 * The interval of checks whether a message still waits, and where in the queue, ms. An idle worker takes a message
 * before the first check; each further interval is twice as long, up to the longest.
 */
const firstCheckMs = 600;
const longestCheckMs = 60_000;

/**
 * Creates what shows that a message waits, and its place as the queue moves on, until a turn takes it. The worker that
 * takes it marks it as taken.
 */
export function createWaiting(
  options: WaitingOptions,
  mark: Replies["mark"],
): (event: InboundMessage) => Promise<void> {
  const { redis } = options;

  /** The place of the message in the queue; undefined when it no longer waits. */
  const findPlace = async (
    thread: ThreadId,
    { ref, author }: InboundMessage,
  ): Promise<number | undefined> => {
    const { messages, first, hidden } = await readMailboxEnds(redis, thread);
    const found = messages.findIndex(({ id }) => id === ref.message);
    if (found < 0 && hidden === 0) return undefined;
    // Where it is not seen, as many wait before it as were looked at.
    const inThread = found < 0 ? first : found < first ? found : found + hidden;
    const isRunning = (await readSessionStatus(redis, thread)) === "running";
    return inThread + (isRunning ? 1 : await options.ahead(thread, author.id));
  };

  return async (event) => {
    const thread = threadId(event.thread);
    const { places = Number.POSITIVE_INFINITY } = options.surface(event.ref.platform).limits;
    let shownPlace = Number.POSITIVE_INFINITY;
    for (let checkMs = firstCheckMs; ; checkMs = Math.min(2 * checkMs, longestCheckMs)) {
      await delay(checkMs, undefined, { ref: false });
      // Heddle was closed in the meantime.
      if (redis.status === "end") return;
      const place = await findPlace(thread, event);
      if (place === undefined) return;
      // Platforms may notify people of each change, so a place that gets worse for a moment is not shown.
      if (Math.min(place, places) >= shownPlace) continue;
      shownPlace = Math.min(place, places);
      await mark(event.ref, "waiting", place);
    }
  };
}
