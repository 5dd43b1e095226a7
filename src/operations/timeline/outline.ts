import type { Redis } from "ioredis";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { readFailedExit } from "../../agent/exit-code.ts";
import type { JournalRecord } from "../../agent/journal/journal.ts";
import { textOf, toolCalls } from "../../agent/messages.ts";
import { foldText } from "../../agent/text/text.ts";
import { nameEnding } from "../../agent/silence.ts";
import { makeTitle } from "../../chat/title.ts";
import { readForward } from "../../queue/session/journal/journal.ts";
import type { Mask } from "../excerpt.ts";
import type { FoundRecord, OutlineTurn, ThreadOutlines, TurnSpan } from "../operations.ts";
import { describeEnding } from "./timeline.ts";

const titleChars = 80;
const listedTurns = 1_000;
const listedFailures = 2_000;
const foundRecords = 200;
const listedSpans = 500;
/** Around what was found, in characters. */
const aroundFound = 60;

/** Finding one's way in a long journal: it is read in pieces, from its beginning. */
export function createOutlines(redis: Redis, mask: Mask): ThreadOutlines {
  return {
    async outline(thread) {
      const turns: OutlineTurn[] = [];
      const failures: number[] = [];
      let length = 0;
      for await (const { records, from } of readForward(redis, thread)) {
        for (const [index, record] of records.entries()) {
          addLandmark(turns, record, from + index, mask);
          if (isFailure(record)) failures.push(from + index);
        }
        length = from + records.length;
      }
      return { turns: turns.slice(-listedTurns), failures: failures.slice(-listedFailures), length };
    },

    async search(thread, query) {
      const found: FoundRecord[] = [];
      const wanted = foldText(query);
      for await (const { records, from } of readForward(redis, thread)) {
        for (const [index, record] of records.entries()) {
          const written = findSearchableText(record);
          // Few texts have it, and to mask a long one takes milliseconds.
          if (!foldText(written).includes(wanted) && !wanted.includes("masked")) continue;
          const text = mask(written).normalize();
          await yieldToOthers();
          const at = foldText(text).indexOf(wanted);
          if (at === -1) continue;
          if (found.length === foundRecords) return { found, hasMore: true };
          found.push({ position: from + index, excerpt: cutAround(text, at, wanted.length) });
        }
      }
      return { found, hasMore: false };
    },

    async spans(thread, turn) {
      const spans: TurnSpan[] = [];
      let open: SpanReader | undefined;
      for await (const { records, from } of readForward(redis, thread)) {
        for (const [index, record] of records.entries()) {
          if (record.type === "turn-start")
            open = record.turn === turn ? new SpanReader(record.at, mask) : undefined;
          const span = open?.read(record, from + index);
          if (span) spans.push(span);
          if (record.type === "turn-end" && record.turn === turn) return spans.slice(-listedSpans);
        }
      }
      return spans.slice(-listedSpans);
    },
  };
}

function addLandmark(turns: OutlineTurn[], record: JournalRecord, position: number, mask: Mask): void {
  const last = turns.at(-1);
  if (record.type === "turn-start") turns.push({ turn: record.turn, position, at: record.at, title: "" });
  else if (record.type === "user" && last?.title === "")
    last.title = makeTitle(mask(record.message.text), titleChars);
  else if (record.type === "turn-end" && last?.turn === record.turn) {
    last.ended = describeEnding(nameEnding(record.outcome));
    last.tookMs = record.at - last.at;
    last.figures = record.outcome.usage;
  }
}

/** What a person who looks for trouble should see. */
function isFailure(record: JournalRecord): boolean {
  switch (record.type) {
    case "tool-result": {
      const { name, status, text } = record.message;
      return status === "error" || status === "unknown" || readFailedExit(name, text) !== undefined;
    }
    case "turn-end":
      return ["failed", "refused"].includes(describeEnding(nameEnding(record.outcome)));
    case "assistant":
      return (record.troubles ?? []).length > 0;
    default:
      return record.type === "unreadable";
  }
}

function findSearchableText(record: JournalRecord): string {
  switch (record.type) {
    case "user":
    case "nudge":
    case "summary":
    case "tool-result":
      return record.message.text;
    case "enclosure":
      return record.beside;
    case "assistant": {
      const calls = toolCalls(record.message).map(({ name, input }) => `${name} ${JSON.stringify(input)}`);
      return [textOf(record.message), ...calls].join("\n");
    }
    case "question":
      return record.question.tool;
    case "turn-start":
    case "turn-end":
      return record.turn;
    case "withdrawn":
    case "tool-start":
    case "decision":
    case "trim":
    case "unreadable":
      return "";
  }
}

function cutAround(text: string, at: number, length: number): string {
  const from = Math.max(0, at - aroundFound);
  const cut = text.slice(from, at + length + aroundFound).toWellFormed();
  return `${from > 0 ? "…" : ""}${cut.replaceAll(/\s+/g, " ")}`;
}

/** Turns the records of a turn into what took its time. */
class SpanReader {
  #before: number;
  readonly #mask: Mask;
  readonly #started = new Map<string, { at: number; position: number }>();
  readonly #asked = new Map<string, number>();

  constructor(startedAt: number, mask: Mask) {
    this.#before = startedAt;
    this.#mask = mask;
  }

  read(record: JournalRecord, position: number): TurnSpan | undefined {
    const before = this.#before;
    if ("at" in record) this.#before = record.at;
    switch (record.type) {
      case "assistant":
        return {
          ...{ kind: "model", name: this.#mask(record.message.model), position, from: before, to: record.at },
          ...{ step: record.step, figures: record.usage, isFailed: (record.troubles ?? []).length > 0 },
        };
      case "tool-start":
        this.#started.set(record.callId, { at: record.at, position });
        return undefined;
      case "tool-result": {
        const { callId, name } = record.message;
        const from = this.#started.get(callId)?.at ?? record.at - record.durationMs;
        return {
          ...{ kind: "tool", name: this.#mask(name), position, from, to: record.at },
          ...{ isFailed: isFailure(record), ...(record.usage && { figures: record.usage }) },
        };
      }
      case "question":
        this.#asked.set(record.question.id, record.at);
        return undefined;
      case "decision": {
        const from = this.#asked.get(record.question) ?? record.at;
        return { kind: "waiting", name: "a person", position, from, to: record.at, isFailed: false };
      }
      default:
        return undefined;
    }
  }
}
