import type { Redis } from "ioredis";
import type { MessageMark, OutboundMessage } from "../../chat/outbound.ts";
import type { ChatSurface } from "../../chat/surface.ts";
import type { MessageRef } from "../../chat/threads.ts";
import type { RateLimiter } from "./rate-limit.ts";

/** For how long the last state of a progress message is known, seconds: no process freezes for longer and then goes on. */
export const settledSeconds = 3_600;

/**
 * What the thread must show in the end, whatever happens to the worker. It is stored together with the record
 * that it tells of, and removed when the platform has taken it.
 */
export type OutboxEntry =
  /**
   * `begun`: ms since the epoch of the first attempt; with it the message may already be there. `question`: its id;
   * where it was posted is noted, so that it can be edited. `heldSince`: ms since the epoch; the bot is not in the
   * channel, and may be invited again, the thread is locked, or the platform fails or is away. `inPlace`: the turn's progress
   * message, where there is one, becomes it.
   */
  | {
      do: "post";
      message: OutboundMessage;
      begun?: number;
      attempts: number;
      question?: string;
      heldSince?: number;
      inPlace?: true;
    }
  /** Edits the message that the head's field refers to, if there is one. */
  | { do: "edit"; field: "progress" | `asked:${string}`; message: OutboundMessage }
  /**
   * Brings the turn's progress message to its last state, or removes it. `since`: when the turn began, ms. `aside`: the
   * platform has not taken it in time, since then, ms since the epoch; the head refers to that message no more.
   */
  | {
      do: "settle";
      message: OutboundMessage | null;
      since: number;
      aside?: { since: number; ref?: MessageRef };
    }
  /** `paused`: see `MarkOptions`. */
  | { do: "mark"; ref: MessageRef; mark: MessageMark; paused?: true };

export interface OutboxOptions {
  redis: Redis;
  surface: ChatSurface;
  output: RateLimiter;
  /** Ends the waiting for a rate limit; what is left is done by the next flush. */
  signal: AbortSignal;
  /** How long a post waits for a platform that cannot be reached, or wants to be asked later, ms. Default: ten minutes. */
  patienceMs?: number;
  /** Resolves when nobody else writes to the progress message, with whether there may be one that the head does not know. */
  progressQuiet: Promise<boolean>;
  /** ms since the epoch. */
  now(): number;
  onProblem(problem: string, error: unknown): void;
}
