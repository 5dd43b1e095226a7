import type { AttachmentHandle, PromptChoice, Speaker } from "../agent/messages.ts";
import type { WrittenFields } from "../agent/server-input.ts";
import type { ChoiceMenu, Form } from "./outbound.ts";
import type { MessageRef, ThreadId, ThreadRef } from "./threads.ts";

/** What the platform tells us about a person. Deny whatever is not known to be allowed. */
export interface Author extends Speaker {
  /**
   * `operator`: runs this Heddle, at its console. `member`: belongs to the workspace. `guest`: has a limited account.
   * `external`: belongs to another organisation.
   */
  standing: "operator" | "member" | "guest" | "external" | "bot";
  roles: string[];
  /** The permission without which the platform does not tell who this is; such a person counts as a guest. */
  unseenFor?: string;
}

/** What somebody wrote in the channel, as context for the model and never as an instruction. */
export interface ContextMessage {
  author: Author;
  /** With the names of its files. */
  text: string;
  attachments?: AttachmentHandle[];
  /** The platform's own time, ms since the epoch. */
  at: number;
}

/** Somebody wrote a message. */
export interface InboundMessage {
  kind: "message";
  thread: ThreadRef;
  ref: MessageRef;
  author: Author;
  /** As written, but without the mention of the bot. */
  text: string;
  attachments: AttachmentHandle[];
  /** The message that the task is about ("ask the agent about this"); quoted to the model as untrusted. */
  about?: ContextMessage;
  /** What the person chose in addition to the text, for example in a slash command. */
  options?: { model?: string; skill?: string; prompt?: PromptChoice };
  /**
   * `follow-up`: in a thread, without a mention; accepted where the agent is already part of the thread. `none`: in a
   * channel itself, to nobody of ours; told only of channels that are watched, see `channel-watch.ts`.
   */
  addressed: "mention" | "direct" | "follow-up" | "none";
  /**
   * Set for a command that has posted nothing yet: the adapter itself tells the person, privately, about a refusal and
   * what a text command has to say.
   */
  tellsRefusal?: true;
  /** The platform's own time, ms since the epoch. */
  at: number;
  /** W3C `traceparent` of the event, where traces are recorded. */
  trace?: string;
}

/** Somebody changed the text of a message, which Heddle may or may not know. */
export interface InboundEdit {
  kind: "edit";
  thread: ThreadRef;
  ref: MessageRef;
  author: Author;
  text: string;
  at: number;
}

/** Somebody deleted a message, which Heddle may or may not know. */
export interface InboundDeletion {
  kind: "delete";
  thread: ThreadRef;
  ref: MessageRef;
  author: Author;
  at: number;
}

/** Somebody wants a thread to stop: by a button, a reaction or a command. */
export interface InboundStop {
  kind: "stop";
  /** The thread itself where the platform names it, otherwise the message that was reacted to. */
  target: { thread: ThreadRef } | { message: MessageRef };
  author: Author;
  at: number;
  /** `at` is no platform's time but this host's, whose clock may be wrong: it ends whatever the thread has by now. */
  isHostTime?: true;
  /** The adapter itself tells the person about a refusal, privately. */
  tellsRefusal?: true;
  /** For platforms that give no time, so that `at` differs on each delivery: identifies what was reacted to. */
  dedupeKey?: string;
}

/** Somebody pressed a button that {@link OutboundMessage.actions} offered. */
export interface InboundAction {
  kind: "action";
  thread: ThreadRef;
  /** The message with the button. */
  ref: MessageRef;
  author: Author;
  /** The button's id. */
  action: string;
  /** What the person wrote when the button asked for a sentence. */
  text?: string;
  /** What the person put into the inputs of a {@link Form}, by their names. */
  fields?: WrittenFields;
  /**
   * The platform's windows have no more inputs than `most`, so that a {@link Form} comes in parts; `continues`: what was
   * put into the parts before counts.
   */
  window?: { most: number; continues?: true };
  /** The adapter itself tells the person about a refusal, privately, so that nobody else has to. */
  tellsRefusal?: true;
  at: number;
}

/**
 * What people do, in one form for all platforms. Adapters produce these from what the platform delivers, and never
 * decide about permissions. `at` is the platform's own time in milliseconds, so that a stop and a message can be put
 * in order whichever arrived first.
 *
 * @example
 * const event: InboundEvent = {
 *   kind: "message",
 *   thread: { platform: "slack", workspace: "T1", channel: "C1", thread: "1732100000.1" },
 *   ref: { platform: "slack", workspace: "T1", channel: "C1", message: "1732100000.1" },
 *   author: { id: "U1", name: "ada", standing: "member", roles: [] },
 *   text: "look at the failing build",
 *   attachments: [],
 *   addressed: "mention",
 *   at: 1_732_100_000_100,
 * };
 */
export type InboundEvent = InboundMessage | InboundEdit | InboundDeletion | InboundStop | InboundAction;

/**
 * What became of an inbound event. It is durable by the time this is returned, so the event may be acknowledged.
 *
 * `unchanged`: the event was a duplicate of an earlier one, or what it asks for was already the case; nothing
 * happened this time.
 */
export type IntakeResult =
  /** In the thread's mailbox, as its `position`th message. */
  | { kind: "accepted"; thread: ThreadId; position: number }
  /** Delivered before; nothing happened. */
  | { kind: "duplicate" }
  | { kind: "stopping"; thread: ThreadId; unchanged?: true }
  /** An edit or a deletion of a message that was waiting or being worked on. */
  | { kind: "amended"; thread: ThreadId; unchanged?: true }
  /**
   * A button or a text command took effect. `reply`: for the person who pressed it, where nothing else shows it; `menus`
   * go with it where the platform has them. `form`: nothing is done yet, the person is to fill it in. `continues`: the
   * part that was filled in is kept, and the same button asks for the next one.
   */
  | {
      kind: "acted";
      thread: ThreadId;
      reply?: string;
      menus?: ChoiceMenu[];
      form?: Form;
      continues?: true;
      unchanged?: true;
    }
  /** Not for us: no session in that thread, a message of a bot, nothing to stop. `why` completes "That did nothing: …". */
  | {
      kind: "ignored";
      why: string;
      /** A message without a mention in a thread that has no session so far. */
      unclaimed?: true;
    }
  /** Refused; `reply` tells the person why, in one or two sentences. `field`: the input that it is about. */
  | { kind: "refused"; reply: string; field?: string; unchanged?: true };

/**
 * What to tell the person who pressed a button, if it did not do what its label says; undefined if it did.
 *
 * @example
 * explainResult({ kind: "ignored", why: "nothing is running or waiting there" });
 * // → "That did nothing: nothing is running or waiting there."
 */
export function explainResult(result: IntakeResult): string | undefined {
  switch (result.kind) {
    case "refused":
      return result.reply;
    case "ignored":
      return `That did nothing: ${result.why}.`;
    case "accepted":
    case "duplicate":
    case "stopping":
    case "amended":
    case "acted":
      return undefined;
  }
}

/**
 * The one way in, for every adapter and every kind of event. It checks permissions, drops duplicates, makes the event
 * durable, wakes the thread, and posts what people should read about a refusal.
 *
 * Persist, then acknowledge: an adapter acknowledges an event to its platform only after `receive` has resolved.
 * `receive` is idempotent, so an adapter may deliver the same event as often as it likes. It rejects only when Redis
 * cannot be reached; then nothing is known to be stored, and the platform must deliver the event again.
 *
 * @example
 * socket.on("message", async (raw, acknowledge) => {
 *   const event = await reader.message(raw);
 *   if (event) await intake.receive(event); // rejects: no acknowledgement, so the platform delivers it again
 *   acknowledge();
 * });
 */
export interface Intake {
  receive(event: InboundEvent): Promise<IntakeResult>;
}
