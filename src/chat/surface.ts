import type { AttachmentHandle } from "../agent/messages.ts";
import type { Author, ContextMessage } from "./inbound.ts";
import type { MarkOptions, MessageMark, OutboundMessage } from "./outbound.ts";
import type { MessageRef, ThreadRef } from "./threads.ts";

/** So many writes at once, and then one every so many milliseconds. */
interface WriteBudget {
  burst: number;
  intervalMs: number;
}

export interface SurfaceLimits {
  /** What one channel takes, of all processes together. Absent where there is no limit. */
  budget?: { messages: WriteBudget; marks: WriteBudget };
  /** The least time between two edits of one message, in milliseconds. */
  editIntervalMs: number;
  /** A message older than this, in milliseconds, is better replaced by a new one than edited. Absent: never. */
  editableMs?: number;
  /** So many places of messages that wait can be told apart, the last one standing for all later ones. Absent: all. */
  places?: number;
  /** How soon a status may change, and how soon an unchanged one fades and is shown again, in milliseconds. */
  status?: { changeMs: number; fadesMs: number };
  /** Characters of one message; longer answers are split by the surface. */
  messageChars: number;
}

/** A way to write into threads of one platform. Methods throw {@link SurfaceError}. */
export interface ChatSurface {
  readonly platform: string;
  readonly limits: SurfaceLimits;
  /** For how long posting again with the same key makes no second message, in milliseconds; 0 where keys mean nothing. */
  readonly idempotentMs: number;
  /** The place that shares a budget of writes, where that is not the channel. */
  budgetPlace?(of: ThreadRef | MessageRef): string;
  /**
   * Posts a message, split if it is too long; returns the ref of every part, the first one first.
   * `key` is the same for every attempt to post the same thing: platforms with idempotency use it.
   * @param posted the parts that an earlier attempt has made; the post goes on behind them
   */
  post(
    thread: ThreadRef,
    message: OutboundMessage,
    key: string,
    posted?: readonly MessageRef[],
  ): Promise<MessageRef[]>;
  /**
   * The parts of what was posted with that key since `since` (ms), the first one first. For platforms that are
   * not idempotent and can tell; not finding it proves nothing.
   */
  find?(thread: ThreadRef, key: string, since: number): Promise<MessageRef[]>;
  /** Replaces the content of a message that `post` made; what does not fit is cut, never split. */
  edit(ref: MessageRef, message: OutboundMessage): Promise<void>;
  remove(ref: MessageRef): Promise<void>;
  /** Asks the platform which thread a message is in; undefined when there is no such message. */
  threadOf(ref: MessageRef): Promise<ThreadRef | undefined>;
  /** Shows the state of somebody's message, replacing the earlier mark. */
  mark(ref: MessageRef, mark: MessageMark, options?: MarkOptions): Promise<void>;
  /**
   * Shows beside the thread what the bot does ("is thinking…") or that it does something, or takes it away. Rejects
   * where that is not possible at all.
   * @param waits it does nothing because people are to decide something
   */
  status?(thread: ThreadRef, text: string | undefined, waits?: boolean): Promise<void>;
  upload(thread: ThreadRef, file: { name: string; data: Uint8Array }, key: string): Promise<MessageRef[]>;
  /** What the event did not tell of a file, where the platform keeps it back; else the same. */
  details?(file: AttachmentHandle, signal: AbortSignal): Promise<AttachmentHandle>;
  /** The content of a file that came with a message. */
  download?(file: AttachmentHandle, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** What people wrote in the thread before that message, oldest first, at most `limit`. */
  earlier?(thread: ThreadRef, before: MessageRef, limit: number): Promise<ContextMessage[]>;
  /** What people call the channel; undefined where it has no name. */
  channelName?(thread: ThreadRef): Promise<string | undefined>;
  /** Who that is there at this moment, for what was asked for earlier. Absent where all are the operator. */
  person?(thread: ThreadRef, id: string): Promise<Author | undefined>;
}

/** `gone`: deleted or archived. `uncertain`: it may or may not have been done (lost response). */
export type SurfaceErrorKind = "rate-limited" | "gone" | "forbidden" | "uncertain" | "rejected";

export class SurfaceError extends Error {
  override readonly name = "SurfaceError";
  readonly kind: SurfaceErrorKind;
  /** For `rate-limited`: how long to wait, in milliseconds. */
  readonly retryAfterMs: number;
  /** Whether a part of a long message was posted before. */
  readonly partly: boolean;

  constructor(
    kind: SurfaceErrorKind,
    message: string,
    options: { retryAfterMs?: number; partly?: boolean; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs ?? 0;
    this.partly = options.partly ?? false;
  }
}

/** Waits for a write; false where the platform takes no such thing and it is better shown in another way. */
export async function wasAccepted(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (error instanceof SurfaceError && (error.kind === "forbidden" || error.kind === "rejected"))
      return false;
    throw error;
  }
}
