import type { Redis } from "ioredis";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { readFailedExit } from "../../agent/exit-code.ts";
import type { JournalRecord } from "../../agent/journal/journal.ts";
import { type ToolCall, toolCalls } from "../../agent/messages.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { readBackward, readForward } from "../../queue/session/journal/journal.ts";
import { makeExcerpt, type Mask } from "../excerpt.ts";
import type { CallDetails, CallIndex, CallLine } from "../operations.ts";
import { formatArguments, toInnerCalls } from "./timeline.ts";

/** Of the arguments of a call in a list, in characters: enough for its line. */
const lineChars = 300;
/** Of one call that somebody unfolds. */
const detailChars = 100_000;
/** The calls of a turn that are listed, the last ones. */
const listedCalls = 2_000;

/** The tool calls of a thread's turns, from its journal. */
export function createCallIndex(redis: Redis, mask: Mask): CallIndex {
  return {
    async list(thread, turn) {
      const records = await readTurn(redis, thread, turn);
      const lines = await listCalls(records, mask);
      const omitted = Math.max(0, lines.length - listedCalls);
      return { calls: lines.slice(omitted), omitted };
    },

    async find(thread, position, index) {
      let called: Called | undefined;
      for await (const { records } of readForward(redis, thread, position)) {
        for (const record of records) {
          if (!called) {
            const call = record.type === "assistant" ? toolCalls(record.message)[index] : undefined;
            if (!call) return undefined;
            called = { call };
            continue;
          }
          // Every call is answered before the next reply.
          const isOver = record.type === "assistant" || record.type === "turn-end";
          if (called.result || isOver) return toDetails(called, mask);
          addTo(called, record);
        }
      }
      return called && toDetails(called, mask);
    },
  };
}

type Result = Extract<JournalRecord, { type: "tool-result" }>;

interface Called {
  call: ToolCall;
  startedAt?: number;
  result?: Result;
}

/** The records of a turn with their positions, oldest first; empty where there is no such turn. */
async function readTurn(
  redis: Redis,
  thread: ThreadId,
  turn: string,
): Promise<{ record: JournalRecord; position: number }[]> {
  const turns: { record: JournalRecord; position: number }[][] = [];
  for await (const { records, from } of readBackward(redis, thread)) {
    const placed = records.map((record, index) => ({ record, position: from + index }));
    const start = placed.findLastIndex(({ record }) => record.type === "turn-start" && record.turn === turn);
    turns.unshift(placed.slice(Math.max(0, start)));
    if (start === -1) continue;
    const all = turns.flat();
    const end = all.findIndex(({ record }) => record.type === "turn-end" && record.turn === turn);
    return end === -1 ? all : all.slice(0, end);
  }
  return [];
}

async function listCalls(
  records: readonly { record: JournalRecord; position: number }[],
  mask: Mask,
): Promise<CallLine[]> {
  const all: (Called & { key: string })[] = [];
  // Call ids repeat with some models: the newest call is meant.
  const newest = new Map<string, Called>();
  for (const { record, position } of records) {
    if (record.type === "assistant") {
      for (const [index, call] of toolCalls(record.message).entries()) {
        const called = { call, key: `${position}.${index}` };
        all.push(called);
        newest.set(call.id, called);
      }
    } else addTo(newest.get(callIdOf(record)), record);
  }
  const lines: CallLine[] = [];
  for (const { key, ...called } of all) {
    if (called.call.name === "todo") continue;
    lines.push({ key, id: called.call.id, ...describeCalled(called, mask, lineChars) });
    // To mask one that has written a file takes milliseconds, and there may be thousands.
    await yieldToOthers();
  }
  return lines;
}

function callIdOf(record: JournalRecord): string {
  if (record.type === "tool-start") return record.callId;
  return record.type === "tool-result" ? record.message.callId : "";
}

function addTo(called: Called | undefined, record: JournalRecord): void {
  if (called?.call.id !== callIdOf(record)) return;
  if (record.type === "tool-start") called.startedAt = record.at;
  if (record.type === "tool-result") called.result = record;
}

function describeCalled({ call, startedAt, result }: Called, mask: Mask, argumentChars: number) {
  const text = result?.message.text ?? "";
  const exit = readFailedExit(call.name, text);
  return {
    name: mask(call.name),
    arguments: makeExcerpt(formatArguments(call), mask, argumentChars),
    ...(startedAt !== undefined && { startedAt }),
    ...(result && {
      status: result.message.notRun ?? result.message.status,
      tookMs: result.durationMs,
    }),
    ...(exit !== undefined && { exit }),
  };
}

function toDetails(called: Called, mask: Mask): CallDetails {
  const { result } = called;
  const cut = (text: string, chars = detailChars) => makeExcerpt(text, mask, chars);
  return {
    ...describeCalled(called, mask, detailChars),
    ...(result && {
      result: cut(result.message.text),
      images: result.message.images?.length ?? 0,
      ...(result.usage && { figures: result.usage }),
      ...(result.inner && { inner: toInnerCalls(result.inner, cut) }),
    }),
  };
}
