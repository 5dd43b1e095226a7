import { replaceSummarized, trimResults } from "../context/shorten.ts";
import { addExtras, type History, isUndecided, type OpenCall, type OpenTurn } from "./history.ts";
import type { JournalRecord } from "./journal.ts";
import { isFromPerson, type Message, toolCalls, type ToolMessage, type UserMessage } from "../messages.ts";
import { addUsage, noUsage } from "../model.ts";
import { isApprovedPlan, listPlannedFiles } from "../planning.ts";
import { noteRefusedTurn, noteStop, unreadableNote } from "./replay-notes.ts";
import { answerUnknown } from "./unfinished-calls.ts";

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
  /** The turn that looks open has ended, in a record that cannot be read. */
  closeTurn(): void;
  /** What {@link replay} gives for all records so far; a copy, which later records leave alone. */
  history(): History;
  /** False while it began behind unknown records and what they leave may still be part of the history. */
  isWhole(): boolean;
}

/**
 * What stands for the records before the first that is read, where a turn has ended: the state that they leave, or only
 * the model that was chosen in them.
 */
export type ReplayBase = Pick<History, "messages" | "chosenModel"> | Pick<History, "chosenModel">;

/**
 * @param base what was before; nothing by default
 * @example
 * const reading = startReplay();
 * reading.add(journal);
 * reading.history().messages.length; // 2
 * reading.add([{ type: "user", message }]);
 * reading.history().messages.length; // 3
 */
export function startReplay(base: ReplayBase = { messages: [] }): Replay {
  const isWhole = "messages" in base;
  const state: ReplayState = {
    messages: isWhole ? [...base.messages] : [],
    isWhole,
    open: [],
    turn: undefined,
    chosenModel: base.chosenModel,
    found: { messages: [], length: 0, isWhole },
  };
  return {
    add(records) {
      for (const record of records) applyRecord(state, record);
    },
    closeTurn() {
      closeCalls(state);
      state.turn = undefined;
    },
    history() {
      const { messages, open, turn, chosenModel } = state;
      return { messages: [...messages], open: [...open], turn: turn && copyTurn(turn), chosenModel };
    },
    // A turn that ends as refused leaves the messages that it has found.
    isWhole: () => state.isWhole && (!state.turn || state.found.isWhole),
  };
}

function copyTurn(turn: OpenTurn): OpenTurn {
  return { ...turn, asked: [...turn.asked], calls: turn.calls.map((call) => ({ ...call })) };
}

interface ReplayState extends History {
  /** Whether there are no messages before these, which unknown records have left. */
  isWhole: boolean;
  /** The conversation as the open turn has found it: the list, which only grows, and how long it was. */
  found: { messages: Message[]; length: number; isWhole: boolean };
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
      state.found = { messages: state.messages, length: state.messages.length, isWhole: state.isWhole };
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
    case "unreadable":
      // It may have told that one of them was started, which must then not be run again.
      state.open = state.open.map((entry) => ({ ...entry, started: true }));
      markGap(state.messages, state.open);
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
      appendResult(state.messages, record.message);
      state.open = state.open.filter((entry) => entry.call.id !== record.message.callId);
      if (turn && record.usage) turn.usage = addUsage(turn.usage, record.usage);
      setResult(turn, record.message);
      if (turn && isApprovedPlan(record.message)) turn.planned = readPlan(turn, record.message);
      break;
    case "question": {
      const { question } = record;
      // Asked again, it needs a new decision.
      state.open = state.open.map((entry) => {
        const { decision: _, ...rest } = entry;
        return entry.call.id === question.callId ? { ...rest, question } : entry;
      });
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
      // What it keeps may be among the unknown ones; the summary then stands before these.
      state.isWhole ||= state.messages.length >= record.keep;
      state.messages = replaceSummarized(record.message, state.messages, record.keep).slice(
        state.isWhole ? 0 : 1,
      );
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
  if (outcome.kind === "stopped") state.messages.push(noteStop(id, outcome));
  if (outcome.kind === "refused" && state.turn) {
    const { messages, length, isWhole } = state.found;
    state.messages = [...messages.slice(0, length), noteRefusedTurn(state.turn, at)];
    state.isWhole = isWhole;
  }
  state.turn = undefined;
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

/** Without its call, which could not be read, no provider takes a result: it is left out. */
function appendResult(messages: Message[], result: ToolMessage): void {
  const before = messages.findLast(({ role }) => role !== "tool");
  const calls = before?.role === "assistant" ? toolCalls(before) : [];
  if (calls.some(({ id }) => id === result.callId)) messages.push(result);
}

/** Between a call and its result nothing may stand. */
function markGap(messages: Message[], open: readonly OpenCall[]): void {
  if (open.length === 0) messages.push(unreadableNote);
}

function readPlan({ asked, calls }: OpenTurn, { callId }: ToolMessage): NonNullable<OpenTurn["planned"]> {
  const input = calls.findLast(({ call }) => call.id === callId)?.call.input;
  return { messages: asked.filter(isFromPerson).length, files: listPlannedFiles(input) };
}

/** Call ids repeat with some models, so the newest call of that id is meant. */
function setResult(turn: OpenTurn | undefined, result: ToolMessage): void {
  const entry = turn?.calls.findLast(({ call }) => call.id === result.callId);
  if (entry) entry.result = result;
}
