import type { AttachmentHandle, Speaker } from "../agent/messages.ts";
import type { MessageRef, ThreadId, ThreadRef } from "./threads.ts";

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
      dedupeKey?: string;
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
export type IntakeResult =
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

/** The one way in. Throws only when Redis cannot be reached; then the event must not be acknowledged. */
export interface Intake {
  receive(event: InboundEvent): Promise<IntakeResult>;
}
