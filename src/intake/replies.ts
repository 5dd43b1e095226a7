import type { Redis } from "ioredis";
import type { InboundAction, InboundMessage, IntakeResult } from "../chat/inbound.ts";
import type { ActionButton, MessageMark } from "../chat/outbound.ts";
import type { ChatSurface } from "../chat/surface.ts";
import type { MessageRef, ThreadRef } from "../chat/threads.ts";
import { markMessage } from "../queue/outbox/message-marks.ts";
import { postNotice } from "../queue/outbox/notices.ts";
import type { RateLimiter } from "../queue/outbox/rate-limit.ts";
import { failpoint } from "../queue/redis/failpoint.ts";
import { daySeconds, keys } from "../queue/redis/keys.ts";

/** A person without permission is told so at most this often in each channel. */
const unauthorizedSeconds = 600;
/** Of their further mentions in that time so many are marked. */
const mostRefusalMarks = 10;
/** A person is told alone of a refusal in a thread at most this often. */
const privateSeconds = 600;
/** After that a private notice is of no use, ms. */
const privateMs = 60_000;
/** A mark that takes longer is left to the worker. */
const markMs = 30_000;

export interface ReplyOptions {
  redis: Redis;
  output: RateLimiter;
  /** The surface of a platform, for marks and short replies. */
  surface(platform: string): ChatSurface;
  onProblem(problem: string, error: unknown): void;
}

/** What intake itself says, without a turn. */
export interface Replies {
  /**
   * Replies to a message, or to the person who pressed a button, once: a platform may deliver the event more than once.
   * False when the reply was posted before.
   */
  reply(event: InboundMessage | InboundAction, markdown: string, actions?: ActionButton[]): Promise<boolean>;
  /** Says in the message of a button that it has done its work, in place of what offered it. */
  settle(event: InboundAction, markdown: string): void;
  /** Tells a person why nothing is started. */
  refuse(event: InboundMessage, markdown: string): Promise<IntakeResult>;
  /** Says so rarely: repeated calls must not use up the channel's rate limit, which answers and receipts need. */
  refuseUnauthorized(event: InboundMessage, markdown: string): Promise<IntakeResult>;
  /** Tells that person alone why nothing is done in the thread, once in ten minutes, where the platform can. */
  tellPrivately(thread: ThreadRef, person: string, text: string): Promise<void>;
  /** Resolves when the message is marked, or when that has failed: nothing depends on a mark. */
  mark(ref: MessageRef, state: MessageMark, place?: number): Promise<void>;
}

export function createReplies(options: ReplyOptions): Replies {
  const { redis } = options;

  const post = (thread: ThreadRef, message: string, markdown: string, actions?: ActionButton[]) => {
    const surface = options.surface(thread.platform);
    postNotice(thread, { key: `reply:${message}`, markdown, actions }, { ...options, surface });
  };

  const reply: Replies["reply"] = async (event, markdown, actions) => {
    const message =
      event.kind === "action" ? `${event.ref.message}~${event.action}~${event.author.id}` : event.ref.message;
    const isFirst = await redis.set(keys.replied({ ...event.ref, message }), "1", "EX", daySeconds, "NX");
    if (isFirst) post(event.thread, message, markdown, actions);
    return isFirst !== null;
  };

  /** No thread is begun for a refusal. */
  const replyOrPost = ({ thread, ref }: InboundMessage, markdown: string) => {
    const surface = options.surface(thread.platform);
    if (!surface.replyTo) return post(thread, ref.message, markdown);
    options.output
      .write(surface, ref, "question", AbortSignal.timeout(privateMs), async () =>
        surface.replyTo?.(ref, markdown, `reply:${ref.message}`),
      )
      .catch((error: unknown) => options.onProblem("A refusal could not be told.", error));
  };

  /** Who was told why a moment ago sees at least that it was read: by a mark, which has a budget of its own. */
  const showRefused = async ({ author, ref }: InboundMessage) => {
    const key = keys.replied({ ...ref, message: `refusals~${author.id}` });
    // In one go: a count without an end would never mark anything again.
    const [, counted] =
      (await redis.multi().set(key, 0, "EX", unauthorizedSeconds, "NX").incr(key).exec()) ?? [];
    if (Number(counted?.[1]) <= mostRefusalMarks) void mark(ref, "failed");
  };

  const mark: Replies["mark"] = async (ref, state, place) => {
    const chat = { redis, output: options.output, surface: options.surface(ref.platform) };
    try {
      await markMessage(chat, ref, state, AbortSignal.timeout(markMs), { place });
    } catch (error) {
      options.onProblem("A message could not be marked.", error);
    }
  };

  return {
    reply,
    mark,

    settle({ ref }, markdown) {
      const surface = options.surface(ref.platform);
      const edit = () => failpoint("reply", () => surface.edit(ref, { kind: "notice", markdown }));
      options.output
        .write(surface, ref, "question", AbortSignal.timeout(privateMs), edit, "edits")
        .catch((error: unknown) => options.onProblem("A pressed button could not be taken away.", error));
    },

    async refuse(event, markdown) {
      // Another bot may answer every reply, and refused messages do not count against its limit.
      if (event.author.standing !== "bot" && !event.tellsRefusal) await reply(event, markdown);
      return { kind: "refused", reply: markdown };
    },

    async refuseUnauthorized(event, markdown) {
      const key = keys.replied({ ...event.ref, message: `stranger~${event.author.id}` });
      const { message } = event.ref;
      const isFirst = await redis.set(key, message, "EX", unauthorizedSeconds, "NX");
      if (isFirst) replyOrPost(event, markdown);
      // The same mention may be told twice.
      else if (event.addressed !== "follow-up" && (await redis.get(key)) !== message)
        await showRefused(event);
      return { kind: "refused", reply: markdown };
    },

    async tellPrivately(thread, person, text) {
      const { platform, workspace, channel } = thread;
      const surface = options.surface(platform);
      if (!surface.tellPrivately) return;
      const key = keys.replied({
        platform,
        workspace,
        channel,
        message: `private~${thread.thread}~${person}`,
      });
      if ((await redis.set(key, "1", "EX", privateSeconds, "NX")) === null) return;
      options.output
        .write(surface, thread, "question", AbortSignal.timeout(privateMs), async () =>
          surface.tellPrivately?.(thread, person, text),
        )
        .catch((error: unknown) => options.onProblem("A person could not be told of a refusal.", error));
    },
  };
}
