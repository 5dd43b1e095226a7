import type { Redis } from "ioredis";
import { z } from "zod";
import { createStoredParser } from "../../agent/text/parse-stored.ts";
import { messageRefSchema } from "../../chat/schemas.ts";
import type { MessageRef, ThreadId } from "../../chat/threads.ts";
import type { OutboxEntry } from "../outbox/contracts.ts";
import type { Change } from "../session/lease.ts";
import { readHeadField } from "../session/stored.ts";

const parseRefs = createStoredParser(z.array(messageRefSchema));

/**
 * What people asked of a turn that a limit has paused is shown as paused until a later turn ends: then it is answered.
 *
 * @param closing what the thread is to show of the turn that ends
 * @returns what the head remembers, and the marks to set besides
 */
export function followPausedMarks(
  redis: Redis,
  thread: ThreadId,
  head: Readonly<Record<string, string>>,
  { turn, closing }: { turn: string; closing: Readonly<Record<string, OutboxEntry>> },
): { fields: NonNullable<Change["fields"]>; outbox: Record<string, OutboxEntry> } {
  const earlier = readHeadField(redis, thread, "paused", parseRefs, head["paused"]) ?? [];
  const paused = Object.values(closing).flatMap((entry) =>
    entry.do === "mark" && entry.paused ? [entry.ref] : [],
  );
  if (paused.length > 0) return { fields: { paused: JSON.stringify([...earlier, ...paused]) }, outbox: {} };
  if (earlier.length === 0) return { fields: {}, outbox: {} };
  const unpause = (ref: MessageRef) =>
    [`${turn}:mark:${ref.message}`, { do: "mark", ref, mark: "answered" }] as const;
  return { fields: { paused: "" }, outbox: Object.fromEntries(earlier.map(unpause)) };
}
