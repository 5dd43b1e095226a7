import type { Redis } from "ioredis";
import type { InboundEvent, IntakeResult } from "../chat/inbound.ts";
import type { MessageMark } from "../chat/outbound.ts";
import type { ChatSurface } from "../chat/surface.ts";
import type { MessageRef, ThreadRef } from "../chat/threads.ts";
import { markMessage } from "../queue/outbox/marks.ts";
import { postNotice } from "../queue/outbox/notices.ts";
import type { RateLimiter } from "../queue/outbox/rate-limit.ts";
import { keys } from "../queue/redis/keys.ts";

/** How often a channel's people without permission are told so, each of them. */
const strangerSeconds = 600;
/** A mark that has not been set by then is left to the worker. */
const markMs = 30_000;

type MessageEvent = Extract<InboundEvent, { kind: "message" }>;
type ActionEvent = Extract<InboundEvent, { kind: "action" }>;

export interface ReplyOptions {
  redis: Redis;
  output: RateLimiter;
  /** The surface of a platform, for marks and short replies. */
  surface(platform: string): ChatSurface;
  onProblem(problem: string, error: unknown): void;
}

/** What intake says itself, without a turn. */
export interface Replies {
  /**
   * Says something about a message, or to whoever pressed its button, once: a platform may tell of it more than once.
   * False when it was said before.
   */
  reply(event: MessageEvent | ActionEvent, markdown: string): Promise<boolean>;
  /** Tells a person why; nothing is started. */
  refuse(event: MessageEvent, markdown: string): Promise<IntakeResult>;
  /** Whoever calls again and again must not use up what the channel takes of answers and receipts. */
  refuseStranger(event: MessageEvent, markdown: string): Promise<IntakeResult>;
  /** Resolves when the message is marked, or when that has failed: nothing depends on a mark. */
  mark(ref: MessageRef, state: MessageMark, place?: number): Promise<void>;
}

export function createReplies(options: ReplyOptions): Replies {
  const { redis } = options;

  const say = (thread: ThreadRef, message: string, markdown: string) => {
    const surface = options.surface(thread.platform);
    postNotice(thread, { key: `reply:${message}`, markdown }, { ...options, surface });
  };

  const reply: Replies["reply"] = async (event, markdown) => {
    const message =
      event.kind === "action" ? `${event.ref.message}~${event.action}~${event.author.id}` : event.ref.message;
    const isFirst = await redis.set(keys.replied({ ...event.ref, message }), "1", "EX", 86_400, "NX");
    if (isFirst) say(event.thread, message, markdown);
    return isFirst !== null;
  };

  return {
    reply,

    async refuse(event, markdown) {
      // A bot may answer whatever is said to it, and what is refused is not counted against its limit.
      if (event.author.standing !== "bot") await reply(event, markdown);
      return { kind: "refused", reply: markdown };
    },

    async refuseStranger(event, markdown) {
      const told = keys.replied({ ...event.ref, message: `stranger~${event.author.id}` });
      const isFirst = await redis.set(told, "1", "EX", strangerSeconds, "NX");
      if (isFirst) say(event.thread, event.ref.message, markdown);
      return { kind: "refused", reply: markdown };
    },

    async mark(ref, state, place) {
      const chat = { redis, output: options.output, surface: options.surface(ref.platform) };
      try {
        await markMessage(chat, ref, state, AbortSignal.timeout(markMs), { place });
      } catch (error) {
        options.onProblem("A message could not be marked.", error);
      }
    },
  };
}
