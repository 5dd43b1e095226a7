import type { AgentEvent } from "../events.ts";
import type { JournalRecord } from "./journal.ts";
import type { Message, ToolCall, ToolMessage, UserMessage } from "../messages.ts";
import type { Usage } from "../model.ts";
import type { Decision, Question } from "../questions.ts";

export type MessageExtrasRecord = Extract<JournalRecord, { type: "enclosure" }>;

/** A tool call that has no result yet. `started`: it may have run, so it must not be run again. */
export interface OpenCall {
  call: ToolCall;
  started: boolean;
  /** For a started one: what the model must know because nobody has seen it end. */
  mayRun?: string;
  /** What people were asked about it. */
  question?: Question;
  decision?: Decision;
}

/** A turn that has begun and not ended. */
export interface OpenTurn {
  id: string;
  startedAt: number;
  /** The platform time of its first message: a stop that is older does not concern it. */
  since: number;
  /** The people's messages that it has taken. */
  asked: UserMessage[];
  steps: number;
  usage: Usage;
  /** Its calls so far, with what came of them. */
  calls: { call: ToolCall; result?: ToolMessage }[];
  /** For how many of the people's messages a plan was approved, the first ones, and the files that it names. */
  planned?: { messages: number; files: string[] };
  /** How long it has waited for people, ms. */
  waitedMs: number;
  /** Since when it waits for them. */
  waitingSince?: number;
}

/** How long the turn has worked until `now`, the waiting for people left out, ms; 0 where the clock was set back. */
export function measureWorkedMs(
  { startedAt, waitedMs, waitingSince = Infinity }: OpenTurn,
  now: number,
): number {
  return Math.max(0, now - startedAt - waitedMs - Math.max(0, now - waitingSince));
}

/** A session's state, read from its journal. */
export interface History {
  /** Legal for every provider, but for the calls in `open`. */
  messages: Message[];
  open: OpenCall[];
  turn: OpenTurn | undefined;
  /** The model that somebody chose for the session, the newest choice. */
  chosenModel?: string | undefined;
}

/** What to store for an event; undefined for those that are for display only. */
export function toRecord(event: AgentEvent, at: number): JournalRecord | undefined {
  switch (event.type) {
    case "tool-start":
      return { type: "tool-start", callId: event.call.id, at };
    case "tool-end":
      return {
        type: "tool-result",
        message: event.message,
        durationMs: event.durationMs,
        ...(event.usage && { usage: event.usage }),
        ...(event.inner && { inner: event.inner }),
        at,
      };
    case "question":
      return { type: "question", question: event.question, at };
    case "nudge":
      return { type: "nudge", message: event.message };
    case "assistant":
    case "summary":
    case "trim":
      return { ...event, at };
    case "step-start":
    case "text-delta":
    case "thinking-delta":
    case "retry":
    case "tool-output":
    case "helper":
    case "follow-up":
    case "notice":
      return undefined;
  }
}

/** The message with what came along in its place; a new object. */
export function addExtras(message: UserMessage, { beside, images }: MessageExtrasRecord): UserMessage {
  const { enclosed: _, tokens: __, ...rest } = message;
  return { ...rest, beside, ...(images && { images }) };
}

/** Whether people are asked about the call and have not decided. */
export function isUndecided(entry: OpenCall): entry is OpenCall & { question: Question } {
  return entry.question !== undefined && entry.decision === undefined;
}
