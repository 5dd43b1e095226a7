import type { AgentEvent } from "./events.ts";
import type { JournalRecord } from "./journal.ts";
import {
  heddle,
  type Message,
  plainName,
  type SummaryMessage,
  type ToolCall,
  toolCalls,
  type ToolMessage,
  type UserMessage,
} from "./messages.ts";
import { addUsage, noUsage, type Usage } from "./model.ts";
import type { Decision, Question } from "./questions.ts";

export type MessageExtrasRecord = Extract<JournalRecord, { type: "enclosure" }>;

/** A tool call that has no result yet. `started`: it may have run, so it must not be run again. */
export interface OpenCall {
  call: ToolCall;
  started: boolean;
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
  /** How long it has waited for people, ms. */
  waitedMs: number;
  /** Since when it waits for them. */
  waitingSince?: number;
}

/** How long the turn has worked until `now`, the waiting for people left out, ms. */
export function measureWorkedMs(
  { startedAt, waitedMs, waitingSince = Infinity }: OpenTurn,
  now: number,
): number {
  return now - startedAt - waitedMs - Math.max(0, now - waitingSince);
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

/** Reads a journal. The same records always give the same messages, so that prompt caches stay valid. */
export function replay(records: readonly JournalRecord[]): History {
  const reading = startReplay();
  reading.add(records);
  return reading.history();
}

/** Reads a journal as it grows: each record once, however often its history is wanted. */
export interface Replay {
  /** Reads what was appended since. */
  add(records: readonly JournalRecord[]): void;
  /** What {@link replay} gives for all records so far; a copy, which later records leave alone. */
  history(): History;
}

/**
 * @example
 * const reading = startReplay();
 * reading.add(journal);
 * reading.history().messages.length; // 2
 * reading.add([{ type: "user", message }]);
 * reading.history().messages.length; // 3
 */
export function startReplay(): Replay {
  const state: ReplayState = {
    messages: [],
    open: [],
    turn: undefined,
    chosenModel: undefined,
    found: { messages: [], length: 0 },
  };
  return {
    add(records) {
      for (const record of records) applyRecord(state, record);
    },
    history() {
      const { messages, open, turn, chosenModel } = state;
      return { messages: [...messages], open: [...open], turn: turn && copyTurn(turn), chosenModel };
    },
  };
}

function copyTurn(turn: OpenTurn): OpenTurn {
  return { ...turn, asked: [...turn.asked], calls: turn.calls.map((call) => ({ ...call })) };
}

interface ReplayState extends History {
  /** The conversation as the open turn has found it: the list, which only grows, and how long it was. */
  found: { messages: Message[]; length: number };
}

/** Answers what is open. The loop answers every call before it goes on; this holds for a journal that was cut by hand. */
function closeCalls(state: ReplayState): void {
  state.messages.push(...state.open.map(({ call }) => answerUnknown(call)));
  state.open = [];
}

function applyRecord(state: ReplayState, record: JournalRecord): void {
  const { turn } = state;
  switch (record.type) {
    case "turn-start":
      state.found = { messages: state.messages, length: state.messages.length };
      state.turn = {
        id: record.turn,
        startedAt: record.at,
        since: Infinity,
        asked: [],
        steps: 0,
        usage: noUsage,
        calls: [],
        waitedMs: 0,
      };
      break;
    case "user":
      addAsked(turn, record.message);
      closeCalls(state);
      state.messages.push(record.message);
      state.chosenModel = record.message.enclosed?.model ?? state.chosenModel;
      break;
    case "enclosure":
      state.messages = state.messages.map((message) =>
        message.role === "user" && message.id === record.message ? addExtras(message, record) : message,
      );
      break;
    case "withdrawn":
      state.messages = state.messages.filter(
        (message) => message.role !== "user" || message.id !== record.id,
      );
      break;
    case "nudge":
      closeCalls(state);
      state.messages.push(record.message);
      break;
    case "assistant":
      closeCalls(state);
      state.messages.push(record.message);
      state.open = toolCalls(record.message).map((call) => ({ call, started: false }));
      if (turn) {
        turn.calls.push(...state.open.map(({ call }) => ({ call })));
        turn.steps = record.step;
        turn.usage = addUsage(turn.usage, record.usage);
      }
      break;
    case "tool-start":
      state.open = state.open.map((entry) =>
        entry.call.id === record.callId ? { ...entry, started: true } : entry,
      );
      break;
    case "tool-result":
      state.messages.push(record.message);
      state.open = state.open.filter((entry) => entry.call.id !== record.message.callId);
      if (turn && record.usage) turn.usage = addUsage(turn.usage, record.usage);
      setResult(turn, record.message);
      break;
    case "question": {
      const { question } = record;
      state.open = state.open.map((entry) =>
        entry.call.id === question.callId ? { ...entry, question } : entry,
      );
      if (turn) turn.waitingSince ??= record.at;
      break;
    }
    case "decision": {
      const { question, decision } = record;
      state.open = state.open.map((entry) =>
        entry.question?.id === question ? { ...entry, decision } : entry,
      );
      if (turn) endWait(turn, record.at, state.open.some(isUndecided));
      break;
    }
    case "trim":
      state.messages = trimResults(state.messages, new Set(record.callIds));
      break;
    case "summary":
      state.messages = replaceSummarized(record.message, state.messages, record.keep);
      if (turn) turn.usage = addUsage(turn.usage, record.usage);
      break;
    case "turn-end":
      endReplayedTurn(state, record);
      break;
  }
}

function endReplayedTurn(
  state: ReplayState,
  { turn: id, outcome, at }: Extract<JournalRecord, { type: "turn-end" }>,
): void {
  closeCalls(state);
  if (outcome.kind === "stopped") state.messages.push(stopNote(id, outcome.order));
  if (outcome.kind === "refused" && state.turn) {
    const { messages, length } = state.found;
    state.messages = [...messages.slice(0, length), refusedNote(state.turn, at)];
  }
  state.turn = undefined;
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

function addAsked(turn: OpenTurn | undefined, message: UserMessage): void {
  if (!turn) return;
  turn.since = Math.min(turn.since, message.at);
  turn.asked.push(message);
}

function endWait(turn: OpenTurn, at: number, goesOn: boolean): void {
  turn.waitedMs += at - (turn.waitingSince ?? at);
  if (goesOn) turn.waitingSince = at;
  else delete turn.waitingSince;
}

/** Call ids repeat with some models, so the newest call of that id is meant. */
function setResult(turn: OpenTurn | undefined, result: ToolMessage): void {
  const entry = turn?.calls.findLast(({ call }) => call.id === result.callId);
  if (entry) entry.result = result;
}

/**
 * The last `keep` messages behind a summary of the others. Their thinking is left out: it is bound to all that
 * was said before it, and a service may refuse it behind anything else.
 */
export function replaceSummarized(
  summary: SummaryMessage,
  messages: readonly Message[],
  keep: number,
): Message[] {
  const kept = messages.slice(messages.length - keep).map((message) => {
    if (message.role !== "assistant") return message;
    const parts = message.parts.filter((part) => part.type !== "thinking");
    const { tokens: _, ...rest } = message;
    return parts.length > 0 && parts.length < message.parts.length ? { ...rest, parts } : message;
  });
  return [summary, ...kept];
}

/** How much of a trimmed result stays, in characters. */
const trimmedChars = 200;

/** The messages with the results of these calls cut short. Makes new objects: others may hold the old ones. */
export function trimResults(messages: readonly Message[], callIds: ReadonlySet<string>): Message[] {
  return messages.map((message) => {
    if (message.role !== "tool" || !callIds.has(message.callId)) return message;
    const { images: _, tokens: __, ...rest } = message;
    const start = message.text.slice(0, trimmedChars).replace(/[\ud800-\udbff]$/, "");
    return {
      ...rest,
      text: `${start}\n[… cut to save space: search_history may find the rest, or run ${message.name} again]`,
    };
  });
}

/** The result of a call that was started by a process which is gone. */
export function answerUnknown(call: ToolCall): ToolMessage {
  return {
    role: "tool",
    callId: call.id,
    name: call.name,
    status: "unknown",
    text: "Outcome unknown: Heddle was interrupted while this ran. It was not run again; check its effects before you repeat it.",
  };
}

function stopNote(turn: string, order: { by: string; at: number }): UserMessage {
  const text = `(${order.by} stopped the work above before it was finished.)`;
  return { role: "user", id: `${turn}:stopped`, author: heddle, text, at: order.at };
}

/**
 * What stands in place of a turn of which the service has refused something. It reads the whole conversation each
 * time, so it would refuse every later turn too, whatever is asked in it.
 */
function refusedNote(turn: OpenTurn, at: number): UserMessage {
  const people = new Set(turn.asked.map(({ author }) => plainName(author.name)));
  const tools = new Set(turn.calls.map(({ call }) => call.name));
  const ran = tools.size === 0 ? "" : ` These tools were used: ${[...tools].join(", ")}.`;
  const text = `(Left out here: what was asked by ${[...people].join(", ")}, and the work on it. The model's service refused it.${ran})`;
  return { role: "user", id: `${turn.id}:refused`, author: heddle, text, at };
}
