import type { Redis } from "ioredis";
import type { JournalRecord } from "../../agent/journal/journal.ts";
import { isFromPerson, type ToolCall, toolCalls, type UserMessage } from "../../agent/messages.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { readBackward } from "../session/journal/journal.ts";
import { partsOutside, type Span } from "./spans.ts";

/** A turn of a thread, as an undo needs it. */
export interface PastTurn {
  id: string;
  at: number;
  /** The position of its first record. */
  from: number;
  /** What people wrote that it has worked on. */
  asked: UserMessage[];
  /** What it has called and nobody has denied, those of its helpers by name alone. */
  calls: Pick<ToolCall, "name" | "input">[];
}

/** The last turns that were not undone, the newest first. */
export async function findLastTurns(
  redis: Redis,
  thread: ThreadId,
  { length, undone, most }: { length: number; undone: readonly Span[]; most: number },
): Promise<PastTurn[]> {
  const turns: PastTurn[] = [];
  let after: JournalRecord[] = [];
  for (const part of partsOutside(undone, length).toReversed()) {
    for await (const { records, from } of readBackward(redis, thread, part.to)) {
      const skipped = Math.max(0, part.from - from);
      for (let index = records.length - 1; index >= skipped; index -= 1) {
        const record = records[index];
        if (!record) continue;
        if (record.type !== "turn-start") {
          after.push(record);
          continue;
        }
        turns.push(describeTurn(record, from + index, after.toReversed()));
        if (turns.length === most) return turns;
        after = [];
      }
      if (from <= part.from) break;
    }
  }
  return turns;
}

function describeTurn(
  { turn: id, at }: Extract<JournalRecord, { type: "turn-start" }>,
  from: number,
  records: readonly JournalRecord[],
): PastTurn {
  const messages = records.flatMap((record) => (record.type === "user" ? [record.message] : []));
  const calls: (PastTurn["calls"][number] & { id?: string })[] = [];
  for (const record of records) {
    if (record.type === "assistant") calls.push(...toolCalls(record.message));
    if (record.type !== "tool-result") continue;
    const { notRun, callId } = record.message;
    // Call ids repeat with some models: the newest call is meant.
    const denied = notRun ? calls.findLastIndex(({ id: called }) => called === callId) : -1;
    if (denied !== -1) calls.splice(denied, 1);
    for (const { name, input, notRun: isDenied } of record.inner?.calls ?? [])
      if (!isDenied) calls.push({ name, input: { input } });
  }
  return { id, at, from, asked: messages.filter(isFromPerson), calls };
}
