import { z } from "zod";
import type { JournalRecord } from "./journal.ts";
import { decisionSchema, questionSchema } from "./question-schemas.ts";
import {
  assistantMessageSchema,
  type Fields,
  imageSchema,
  innerCallsSchema,
  summaryMessageSchema,
  toolMessageSchema,
  turnOutcomeSchema,
  usageSchema,
  userMessageSchema,
} from "./schemas.ts";

type Kept<Type extends JournalRecord["type"]> = Extract<JournalRecord, { type: Type }>;

/** What a record of a journal looks like where it was stored; see schemas.ts. */
export const journalRecordSchema: z.ZodType<JournalRecord> = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("turn-start"), turn: z.string(), at: z.number() } satisfies Fields<
    Kept<"turn-start">
  >),
  z.looseObject({ type: z.literal("user"), message: userMessageSchema } satisfies Fields<Kept<"user">>),
  z.looseObject({
    type: z.literal("enclosure"),
    message: z.string(),
    beside: z.string(),
    images: z.exactOptional(z.array(imageSchema)),
    at: z.number(),
  } satisfies Fields<Kept<"enclosure">>),
  z.looseObject({
    type: z.literal("withdrawn"),
    id: z.string(),
    reason: z.literal("stopped"),
  } satisfies Fields<Kept<"withdrawn">>),
  z.looseObject({ type: z.literal("nudge"), message: userMessageSchema } satisfies Fields<Kept<"nudge">>),
  z.looseObject({
    type: z.literal("assistant"),
    step: z.number(),
    message: assistantMessageSchema,
    usage: usageSchema,
    troubles: z.exactOptional(z.array(z.string())),
    at: z.number(),
  } satisfies Fields<Kept<"assistant">>),
  z.looseObject({ type: z.literal("tool-start"), callId: z.string(), at: z.number() } satisfies Fields<
    Kept<"tool-start">
  >),
  z.looseObject({
    type: z.literal("tool-result"),
    message: toolMessageSchema,
    durationMs: z.number(),
    usage: z.exactOptional(usageSchema),
    inner: z.exactOptional(innerCallsSchema),
    at: z.number(),
  } satisfies Fields<Kept<"tool-result">>),
  z.looseObject({ type: z.literal("question"), question: questionSchema, at: z.number() } satisfies Fields<
    Kept<"question">
  >),
  z.looseObject({
    type: z.literal("decision"),
    question: z.string(),
    decision: decisionSchema,
    at: z.number(),
  } satisfies Fields<Kept<"decision">>),
  z.looseObject({
    type: z.literal("trim"),
    callIds: z.array(z.string()),
    before: z.exactOptional(z.number()),
    after: z.exactOptional(z.number()),
    at: z.number(),
  } satisfies Fields<Kept<"trim">>),
  z.looseObject({
    type: z.literal("summary"),
    message: summaryMessageSchema,
    keep: z.number(),
    usage: usageSchema,
    before: z.exactOptional(z.number()),
    after: z.exactOptional(z.number()),
    at: z.number(),
  } satisfies Fields<Kept<"summary">>),
  z.looseObject({
    type: z.literal("turn-end"),
    turn: z.string(),
    outcome: turnOutcomeSchema,
    at: z.number(),
  } satisfies Fields<Kept<"turn-end">>),
]);
