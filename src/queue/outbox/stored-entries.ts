import type { Redis } from "ioredis";
import { z } from "zod";
import type { Fields } from "../../agent/journal/schemas.ts";
import { messageMarkSchema, messageRefSchema, outboundMessageSchema } from "../../chat/schemas.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { createStoredParser } from "../../agent/text/parse-stored.ts";
import { readStored } from "../redis/unreadable.ts";
import type { OutboxEntry } from "./contracts.ts";

type Entry<Do extends OutboxEntry["do"]> = Extract<OutboxEntry, { do: Do }>;

const outboxEntrySchema: z.ZodType<OutboxEntry> = z.discriminatedUnion("do", [
  z.looseObject({
    do: z.literal("post"),
    message: outboundMessageSchema,
    begun: z.exactOptional(z.number()),
    attempts: z.number(),
    question: z.exactOptional(z.string()),
    heldSince: z.exactOptional(z.number()),
    inPlace: z.exactOptional(z.literal(true)),
  } satisfies Fields<Entry<"post">>),
  z.looseObject({
    do: z.literal("edit"),
    field: z.union([z.literal("progress"), z.templateLiteral(["asked:", z.string()])]),
    message: outboundMessageSchema,
  } satisfies Fields<Entry<"edit">>),
  z.looseObject({
    do: z.literal("settle"),
    message: outboundMessageSchema.nullable(),
    since: z.number(),
    aside: z.exactOptional(z.looseObject({ since: z.number(), ref: z.exactOptional(messageRefSchema) })),
  } satisfies Fields<Entry<"settle">>),
  z.looseObject({
    do: z.literal("mark"),
    ref: messageRefSchema,
    mark: messageMarkSchema,
    paused: z.exactOptional(z.literal(true)),
  } satisfies Fields<Entry<"mark">>),
]);

const parseEntry = createStoredParser(outboxEntrySchema);
const parseSettled = createStoredParser(outboundMessageSchema.nullable());

/** An entry with the JSON that it was read from: removing it compares that. */
export interface StoredEntry {
  key: string;
  json: string;
  entry: OutboxEntry;
}

/** What a thread's outbox holds, but for entries that cannot be read: they stay in it, and nobody waits for them. */
export function readEntries(
  redis: Redis,
  thread: ThreadId,
  stored: Readonly<Record<string, string>>,
): StoredEntry[] {
  return Object.entries(stored).flatMap(([key, json]) => {
    const entry = readStored(redis, parseEntry, json, `The entry ${key} of the outbox of ${thread}`);
    return entry ? [{ key, json, entry }] : [];
  });
}

/** See `readSettledSince`. */
export function readSettled(redis: Redis, thread: ThreadId, json: string) {
  return readStored(redis, parseSettled, json, `The settled progress message of ${thread}`);
}
