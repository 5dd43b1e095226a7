import type { Redis } from "ioredis";
import { z } from "zod";
import type { StopOrder } from "../../agent/events.ts";
import type { JournalRecord } from "../../agent/journal/journal.ts";
import { heddle, type UserMessage } from "../../agent/messages.ts";
import { journalRecordSchema } from "../../agent/journal/journal-schema.ts";
import { decisionSchema, questionSchema } from "../../agent/journal/question-schemas.ts";
import { stopOrderSchema } from "../../agent/journal/schemas.ts";
import { messageRefSchema } from "../../chat/schemas.ts";
import type { MessageRef, ThreadId } from "../../chat/threads.ts";
import { compileGuard } from "../redis/compile-guard.ts";
import { createStoredParser, type StoredParser } from "../../agent/text/parse-stored.ts";
import { readStored, reportUnreadable } from "../redis/unreadable.ts";

/** What a session has stored, as its readers get it. What cannot be read is reported, and stays where it is. */

const parseRecord = createStoredParser(journalRecordSchema, compileGuard(journalRecordSchema));

/**
 * A record of a thread's journal.
 *
 * @param position counted from 0; people read it counted from 1, as `search_history` does
 */
export function readRecord(redis: Redis, thread: ThreadId, position: number, json: string): JournalRecord {
  const parsed = parseRecord(json);
  if (parsed.ok) return parsed.value;
  reportUnreadable(redis, `Record ${position + 1} of the journal of ${thread}`, parsed.why);
  const message = standIn(parsed.parsed);
  return message ? { type: "user", message } : { type: "unreadable", why: parsed.why };
}

/** Records of a thread's journal in a row. @param from the position of the first */
export function readRecords(
  redis: Redis,
  thread: ThreadId,
  from: number,
  entries: readonly string[],
): JournalRecord[] {
  return entries.map((json, index) => readRecord(redis, thread, from + index, json));
}

/** A message that waits in a mailbox, or that has just been taken out of it; undefined for what tells not even its id. */
export function readMessage(redis: Redis, thread: ThreadId, json: string): UserMessage | undefined {
  const parsed = parseRecord(json);
  if (parsed.ok && parsed.value.type === "user") return parsed.value.message;
  const why = parsed.ok ? "it is not a message" : parsed.why;
  reportUnreadable(redis, `A message in the mailbox of ${thread}`, why);
  return parsed.ok ? undefined : standIn(parsed.parsed);
}

const known = z.object({ type: z.literal("user"), message: z.object({ id: z.string(), at: z.number() }) });

/** What stands for a message of which only its place in the conversation is known. `take.lua` has the same words. */
function standIn(record: unknown): UserMessage | undefined {
  const { success, data } = known.safeParse(record);
  if (!success) return undefined;
  const { id, at } = data.message;
  return { role: "user", id, author: heddle, text: unreadableMessage, at };
}

/** Whether the record stands for one that this Heddle cannot read. */
export function isStandIn(record: JournalRecord): boolean {
  return (
    record.type === "unreadable" || (record.type === "user" && record.message.text === unreadableMessage)
  );
}

const unreadableMessage =
  "(Here stood a message that cannot be read. Tell people so, and ask them to send it again.)";

const parseStop = createStoredParser(stopOrderSchema);

export function readStopOrder(redis: Redis, thread: ThreadId, json: string): StopOrder | undefined {
  return readStored(redis, parseStop, json, `The stop order of ${thread}`);
}

/** Parsers of what is JSON in the fields of a session's head. */
export const parseQuestion = createStoredParser(questionSchema);
export const parseDecision = createStoredParser(decisionSchema);
const parseMessageRef = createStoredParser(messageRefSchema);

/** What a field of a session's head holds; undefined when it is not there, or cannot be read. */
export function readHeadField<T>(
  redis: Redis,
  thread: ThreadId,
  field: string,
  parse: StoredParser<T>,
  json: string | null | undefined,
): T | undefined {
  return json ? readStored(redis, parse, json, `The field ${field} of the head of ${thread}`) : undefined;
}

/** The message that a field of a session's head refers to. */
export function readMessageRef(
  redis: Redis,
  thread: ThreadId,
  field: string,
  json: string | null | undefined,
): MessageRef | undefined {
  return readHeadField(redis, thread, field, parseMessageRef, json);
}

const numbers = {
  created: z.coerce.number(),
  claimedAt: z.coerce.number(),
  told: z.coerce.number().int().nonnegative(),
  cost: z.coerce.number(),
  turnCost: z.coerce.number(),
};

/** A figure in a session's head; 0 when it is not there, or no number. */
export function readHeadNumber(
  redis: Redis,
  thread: ThreadId,
  field: keyof typeof numbers,
  text: string | null | undefined,
): number {
  if (!text) return 0;
  const { success, data } = numbers[field].safeParse(text);
  if (!success) reportUnreadable(redis, `The field ${field} of the head of ${thread}`, "it is not a number");
  return data ?? 0;
}
