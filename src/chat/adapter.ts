import * as diagnostics from "node:diagnostics_channel";
import type { AttachmentHandle, Speaker, ToolStatus } from "../agent/messages.ts";

export type { AttachmentHandle };

/**
 * The contracts between chat platforms and the rest of Heddle. Words of a platform (`ts`, snowflake, envelope)
 * stay inside its adapter.
 */

/** A place to talk. All four parts are opaque to everybody but the adapter of `platform`. */
export interface ThreadRef {
  platform: string;
  workspace: string;
  channel: string;
  thread: string;
}

/** `platform:workspace:channel:thread`; no part contains a colon. */
export type ThreadId = string;

export function threadId(ref: ThreadRef): ThreadId {
  return `${ref.platform}:${ref.workspace}:${ref.channel}:${ref.thread}`;
}

export function parseThreadId(id: ThreadId): ThreadRef {
  const [platform, workspace, channel, thread, ...rest] = id.split(":");
  if (!platform || !workspace || !channel || !thread || rest.length > 0) {
    throw new Error(`"${id}" is not a thread: expected platform:workspace:channel:thread.`);
  }
  return { platform, workspace, channel, thread };
}

/** A message on a platform; enough to edit it, to react to it, and to find its thread again. */
export interface MessageRef {
  platform: string;
  workspace: string;
  channel: string;
  /** Unique within the channel. */
  message: string;
}

/** What the platform tells about a person. Deny whatever is not known to be allowed. */
export interface Author extends Speaker {
  /**
   * `operator`: whoever runs Heddle, at its console. `member`: belongs to the workspace. `guest`: limited account.
   * `external`: another organisation.
   */
  standing: "operator" | "member" | "guest" | "external" | "bot";
  roles: string[];
}

/** What somebody wrote in the room, as context for the model: never an instruction. */
export interface RoomMessage {
  author: Author;
  text: string;
  at: number;
}

/**
 * What people do, normalised. `at` is the platform's own time in milliseconds, so that a stop and a message
 * can be put in order whatever arrived first.
 */
export type InboundEvent =
  | {
      kind: "message";
      thread: ThreadRef;
      ref: MessageRef;
      author: Author;
      /** Without the mention of the bot, otherwise as written. */
      text: string;
      attachments: AttachmentHandle[];
      /** A message that the person points at ("ask the agent about this"); quoted for the model as untrusted. */
      about?: RoomMessage;
      /** What the person chose beside the text, e.g. in a slash command. */
      options?: { model?: string; skill?: string };
      /** `follow-up`: in a thread without a mention; taken only where a session is alive. */
      addressed: "mention" | "direct" | "follow-up";
      /** Of a command that shows nothing yet: the adapter tells the person alone when it is refused. */
      tellsRefusal?: true;
      at: number;
      /** W3C `traceparent` of the event, where traces are taken. */
      trace?: string;
    }
  /** Somebody changed the text of a message; which one, Heddle may or may not know. */
  | { kind: "edit"; thread: ThreadRef; ref: MessageRef; author: Author; text: string; at: number }
  | { kind: "delete"; thread: ThreadRef; ref: MessageRef; author: Author; at: number }
  | {
      kind: "stop";
      /** The thread itself where the platform tells it, else the message that was reacted to. */
      target: { thread: ThreadRef } | { message: MessageRef };
      author: Author;
      at: number;
      /** Where the platform tells no time, so that `at` differs each time that it is told: what it was done to. */
      deed?: string;
    }
  /** Somebody pressed a button that {@link OutboundMessage.actions} has offered. */
  | {
      kind: "action";
      thread: ThreadRef;
      /** The message with the button. */
      ref: MessageRef;
      author: Author;
      /** The button's id. */
      action: string;
      /** What the person wrote when asked for a sentence. */
      text?: string;
      /** The adapter tells the person alone when it is refused, so that nobody else has to. */
      tellsRefusal?: true;
      at: number;
    };

/** What became of an inbound event. It is durable when this is returned. */
export type Verdict =
  | { kind: "accepted"; thread: ThreadId; position: number }
  | { kind: "duplicate" }
  | { kind: "stopping"; thread: ThreadId; unchanged?: true }
  /** An edit or a deletion of a message that was waiting or being worked on. */
  | { kind: "amended"; thread: ThreadId; unchanged?: true }
  /**
   * A button or a command word did what it says. `reply`: for whoever pressed the button, where nothing else shows it.
   * `unchanged`, of this and the two above: it was so already, after an earlier press or the same one at another gateway.
   */
  | { kind: "acted"; thread: ThreadId; reply?: string; unchanged?: true }
  /** Not for us: no session in that thread, a message of a bot, nothing to stop. */
  | { kind: "ignored"; why: string }
  /** Refused, and the person should read why. `unchanged`: it was before, when the same was told. */
  | { kind: "refused"; reply: string; unchanged?: true };

/** What the person should read who pressed a button, if it did not do what it says. */
export function problemOf(verdict: Verdict): string | undefined {
  switch (verdict.kind) {
    case "refused":
      return verdict.reply;
    case "ignored":
      return `That did nothing: ${verdict.why}.`;
    case "accepted":
    case "duplicate":
    case "stopping":
    case "amended":
    case "acted":
      return undefined;
  }
}

/** The one way in. Throws only when Redis cannot be reached; then the event must not be acknowledged. */
export interface Door {
  receive(event: InboundEvent): Promise<Verdict>;
}

/** The state of a person's message, shown as a reaction where the platform has them. */
export type MessageMark = "taken" | "waiting" | "answered" | "stopped" | "failed";

export interface MarkOptions {
  /** Of a message that waits: how many are worked on before it. */
  place?: number;
  /** There is no earlier mark. */
  isFirst?: boolean;
}

export interface OutboundMessage {
  /** CommonMark with tables and fenced code. The surface translates and splits; it never interprets mentions. */
  markdown: string;
  kind: "progress" | "question" | "answer" | "notice" | "receipt";
  /** Small print under the message. */
  footer?: string;
  /** Whether a Stop button belongs to it. */
  stoppable?: boolean;
  /** The same with its tool calls apart, for platforms that have more than text to show them. */
  calls?: CallList;
  /** Buttons, at most five; an edit without them takes them away. */
  actions?: ActionButton[];
  /** W3C `traceparent` of the turn that says it, where traces are taken; no surface shows it. */
  trace?: string;
}

/** Tool calls, none as long as there is only a plan, and the Markdown that stands above and below them. */
export interface CallList {
  above: string;
  below: string;
  /** What the calls are together; plain text, as all that is said of them. */
  title: string;
  items: ShownCall[];
}

export interface ShownCall {
  /** Unique in its message, and the same in every edit of it. */
  id: string;
  name: string;
  /** The argument that tells most, on one line; may be empty. */
  about: string;
  /** `pending`: it waits for a decision. */
  state: ToolStatus | "running" | "pending";
  /** As much of its result as is kept, where people want to see it: to be folded away where that is possible. */
  result?: string;
}

/** Pressing it brings an `action` event. */
export interface ActionButton {
  /** At most 80 characters; opaque to adapters. */
  id: string;
  label: string;
  style: "plain" | "primary" | "danger";
  /** Asks the person for a sentence first, where the platform can; the text comes with the event. */
  asksFor?: string;
}

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
  earlier?(thread: ThreadRef, before: MessageRef, limit: number): Promise<RoomMessage[]>;
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
export async function isTaken(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (error instanceof SurfaceError && (error.kind === "forbidden" || error.kind === "rejected"))
      return false;
    throw error;
  }
}

/** A connection to one platform that brings events in. Its surface works without it, in any process. */
export interface ChatAdapter {
  readonly platform: string;
  /** Resolves when events can arrive; throws an error that names the wrong token or setting and the fix. */
  start(door: Door): Promise<void>;
  /** Stops taking events; those in hand are finished first. */
  stop(): Promise<void>;
}

/** Who listened to a workspace, and when: so that an adapter can find what was sent while nobody did. */
export interface Attendance {
  /** Since when messages may have been missed, ms; undefined when nobody has ever listened. */
  missedSince(platform: string, workspace: string): Promise<number | undefined>;
  /** Notes that what was sent until now has arrived or will. */
  present(platform: string, workspace: string): Promise<void>;
  /** Threads where people may go on writing without a mention, the latest first. */
  threads(platform: string, workspace: string): Promise<ThreadRef[]>;
  /** The messages that somebody may have edited, deleted or put a 🛑 on meanwhile with an effect. */
  open(platform: string, workspaces: readonly string[]): Promise<OpenMessage[]>;
}

/** A message that waits or that a turn works on, or the one in which a turn shows its progress. */
export interface OpenMessage {
  thread: ThreadRef;
  ref: MessageRef;
  /** Whose it is and what it said when Heddle last heard of it. Absent of Heddle's own. */
  written?: { author: Speaker; text: string };
}

/** A thread as its person sees it in a list. */
export interface RecentThread {
  thread: ThreadRef;
  /** What the person began it with, as it was written. */
  beginning: string;
  status: "running" | "waiting" | "idle";
  /** When something last happened there, ms. */
  activeAt: number;
}

export interface RecentThreads {
  /** The threads that a person has begun, the latest first, some ten at most. */
  of(platform: string, workspace: string, person: string): Promise<RecentThread[]>;
}

export interface DayBudgets {
  /** How much of their budget of today a person has used, one sentence a limit; empty without one. */
  of(platform: string, workspace: string, person: string): Promise<string[]>;
}

/** A connection to a platform has ended and is made anew. Adapters publish it on {@link reconnects}. */
export interface Reconnect {
  platform: string;
}

/** For whoever counts them in this process. */
export const reconnects = diagnostics.channel("heddle:reconnects");

/** What a check of an installation found. `warning` and `error` say what to do; `note` is what no check can see. */
export interface Finding {
  level: "ok" | "note" | "warning" | "error";
  /** One line. */
  text: string;
}
