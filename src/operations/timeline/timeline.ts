import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { AgentEvent, CallEvent, InnerCalls, StepEvent, TurnOutcome } from "../../agent/events.ts";
import { readFailedExit } from "../../agent/exit-code.ts";
import { formatJson } from "../../agent/text/format-json.ts";
import type { JournalRecord } from "../../agent/journal/journal.ts";
import { type AssistantMessage, textOf, type ToolCall, toolCalls } from "../../agent/messages.ts";
import { type Decision, describeQuestion } from "../../agent/questions.ts";
import { nameEnding, type TurnEnding } from "../../agent/silence.ts";
import { makeExcerpt, type Mask } from "../excerpt.ts";
import type { Ending, Excerpt } from "../finding.ts";
import type { TimelineEntry, TransientEvent } from "./timeline-entry.ts";

/** Of one text, in characters: a page of records must stay small whatever a tool has printed. */
const textChars = 6_000;
const argumentChars = 3_000;
const detailChars = 1_000;

/**
 * A thread's journal as a person reads it, one entry a record.
 *
 * @param position of the first record
 * @param before the record before it, for the time that a model call took
 */
export async function buildTimeline(
  records: readonly JournalRecord[],
  position: number,
  before: JournalRecord | undefined,
  mask: Mask,
): Promise<TimelineEntry[]> {
  let last = before && readTime(before);
  const entries: TimelineEntry[] = [];
  for (const [index, record] of records.entries()) {
    const at = readTime(record);
    const entry = toEntry(record, last, mask);
    last = at ?? last;
    entries.push({ position: position + index, ...(at !== undefined && { at }), ...entry });
    // To mask long texts takes milliseconds for each.
    await yieldToOthers();
  }
  return entries;
}

type Entry = TimelineEntry extends infer One
  ? One extends unknown
    ? Omit<One, "position" | "at">
    : never
  : never;

function toEntry(record: JournalRecord, last: number | undefined, mask: Mask): Entry {
  const cut = (text: string, chars = textChars): Excerpt => makeExcerpt(text, mask, chars);
  switch (record.type) {
    case "turn-start":
      return { kind: "turn-start", turn: record.turn };
    case "user": {
      const { id, author, text, images = [] } = record.message;
      return { kind: "message", id, author: mask(author.name), text: cut(text), images: images.length };
    }
    case "enclosure":
      return { kind: "enclosure", text: cut(record.beside), images: record.images?.length ?? 0 };
    case "question": {
      const { question } = record;
      const text = describeQuestion(question);
      return {
        ...{ kind: "question", id: question.id, asks: question.kind },
        ...{ tool: mask(question.tool), text: cut(text, detailChars) },
      };
    }
    case "decision": {
      const [by, text] = describeDecision(record.decision);
      const { question, decision } = record;
      return {
        kind: "decision",
        question,
        decision: decision.kind,
        by: mask(by),
        text: cut(text, detailChars),
      };
    }
    case "withdrawn":
      return { kind: "withdrawn", id: record.id };
    case "unreadable":
      return { kind: "unreadable", text: cut(record.why, detailChars) };
    case "nudge":
      return { kind: "nudge", text: cut(record.message.text) };
    case "assistant": {
      const { message, step, usage, troubles = [], at } = record;
      return {
        ...{ kind: "model", step, model: message.model, stop: message.stop, figures: usage },
        text: cut(textOf(message)),
        thinking: cut(joinThinking(message)),
        troubles: cut(troubles.join("\n"), detailChars),
        calls: toolCalls(message).map((call) => ({
          id: call.id,
          name: mask(call.name),
          arguments: cut(formatArguments(call), argumentChars),
        })),
        ...(last !== undefined && { tookMs: Math.max(0, at - last) }),
      };
    }
    case "tool-start":
      return { kind: "tool-start", call: record.callId };
    case "tool-result": {
      const { callId, name, status, notRun, text, images = [] } = record.message;
      return {
        ...{
          kind: "tool-result",
          call: callId,
          name: mask(name),
          status: notRun ?? status,
          text: cut(text),
          images: images.length,
        },
        ...pickExit(name, text),
        tookMs: record.durationMs,
        ...(record.usage && { figures: record.usage }),
        ...(record.inner && { inner: toInnerCalls(record.inner, cut) }),
      };
    }
    case "trim":
      return { kind: "trim", calls: record.callIds.length, ...pickSizes(record) };
    case "summary": {
      const { message, keep, usage } = record;
      return { kind: "summary", text: cut(message.text), kept: keep, figures: usage, ...pickSizes(record) };
    }
    case "turn-end": {
      const { turn, outcome } = record;
      const { steps, usage } = outcome;
      const [detail, text] = toWords(outcome);
      return {
        ...{ kind: "turn-end", turn, ended: describeEnding(nameEnding(outcome)), steps, figures: usage },
        detail: mask(detail).slice(0, detailChars),
        text: cut(text),
      };
    }
  }
}

/** In the words of the console. */
export function describeEnding(ending: TurnEnding): Ending {
  switch (ending) {
    case "answered":
    case "silent":
    case "stopped":
    case "refused":
      return ending;
    case "step-limit":
    case "budget":
      return "paused";
    case "model-error":
      return "failed";
    case "waiting":
    case "suspended":
    case "lost-lease":
      return "handed-over";
  }
}

/** Why it ended so, and its last words where they are no answer: that is in the entry of the model. */
function toWords(outcome: TurnOutcome): [detail: string, text: string] {
  switch (outcome.kind) {
    case "stopped":
      return [`by ${outcome.order.by}`, outcome.said ?? ""];
    case "step-limit":
    case "budget":
      return [`at the limit of ${outcome.limit}`, outcome.text];
    case "refused":
    case "model-error":
      return ["", outcome.text];
    case "answered":
    case "waiting":
    case "suspended":
    case "lost-lease":
      return ["", ""];
  }
}

/** Who decided, and what they said. */
function describeDecision(decision: Decision): [by: string, text: string] {
  switch (decision.kind) {
    case "approved":
      return [decision.by.name, ""];
    case "denied":
      return [decision.by.name, decision.reason ?? ""];
    case "answered":
      return [decision.by.name, decision.text ?? ""];
    case "unasked":
      return ["", decision.why];
    case "expired":
      return ["", ""];
  }
}

export function toInnerCalls({ calls, omitted }: InnerCalls, cut: (text: string) => Excerpt) {
  return {
    omitted,
    calls: calls.map(({ name, input, status: ended, notRun, text, durationMs }) => {
      const status = notRun ?? ended;
      return {
        ...{ name: cut(name).text, arguments: cut(input), status, text: cut(text), tookMs: durationMs },
        ...pickExit(name, text),
      };
    }),
  };
}

function pickExit(name: string, text: string) {
  const exit = readFailedExit(name, text);
  return exit !== undefined && { exit };
}

function joinThinking({ parts }: AssistantMessage): string {
  return parts.flatMap((part) => (part.type === "thinking" && part.text ? [part.text] : [])).join("\n\n");
}

export function formatArguments({ input, malformed }: ToolCall): string {
  return malformed ?? formatJson(input);
}

function pickSizes({ before, after }: { before?: number; after?: number }) {
  return { ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
}

function readTime(record: JournalRecord): number | undefined {
  return "at" in record ? record.at : undefined;
}

/** What a live event tells beyond the journal; `null` when the journal tells it. */
export function toTransientEvent(
  event: AgentEvent | { type: "turn-start" | "turn-end" },
  mask: Mask,
): TransientEvent | null | undefined {
  switch (event.type) {
    case "step-start":
      return { kind: "step", text: `Step ${event.step}: waiting for the model.` };
    case "retry": {
      const text = `${event.reason} Trying again in ${(event.delayMs / 1_000).toFixed(1)} s (attempt ${event.attempt}).`;
      return { kind: "retry", text: mask(text).slice(0, detailChars) };
    }
    case "notice":
      return { kind: "notice", text: mask(event.text).slice(0, detailChars) };
    case "helper": {
      const text = helperWords(event.event);
      return text === undefined ? undefined : { kind: "step", text: mask(text).slice(0, detailChars) };
    }
    case "text-delta":
    case "thinking-delta":
    case "tool-output":
      return undefined;
    default:
      return null;
  }
}

/** What a sub-agent does at this moment. */
function helperWords(event: StepEvent | CallEvent): string | undefined {
  switch (event.type) {
    case "step-start":
      return `A helper is at its step ${event.step}: waiting for the model.`;
    case "tool-start":
      return `A helper is at its step ${event.step}: running ${event.call.name}.`;
    case "retry":
    case "assistant":
    case "tool-end":
      return undefined;
  }
}
