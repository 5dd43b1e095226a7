import { setTimeout as delay } from "node:timers/promises";
import type { AttachmentHandle } from "../agent/messages.ts";
import type { Author, ContextMessage } from "./inbound.ts";
import type { MarkOptions, MessageMark, OutboundMessage } from "./outbound.ts";
import type { ChannelRef, MessageRef, ThreadRef } from "./threads.ts";

/** Kinds of writes that a platform limits apart from each other; `appends` go to a message that grows. */
export type WriteLane = "messages" | "edits" | "marks" | "appends";

/** A rate limit: `burst` writes at once, and then one every `intervalMs` milliseconds. */
interface WriteBudget {
  burst: number;
  intervalMs: number;
  /** How much of the burst progress leaves to what people wait for. */
  reserve?: number;
}

export interface SurfaceLimits {
  /** What one place takes from all processes together; see `ChatSurface.budgetPlace`. Absent where there is no limit. */
  budget?: Record<Exclude<WriteLane, "appends">, WriteBudget> & { appends?: WriteBudget };
  /** The shortest interval between two edits of one message, in milliseconds. */
  editIntervalMs: number;
  /**
   * How long a turn works before it shows its progress, and then before each further edit of it, in milliseconds; the
   * last one holds for all later ones. Absent: `editIntervalMs` for each.
   */
  progressMs?: readonly [number, ...number[]];
  /** Between two appends to a message that grows, in milliseconds. */
  appendMs?: number;
  /** Characters of an answer that a progress message of text alone, or one that grows, may become. Absent: none. */
  answerInPlaceChars?: number;
  /** A message older than this, in milliseconds, should be replaced by a new one rather than edited. Absent: never. */
  editableMs?: number;
  /** How many places in the queue a mark can show; the last one stands for all later ones. Absent: all. */
  places?: number;
  /**
   * How often a status may change, and after what time an unchanged one must be set again, in milliseconds. `firstMs`:
   * after what time a turn has one; absent: `editIntervalMs`. `endsWithPosts`: a message of the bot takes it away.
   */
  status?: { changeMs: number; fadesMs: number; firstMs?: number; endsWithPosts?: true };
  /**
   * After a turn of so long, in milliseconds, how it ends calls whoever asked, who may have looked away. Absent: never, as
   * where people are notified of what is said in their threads.
   */
  mentionAfterMs?: number;
  /** Characters of one message; the surface splits longer answers. */
  messageChars: number;
}

export interface OpenedThread {
  thread: ThreadRef;
  /** The message that it begins with. */
  ref: MessageRef;
}

/** What else is known of a message that is looked for. */
export interface FindOptions {
  /** It may have been posted as a message that grows; that ends with it. */
  grows?: boolean;
  /** How it was posted, one or the other: some platforms keep no key with it. Absent: not known. */
  as?: readonly OutboundMessage[];
}

/**
 * A way to write into threads of one platform, from any process: it needs no connection of an adapter.
 *
 * Every method rejects with {@link SurfaceError}, whose kind tells the caller what to do. A surface neither retries nor
 * waits for rate limits: a stop, an answer or a question must not queue behind progress, so the caller decides.
 *
 * @example
 * const [ref] = await surface.post(thread, { kind: "notice", markdown: "Working on it." }, "turn-1:notice");
 * if (ref) await surface.edit(ref, { kind: "notice", markdown: "Done." });
 * // A retry with the same key posts nothing twice within `idempotentMs`:
 * await surface.post(thread, { kind: "notice", markdown: "Working on it." }, "turn-1:notice");
 */
export interface ChatSurface {
  readonly platform: string;
  readonly limits: SurfaceLimits;
  /**
   * Text commands that the platform has as commands of its own, such as `queue` for `/queue`: they are answered to one
   * person alone, with menus. Absent: none.
   */
  readonly ownCommands?: readonly string[];
  /** For how long `post` is idempotent by its key, in milliseconds; 0 where it is not. */
  readonly idempotentMs: number;
  /** The place whose writes of that kind share one rate limit, where that is not the channel. */
  budgetPlace?(of: ThreadRef | MessageRef, lane: WriteLane): string;
  /** Whether that message grows: then an edit of it counts as an append. */
  isGrowing?(ref: MessageRef): boolean;
  /**
   * Posts a message, split if it is too long; gives the refs of all parts in order, none of a message that grows and has
   * nothing to show yet.
   * @param key the same for every attempt to post the same thing: the idempotency key, where the platform has one
   * @param posted the parts that an earlier attempt has posted; this one continues after them
   */
  post(
    thread: ThreadRef,
    message: OutboundMessage,
    key: string,
    posted?: readonly MessageRef[],
  ): Promise<MessageRef[]>;
  /**
   * Opens a thread in a channel with a message of the bot's. Absent where the bot cannot begin one.
   * @param key as of `post`
   * @param since an earlier attempt, at that time (ms since the epoch), may have opened it
   * @param title what a list of threads calls it, on a platform whose lists have no other name for it
   */
  openThread?(
    channel: ChannelRef,
    markdown: string,
    key: string,
    since?: number,
    title?: string,
  ): Promise<OpenedThread>;
  /**
   * The address by which a message leads to a thread of the platform. Absent where people find threads in their channel.
   */
  addressOf?(thread: ThreadRef): string;
  /**
   * Finds the parts that were posted with that key since `since` (ms since the epoch), in order. For platforms that can
   * look; not finding one proves nothing.
   */
  find?(thread: ThreadRef, key: string, since: number, how?: FindOptions): Promise<MessageRef[]>;
  /** Replaces the content of a message that `post` created; what does not fit is cut, never split. */
  edit(ref: MessageRef, message: OutboundMessage): Promise<void>;
  /** Deletes a message that `post` created; one that is already gone counts as deleted. */
  remove(ref: MessageRef): Promise<void>;
  /** Asks the platform which thread a message is in; undefined when the message does not exist. */
  threadOf(ref: MessageRef): Promise<ThreadRef | undefined>;
  /** Shows the state of somebody's message and replaces its earlier mark. */
  mark(ref: MessageRef, mark: MessageMark, options?: MarkOptions): Promise<void>;
  /**
   * Shows next to the thread what the bot is doing ("is thinking…") or that it is doing something; undefined removes
   * it. Rejects only where that is not possible at all.
   * @param waits nothing is being done, because people are to decide something
   * @param title what the thread is about, for platforms that list threads
   */
  status?(thread: ThreadRef, text: string | undefined, waits?: boolean, title?: string): Promise<void>;
  /**
   * Replies to a message where it stands and calls nobody but its author. For a platform on which `post` would begin a
   * thread for it; absent elsewhere.
   */
  replyTo?(message: MessageRef, markdown: string, key: string): Promise<void>;
  /**
   * Tells one person something that concerns nobody else in the thread. Where that person takes nothing of the bot,
   * nothing is said. Absent where there is no such way.
   */
  tellPrivately?(thread: ThreadRef, person: string, text: string): Promise<void>;
  /**
   * Posts a file. Empty where the platform does not say as which message. When aborted it ends at once, with an error
   * that says whether the file may have arrived.
   * @param key see `post`
   */
  upload(
    thread: ThreadRef,
    file: { name: string; data: Uint8Array },
    key: string,
    signal?: AbortSignal,
  ): Promise<MessageRef[]>;
  /** Completes what the event left out about a file, where the platform holds it back. */
  details?(file: AttachmentHandle, signal: AbortSignal): Promise<AttachmentHandle>;
  /** The content of a file that came with a message. */
  download?(file: AttachmentHandle, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Told of a file that was read, or never will be: nobody asks for its content again. */
  release?(file: AttachmentHandle): Promise<void>;
  /** What people wrote in the thread before that message, oldest first, at most `limit` messages. */
  earlier?(thread: ThreadRef, before: MessageRef, limit: number): Promise<ContextMessage[]>;
  /** What people call the channel; undefined where it has no name. */
  channelName?(thread: ThreadRef): Promise<string | undefined>;
  /** The address at which people find a message; undefined where it is gone. */
  linkTo?(ref: MessageRef): Promise<string | undefined>;
  /** Whether everybody who sees the channel may read the thread. Absent where everybody may. */
  isOpenThread?(thread: ThreadRef): Promise<boolean>;
  /** Looks up what a person is there now, for a task from earlier. Absent where everybody is the operator. */
  person?(thread: ThreadRef, id: string): Promise<Author | undefined>;
}

/**
 * What a caller must know about a failed write.
 *
 * - `rate-limited`: nothing was done; retry after `retryAfterMs`. Also used when the platform was not reached at all.
 * - `gone`: the channel, thread or message was deleted or archived; do not retry.
 * - `forbidden`: the bot lacks a permission, which the message names; retrying is useless until an operator acts.
 * - `uncertain`: the response was lost, so it may or may not have been done; look before retrying.
 * - `rejected`: the platform does not accept this content; do not retry it unchanged.
 */
export type SurfaceErrorKind = "rate-limited" | "gone" | "forbidden" | "uncertain" | "rejected";

/** Why a surface could not write, as a sentence for the log or the thread. */
export class SurfaceError extends Error {
  override readonly name = "SurfaceError";
  readonly kind: SurfaceErrorKind;
  /** For `rate-limited`: how long to wait, in milliseconds. */
  readonly retryAfterMs: number;
  /** Whether some parts of a long message were posted before the failure. */
  readonly partly: boolean;
  /**
   * For `rate-limited`: the kinds of writes to that place that the platform limits, so that no other waits. Absent: the
   * kind that was tried. Empty: something that is no write, for which only this caller has to wait.
   */
  readonly limits: readonly WriteLane[] | undefined;
  /** For `forbidden` and `gone`: people in the channel can lift it at any time, as by inviting the bot again. */
  readonly isLiftable: boolean;

  constructor(
    kind: SurfaceErrorKind,
    message: string,
    options: {
      retryAfterMs?: number;
      partly?: boolean;
      limits?: readonly WriteLane[] | undefined;
      isLiftable?: boolean;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs ?? 0;
    this.partly = options.partly ?? false;
    this.limits = options.limits;
    this.isLiftable = options.isLiftable ?? false;
  }

  /** The same call may succeed in a while: the platform has refused nothing. */
  get isPassing(): boolean {
    return this.kind === "rate-limited" || this.kind === "uncertain";
  }
}

/**
 * Does what may be done twice, and tries it again while the platform does not answer, or wants to be asked later.
 *
 * @param pace how often, and the bounds of each pause, ms; within them it is as long as the platform asks for
 * @throws the last error
 */
export async function retryPassing<T>(
  work: () => Promise<T>,
  { attempts, leastMs, mostMs }: { attempts: number; leastMs: number; mostMs: number },
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof SurfaceError && error.isPassing) || attempt === attempts) throw error;
      await delay(Math.min(Math.max(error.retryAfterMs, leastMs), mostMs));
    }
  }
}

/** Waits for a write; false when the platform refuses it for good and the content should be shown in another way. */
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
