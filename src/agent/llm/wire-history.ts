import { createHash } from "node:crypto";
import {
  type AssistantMessage,
  type Image,
  type Message,
  type SummaryMessage,
  toolCalls,
} from "../messages.ts";

/** Who reads a history: reasoning goes back only to the model that it came from, images only to one that sees. */
export interface Reader {
  /** `provider/model`. */
  id: string;
  images: boolean;
}

/**
 * Folds over conversations that grow: each message of an array is read once, so that a step costs only what is new. An
 * array may be appended to, but not changed in any other way (see `TokenCounter.countMessages`).
 */
export function memoizeByPrefix<State>(
  begin: () => State,
  read: (state: State, message: Message) => void,
): (messages: readonly Message[]) => State {
  const known = new WeakMap<readonly Message[], { length: number; state: State }>();
  return (messages) => {
    const entry = known.get(messages) ?? { length: 0, state: begin() };
    known.set(messages, entry);
    for (; entry.length < messages.length; entry.length += 1) {
      const message = messages[entry.length];
      if (message) read(entry.state, message);
    }
    return entry.state;
  };
}

const unanswered = memoizeByPrefix(
  () => new Set<string>(),
  (open, message) => {
    if (message.role === "tool") {
      if (open.delete(message.callId)) return;
      throw new Error(`The history has a tool result without its call: ${message.callId}.`);
    }
    assertAnswered(open);
    if (message.role === "assistant") for (const { id } of toolCalls(message)) open.add(id);
  },
);

/**
 * Throws unless every call has exactly one result, directly after the message that made it. Services refuse
 * anything else, and a session with such a history would be stuck forever.
 */
export function assertPaired(messages: readonly Message[]): void {
  assertAnswered(unanswered(messages));
}

function assertAnswered(open: ReadonlySet<string>): void {
  const [id] = open;
  if (id !== undefined) throw new Error(`The history has a tool call without its result: ${id}.`);
}

/** Whether a reply was cut before it said or called anything. Services refuse such a message, so it stays out. */
export function isBlank(message: AssistantMessage): boolean {
  return message.parts.every(
    (part) => part.type === "thinking" || (part.type === "text" && part.text.trim() === ""),
  );
}

/** A call's id as it goes on the wire. Other services give out ids that are longer than `limit` characters. */
export function toWireId(id: string, limit: number): string {
  return id.length <= limit ? id : hashId(id);
}

/** Derives a legal id from one that the service would refuse; always the same for the same id. */
export function hashId(id: string): string {
  return `call_${createHash("sha256").update(id).digest("hex").slice(0, 32)}`;
}

/** The name of a called tool, made legal: a model can invent one that services refuse. Real names stay as they are. */
export function toWireName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "_";
}

export function formatSummary({ text }: SummaryMessage): string {
  return `<summary of="earlier conversation">\n${text}\n</summary>`;
}

/** A tool's result as sent to the model: some servers refuse an empty text. */
export function toResultText(text: string): string {
  return text.trim() === "" ? "(no output)" : text;
}

/** Text in place of images, for a model that cannot see them. */
export function noteLeftOutImages(text: string, images: readonly Image[]): string {
  return images.length === 0 ? text : `${text}\n(${images.length} left out: this model cannot see images)`;
}

export function toDataUrl({ mediaType, data }: Image): string {
  return `data:${mediaType};base64,${data}`;
}
