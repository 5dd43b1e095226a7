import type { Redis } from "ioredis";
import { z } from "zod";
import { createStoredParser } from "../../agent/text/parse-stored.ts";
import { speakerSchema } from "../../agent/journal/schemas.ts";
import { outboundMessageSchema } from "../../chat/schemas.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { readHeadField } from "../session/stored.ts";
import type { Span } from "./spans.ts";

/**
 * What a session's head holds of undoing. The journal is never changed: turns that were undone are a span of it, and the
 * snapshot behind them is the conversation without them, which is what every claim begins with. An older Heddle reads
 * that snapshot too, and need not know of spans.
 */

const spanSchema: z.ZodType<Span> = z.looseObject({ from: z.int().nonnegative(), to: z.int().nonnegative() });

/** Field `undone`. */
const undoneSchema = z.looseObject({ v: z.literal(1), spans: z.array(spanSchema) });

/** What people were shown, and what is done once somebody has agreed to it. */
const undoPlanSchema = z.looseObject({
  /** The journal's length when it was made: nothing may have happened since. */
  length: z.int().nonnegative(),
  from: z.int().nonnegative(),
  /** Ids of the turns, the newest first. */
  turns: z.array(z.string()),
  /** Ids of those who have asked for each of them. */
  askers: z.array(z.string()),
  /** The first words of what they began with. */
  about: z.string(),
  /** The checkpoint to bring back; absent where the turns have written no files. */
  files: z.string().optional(),
  /** The checkpoint of the files as they were shown. */
  present: z.string().optional(),
});
export type UndoPlan = z.infer<typeof undoPlanSchema>;

/**
 * Field `undo`. `show`: somebody has asked what it would change. `shown`: a question to people. `undo` and `dismiss`:
 * what somebody has answered. `redo`: the last undo is to be taken back. `fork`: a new thread is to go on from before these turns.
 */
const undoOrderSchema = z.looseObject({
  v: z.literal(1),
  id: z.string(),
  do: z.enum(["show", "shown", "undo", "dismiss", "redo", "fork"]),
  /** How many of the last ones; of a fork also none. */
  turns: z.int().nonnegative(),
  /** To show: all of the last ones up to this one, in place of a number. */
  turn: z.string().optional(),
  by: speakerSchema,
  at: z.number(),
  plan: undoPlanSchema.optional(),
});
export type UndoOrder = z.infer<typeof undoOrderSchema>;

/** Field `redo`: how the last undo is taken back, as long as nothing has happened since. */
const redoSchema = z.looseObject({
  v: z.literal(1),
  id: z.string(),
  length: z.int().nonnegative(),
  spans: z.array(spanSchema),
  askers: z.array(z.string()),
  /** The checkpoints of the files as they were before the undo, and as it has left them. */
  files: z.string().optional(),
  left: z.string().optional(),
});
export type Redo = z.infer<typeof redoSchema>;

/**
 * Field `restoring`: the conversation has been switched, and the rest may not be done yet. `order` is what was ordered,
 * and `message` what people are told of it.
 */
const restoringSchema = z.looseObject({
  v: z.literal(1),
  order: undoOrderSchema,
  /** The checkpoint of the files that go with the conversation; absent where they are as they should be. */
  files: z.string().optional(),
  message: outboundMessageSchema,
});
export type Restoring = z.infer<typeof restoringSchema>;

const parseUndone = createStoredParser(undoneSchema);
const parseUndoOrder = createStoredParser(undoOrderSchema);
const parseRedo = createStoredParser(redoSchema);
const parseRestoring = createStoredParser(restoringSchema);

type Head = Readonly<Record<string, string | null | undefined>>;

export function readUndone(redis: Redis, thread: ThreadId, head: Head): Span[] {
  return readHeadField(redis, thread, "undone", parseUndone, head["undone"])?.spans ?? [];
}

export function readUndoOrder(redis: Redis, thread: ThreadId, head: Head): UndoOrder | undefined {
  return readHeadField(redis, thread, "undo", parseUndoOrder, head["undo"]);
}

export function readRedo(redis: Redis, thread: ThreadId, head: Head): Redo | undefined {
  return readHeadField(redis, thread, "redo", parseRedo, head["redo"]);
}

export function readRestoring(redis: Redis, thread: ThreadId, head: Head): Restoring | undefined {
  return readHeadField(redis, thread, "restoring", parseRestoring, head["restoring"]);
}
