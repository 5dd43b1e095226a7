import { z } from "zod";
import type { AgentEvent, CallEvent, StepEvent } from "../events.ts";
import { questionSchema } from "./question-schemas.ts";
import {
  assistantMessageSchema,
  type Fields,
  innerCallsSchema,
  summaryMessageSchema,
  toolCallSchema,
  toolMessageSchema,
  usageSchema,
  userMessageSchema,
} from "./schemas.ts";

/** The agent's events as live viewers get them from another process. See `schemas.ts`. */

const optional = z.exactOptional;

type Event<Type extends AgentEvent["type"]> = Extract<AgentEvent, { type: Type }>;

const stepEvents = [
  z.looseObject({ type: z.literal("step-start"), step: z.number() } satisfies Fields<Event<"step-start">>),
  z.looseObject({
    type: z.literal("retry"),
    step: z.number(),
    attempt: z.number(),
    delayMs: z.number(),
    reason: z.string(),
  } satisfies Fields<Event<"retry">>),
  z.looseObject({
    type: z.literal("assistant"),
    step: z.number(),
    message: assistantMessageSchema,
    usage: usageSchema,
    troubles: optional(z.array(z.string())),
  } satisfies Fields<Event<"assistant">>),
] as const;

const callEvents = [
  z.looseObject({
    type: z.literal("tool-start"),
    step: z.number(),
    call: toolCallSchema,
  } satisfies Fields<Event<"tool-start">>),
  z.looseObject({
    type: z.literal("tool-end"),
    step: z.number(),
    message: toolMessageSchema,
    durationMs: z.number(),
    usage: optional(usageSchema),
    inner: optional(innerCallsSchema),
  } satisfies Fields<Event<"tool-end">>),
] as const;

const helperEvent: z.ZodType<StepEvent | CallEvent> = z.discriminatedUnion("type", [
  ...stepEvents,
  ...callEvents,
]);

/** One for each kind of event, for a union with others. */
export const agentEventOptions = [
  ...stepEvents,
  ...callEvents,
  z.looseObject({
    type: z.literal(["text-delta", "thinking-delta"]),
    step: z.number(),
    delta: z.string(),
  } satisfies Fields<Event<"text-delta" | "thinking-delta">>),
  z.looseObject({ type: z.literal("helper"), callId: z.string(), event: helperEvent } satisfies Fields<
    Event<"helper">
  >),
  z.looseObject({ type: z.literal("tool-output"), callId: z.string(), chunk: z.string() } satisfies Fields<
    Event<"tool-output">
  >),
  z.looseObject({
    type: z.literal("question"),
    step: z.number(),
    question: questionSchema,
    call: toolCallSchema,
  } satisfies Fields<Event<"question">>),
  z.looseObject({
    type: z.literal("follow-up"),
    messages: z.array(userMessageSchema),
  } satisfies Fields<Event<"follow-up">>),
  z.looseObject({ type: z.literal("nudge"), message: userMessageSchema } satisfies Fields<Event<"nudge">>),
  z.looseObject({
    type: z.literal("trim"),
    callIds: z.array(z.string()),
    before: z.number(),
    after: z.number(),
  } satisfies Fields<Event<"trim">>),
  z.looseObject({
    type: z.literal("summary"),
    message: summaryMessageSchema,
    keep: z.number(),
    usage: usageSchema,
    before: z.number(),
    after: z.number(),
  } satisfies Fields<Event<"summary">>),
  z.looseObject({ type: z.literal("notice"), text: z.string() } satisfies Fields<Event<"notice">>),
] as const;
