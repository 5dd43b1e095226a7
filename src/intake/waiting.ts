import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import type { InboundEvent } from "../chat/inbound.ts";
import type { ChatSurface } from "../chat/surface.ts";
import { type ThreadId, threadId } from "../chat/threads.ts";
import { readMailbox } from "../queue/session/mailbox.ts";
import { readSessionStatus } from "../queue/session/sessions.ts";
import type { Replies } from "./replies.ts";

type MessageEvent = Extract<InboundEvent, { kind: "message" }>;

export interface WaitingOptions {
  redis: Redis;
  /** How many are worked on before the turn that the thread waits for, on behalf of that person. */
  ahead(thread: ThreadId, person: string): Promise<number>;
  surface(platform: string): ChatSurface;
}

/**
 * When it is looked whether a message waits, and where in the line: first so soon, because a worker that has nothing to
 * do takes it sooner; then each time after twice as long, ms.
 */
const firstLookMs = 600;
const longestLookMs = 60_000;

/**
 * Gives what shows that a message waits, and its place as the line moves on, until it is taken. Whoever takes it marks
 * it as taken.
 */
export function createWaiting(
  options: WaitingOptions,
  mark: Replies["mark"],
): (event: MessageEvent) => Promise<void> {
  const { redis } = options;

  /** Where the message stands; undefined when it waits no more. */
  const placeOf = async (thread: ThreadId, { ref, author }: MessageEvent): Promise<number | undefined> => {
    const inThread = (await readMailbox(redis, thread)).findIndex(({ id }) => id === ref.message);
    if (inThread < 0) return undefined;
    const isRunning = (await readSessionStatus(redis, thread)) === "running";
    return inThread + (isRunning ? 1 : await options.ahead(thread, author.id));
  };

  return async (event) => {
    const thread = threadId(event.thread);
    const { places = Number.POSITIVE_INFINITY } = options.surface(event.ref.platform).limits;
    let shown = Number.POSITIVE_INFINITY;
    for (let lookMs = firstLookMs; ; lookMs = Math.min(2 * lookMs, longestLookMs)) {
      await delay(lookMs, undefined, { ref: false });
      // Heddle was closed meanwhile.
      if (redis.status === "end") return;
      const place = await placeOf(thread, event);
      if (place === undefined) return;
      // People may be told of each change, so they are of none that is worse for a moment.
      if (Math.min(place, places) >= shown) continue;
      shown = Math.min(place, places);
      await mark(event.ref, "waiting", place);
    }
  };
}
