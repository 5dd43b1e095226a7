import type { Redis } from "ioredis";
import type { ChannelWatch } from "../../chat/channel-watch.ts";
import type { InboundMessage, IntakeResult } from "../../chat/inbound.ts";
import { isOutOfMemory } from "../../queue/redis/out-of-memory.ts";
import { deliver } from "../../queue/session/mailbox/mailbox.ts";
import { rememberMessages } from "../../queue/session/mailbox/message-threads.ts";
import type { Access } from "../access.ts";
import { toUserMessage } from "./user-message.ts";

export interface WatchedOptions {
  redis: Redis;
  access: Pick<Access, "botLimit">;
  watch?: ChannelWatch;
  now(): number;
  onProblem(problem: string, error: unknown): void;
}

/**
 * Puts a message that addresses nobody of ours into the thread that its channel's watch names, so that a turn begins
 * which may say nothing. Whoever wrote it is told of nothing, whatever becomes of it. The author has permission.
 */
export async function receiveWatched(options: WatchedOptions, event: InboundMessage): Promise<IntakeResult> {
  try {
    return await takeHeard(options, event);
  } catch (error) {
    if (!isOutOfMemory(error)) throw error;
    // People who have asked for something are told. Here nobody has.
    options.onProblem("What was said in a watched channel could not be stored: Redis is full.", error);
    return { kind: "ignored", why: "no memory is left to store it" };
  }
}

async function takeHeard(
  { redis, access, watch, now }: WatchedOptions,
  event: InboundMessage,
): Promise<IntakeResult> {
  const heard = await watch?.judge(event);
  if (heard?.kind !== "taken") return heard ?? notWatched;
  const { thread, trigger, wake } = heard;
  const message = { ...toUserMessage({ ...event, addressed: "none" }), unaddressed: true as const, trigger };
  const delivery = await deliver(redis, thread, message, {
    ...{ onlyIfSession: false, wake, now: now() },
    ...(event.author.standing === "bot" && { botLimit: access.botLimit }),
  });
  switch (delivery.kind) {
    case "full":
    case "no-session":
      return { kind: "ignored", why: "too much waits in its thread" };
    case "bots-only":
      return { kind: "ignored", why: "bots have written all that they may until a person writes" };
    case "duplicate":
    case "accepted":
      await rememberMessages(redis, thread, [event.ref]);
      watch?.wakeLater(thread, wake.at);
      return delivery.kind === "duplicate" ? delivery : { ...delivery, thread };
  }
}

const notWatched = { kind: "ignored", why: "nobody watches that channel" } as const;
