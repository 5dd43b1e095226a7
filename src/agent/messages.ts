/**
 * The conversation as the agent keeps it, independent of any model provider.
 *
 * A provider maps these to its own wire format and back. Whatever it must return to the model untouched
 * (signed or encrypted thinking) travels in {@link ThinkingPart.raw}.
 */

import { removeHidden } from "./text/hidden-characters.ts";

/** Who said something. `id` is stable within the platform; `name` is for people and for the model. */
export interface Speaker {
  id: string;
  name: string;
}

/** An image in a message: base64 data, at most 5 MB decoded (the smallest limit among the providers). */
export interface Image {
  mediaType: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  data: string;
}

/** A file that came with a message; fetched later, by whoever received the message. */
export interface AttachmentHandle {
  name: string;
  mediaType: string;
  /** 0 where nobody knows. */
  bytes: number;
  /** Opaque to everybody but the one who made it. */
  handle: string;
}

/** What somebody wrote whose words are data, never an instruction. */
export interface Quote {
  author: Speaker;
  text: string;
  /** Milliseconds since the epoch. */
  at: number;
}

/** A prompt of an MCP server that a person begins a task with. */
export interface PromptChoice {
  server: string;
  name: string;
  /** Absent where there are none. */
  arguments?: Record<string, string>;
}

/** What came with a message beside its text. Each part is absent where there is nothing of it. */
export interface Enclosed {
  files?: AttachmentHandle[];
  /** What the person points at. */
  about?: Quote;
  /** What people without permission wrote meanwhile. */
  overheard?: Quote[];
  /** The thread may have begun without Heddle: what was said before belongs to the message. */
  room?: true;
  /** What the person chose. */
  model?: string;
  skill?: string;
  prompt?: PromptChoice;
}

export interface UserMessage {
  role: "user";
  id: string;
  author: Speaker;
  text: string;
  /** What came along and was not looked at yet; afterwards it is in `beside` and `images`. */
  enclosed?: Enclosed;
  /** What came along, as the model reads it behind the text. */
  beside?: string;
  images?: Image[];
  /** The platform's own time of the message, in milliseconds since the epoch. */
  at: number;
  /** Its place among the messages and stops of its thread, as Redis took them. Absent in what an older Heddle stored. */
  seq?: number;
  /** W3C `traceparent` of the event that brought it, where traces are taken. No model reads it. */
  trace?: string;
  /** The author wrote it earlier, for now: it is no message on the platform, and nobody may be there. */
  scheduled?: true;
  /** Id of the person whose budget pays for the turn that it begins. Default: the author's. */
  paidBy?: string;
  /** Name of the trigger that brought it, whose budget pays too. */
  trigger?: string;
  /** The author wants to see a plan, and approve it, before anything is changed. */
  plan?: true;
  /** It was said where the agent listens, and not to it: see `silence.ts`. */
  unaddressed?: true;
  /** Its size, counted once; see `context/tokens.ts`. */
  tokens?: number;
}

/** A model's request to run a tool. */
export interface ToolCall {
  id: string;
  name: string;
  /** The parsed arguments. `{}` when {@link malformed} is set, so that a replay is always valid JSON. */
  input: unknown;
  /** The raw argument text when it was not JSON. Such a call is answered with an error, never run. */
  malformed?: string;
}

/** The wire protocols. Thinking is only ever replayed to the protocol that it came from. */
export type Protocol = "anthropic" | "openai-chat" | "openai-responses" | "demo";

export interface ThinkingPart {
  type: "thinking";
  /** What may be shown. Empty for redacted or encrypted thinking. */
  text: string;
  protocol: Protocol;
  /** The provider's block or fields exactly as received; goes back unmodified and in its place. */
  raw: unknown;
}

export interface TextPart {
  type: "text";
  text: string;
}

export interface ToolCallPart {
  type: "tool-call";
  call: ToolCall;
  /** What the service sent beside the call; goes back unmodified, to the model that it came from only. */
  extra?: Record<string, unknown>;
}

export type AssistantPart = ThinkingPart | TextPart | ToolCallPart;

/** Why the model stopped, in one vocabulary for all providers. */
export type StopReason =
  | "end"
  | "tool-calls"
  | "max-tokens"
  | "pause"
  | "refusal"
  | "context-window"
  | "other";

export interface AssistantMessage {
  role: "assistant";
  id: string;
  /** In the order received. Never empty: an empty reply is not stored. */
  parts: AssistantPart[];
  /** The model that wrote it, as `provider/model`. */
  model: string;
  stop: StopReason;
  tokens?: number;
}

/** How a tool call ended. `unknown`: it was started and the process died, so nobody can tell. */
export type ToolStatus = "ok" | "error" | "partial" | "stopped" | "unknown";

/** Why a call was never run: somebody or a rule denied it, or nobody decided about it. */
export type NotRun = "denied" | "undecided";

/** The one result that every tool call has. */
export interface ToolMessage {
  role: "tool";
  callId: string;
  name: string;
  status: ToolStatus;
  /** With `error`, for people: to the model the text says it. */
  notRun?: NotRun;
  text: string;
  images?: Image[];
  tokens?: number;
}

/** What compaction leaves in place of older messages. Providers send its text as tagged user text. */
export interface SummaryMessage {
  role: "summary";
  /** All that the model reads: what people asked, the state of the work, what is pinned. */
  text: string;
  /** What people asked, one entry a message, for the next compaction to carry on. */
  intents?: string[];
  /** For each of them the number that opens it in search_history, where it is known. */
  entries?: (number | null)[];
  /** How many of the oldest requests are not among them. */
  unlisted?: number;
  /** How many of the replaced messages the state of the work says nothing about. */
  unsummarised?: number;
  /** Bodies of skills in use and of tools that were found, for the next compaction to carry on. */
  pinned?: string[];
  /** Names of skills that were loaded and are out of view. */
  released?: string[];
  /**
   * A model wrote it, or an earlier one, so many steps before those that stand behind it; negative for steps that
   * were kept behind it.
   */
  stepsBefore?: number;
  /** The todo list, for the next compaction to carry on. */
  plan?: string;
  tokens?: number;
}

export type Message = UserMessage | AssistantMessage | ToolMessage | SummaryMessage;

/** The author of what Heddle itself adds to a conversation. */
export const heddle: Speaker = { id: "heddle", name: "Heddle" };

/** A name that a stranger may have chosen: nothing that ends a line or a bracket, hides, turns the text or makes a link. */
export function plainName(name: string): string {
  const plain = removeHidden(name)
    .replaceAll(/[\s[\]<>`]+/g, " ")
    .trim();
  return plain.slice(0, 80).toWellFormed() || "Somebody";
}

/** Whether a person said it, and not Heddle itself. */
export function isFromPerson(message: Message): message is UserMessage {
  return message.role === "user" && message.author.id !== heddle.id;
}

/**
 * Whether Heddle said it to the model, as a message of a kind.
 *
 * @param mark ends the ids of that kind
 */
export function isNudge(message: Message, mark: string): message is UserMessage {
  return message.role === "user" && message.author.id === heddle.id && message.id.endsWith(mark);
}

/** Whether the message is nothing but the order to compact. */
export function isCompactOrder({ text, unaddressed }: UserMessage): boolean {
  return !unaddressed && /^[/!]?compact$/i.test(text.trim());
}

/** The tool calls of a message, in order. */
export function toolCalls(message: AssistantMessage): ToolCall[] {
  // Without `flatMap`, which is slow here: it runs over the whole history in each step.
  const calls: ToolCall[] = [];
  for (const part of message.parts) if (part.type === "tool-call") calls.push(part.call);
  return calls;
}

/** The visible text of a message. */
export function textOf(message: AssistantMessage): string {
  let text = "";
  for (const part of message.parts) if (part.type === "text") text += part.text;
  return text;
}

const planNote =
  "(Plan first: look around without changing anything, then put your plan to people with propose_plan and wait. Nothing can be changed, sent or started before it is approved.)";

/** A user message as the model reads it: with its speaker's name, since several people talk in a thread. */
export function formatUserText(message: UserMessage): string {
  const name = plainName(message.author.name);
  const speaker = message.scheduled
    ? `scheduled by ${name}`
    : message.unaddressed
      ? `${name}, not to you`
      : name;
  const said = message.author.id === heddle.id ? message.text : `[${speaker}] ${message.text}`;
  const text = message.plan ? `${said}\n\n${planNote}` : said;
  return message.beside ? `${text}\n\n${message.beside}`.trim() : text;
}
