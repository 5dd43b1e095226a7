import { z } from "zod";
import type { InnerCall, InnerCalls, StopOrder, TurnOutcome } from "../events.ts";
import type {
  AssistantMessage,
  AssistantPart,
  AttachmentHandle,
  Enclosed,
  Image,
  PromptChoice,
  Quote,
  Speaker,
  SummaryMessage,
  ToolCall,
  ToolMessage,
  UserMessage,
} from "../messages.ts";
import type { Usage } from "../model.ts";
import type { BudgetExhausted } from "../contracts/turn-budget.ts";

/**
 * What the agent's types look like where they were stored: their first version. The types, with what each field
 * means, stand in the files that use them; here every field has to be named, and the compiler holds both together.
 * A field that is not named passes, so that a later Heddle may add some.
 */

/** Every field of a type, the optional ones too. */
export type Fields<T> = { [Name in keyof T]-?: z.ZodType };

const oneOf = <const Values extends readonly string[]>(...values: Values) => z.literal(values);
const optional = z.exactOptional;
/** JSON, or nothing at all: an undefined field is not stored. */
const anything = z.unknown().default(undefined);

const speakerFields = z.looseObject({ id: z.string(), name: z.string() } satisfies Fields<Speaker>);
export const speakerSchema: z.ZodType<Speaker> = speakerFields;

const usageFields = z.looseObject({
  input: z.number(),
  output: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
  cost: z.number(),
  priceUnknown: optional(z.literal(true)),
  calls: z.number(),
} satisfies Fields<Usage>);

const imageFields = z.looseObject({
  mediaType: oneOf("image/png", "image/jpeg", "image/gif", "image/webp"),
  data: z.string(),
} satisfies Fields<Image>);

const attachmentFields = z.looseObject({
  name: z.string(),
  mediaType: z.string(),
  bytes: z.number(),
  handle: z.string(),
} satisfies Fields<AttachmentHandle>);
export const attachmentSchema: z.ZodType<AttachmentHandle> = attachmentFields;

const quoteFields = z.looseObject({
  author: speakerFields,
  text: z.string(),
  at: z.number(),
} satisfies Fields<Quote>);

const promptChoiceFields = z.looseObject({
  server: z.string(),
  name: z.string(),
  arguments: optional(z.record(z.string(), z.string())),
} satisfies Fields<PromptChoice>);
export const promptChoiceSchema: z.ZodType<PromptChoice> = promptChoiceFields;

const enclosedFields = z.looseObject({
  files: optional(z.array(attachmentFields)),
  about: optional(quoteFields),
  overheard: optional(z.array(quoteFields)),
  room: optional(z.literal(true)),
  model: optional(z.string()),
  skill: optional(z.string()),
  prompt: optional(promptChoiceFields),
} satisfies Fields<Enclosed>);

const userMessageFields = z.looseObject({
  role: z.literal("user"),
  id: z.string(),
  author: speakerFields,
  text: z.string(),
  enclosed: optional(enclosedFields),
  beside: optional(z.string()),
  images: optional(z.array(imageFields)),
  at: z.number(),
  seq: optional(z.number()),
  trace: optional(z.string()),
  scheduled: optional(z.literal(true)),
  paidBy: optional(z.string()),
  trigger: optional(z.string()),
  plan: optional(z.literal(true)),
  unaddressed: optional(z.literal(true)),
  tokens: optional(z.number()),
} satisfies Fields<UserMessage>);

const toolCallFields = z.looseObject({
  id: z.string(),
  name: z.string(),
  input: anything,
  malformed: optional(z.string()),
} satisfies Fields<ToolCall>);

type Part<Type extends AssistantPart["type"]> = Extract<AssistantPart, { type: Type }>;

const assistantMessageFields = z.looseObject({
  role: z.literal("assistant"),
  id: z.string(),
  parts: z.array(
    z.discriminatedUnion("type", [
      z.looseObject({
        type: z.literal("thinking"),
        text: z.string(),
        protocol: oneOf("anthropic", "openai-chat", "openai-responses", "demo"),
        raw: anything,
      } satisfies Fields<Part<"thinking">>),
      z.looseObject({ type: z.literal("text"), text: z.string() } satisfies Fields<Part<"text">>),
      z.looseObject({
        type: z.literal("tool-call"),
        call: toolCallFields,
        extra: optional(z.looseObject({})),
      } satisfies Fields<Part<"tool-call">>),
    ]),
  ),
  model: z.string(),
  stop: oneOf("end", "tool-calls", "max-tokens", "pause", "refusal", "context-window", "other"),
  tokens: optional(z.number()),
} satisfies Fields<AssistantMessage>);

const toolStatus = oneOf("ok", "error", "partial", "stopped", "unknown");

const notRun = oneOf("denied", "undecided");

const toolMessageFields = z.looseObject({
  role: z.literal("tool"),
  callId: z.string(),
  name: z.string(),
  status: toolStatus,
  notRun: optional(notRun),
  text: z.string(),
  images: optional(z.array(imageFields)),
  tokens: optional(z.number()),
} satisfies Fields<ToolMessage>);

const summaryMessageFields = z.looseObject({
  role: z.literal("summary"),
  text: z.string(),
  intents: optional(z.array(z.string())),
  entries: optional(z.array(z.number().nullable())),
  unlisted: optional(z.number()),
  unsummarised: optional(z.number()),
  pinned: optional(z.array(z.string())),
  released: optional(z.array(z.string())),
  stepsBefore: optional(z.number()),
  plan: optional(z.string()),
  tokens: optional(z.number()),
} satisfies Fields<SummaryMessage>);

const innerCallsFields = z.looseObject({
  calls: z.array(
    z.looseObject({
      name: z.string(),
      input: z.string(),
      status: toolStatus,
      notRun: optional(notRun),
      text: z.string(),
      durationMs: z.number(),
    } satisfies Fields<InnerCall>),
  ),
  omitted: z.number(),
} satisfies Fields<InnerCalls>);

const stopOrderFields = z.looseObject({
  by: z.string(),
  at: z.number(),
  seq: optional(z.number()),
  heardAt: optional(z.number()),
  deleted: optional(z.literal(true)),
} satisfies Fields<StopOrder>);
export const stopOrderSchema: z.ZodType<StopOrder> = stopOrderFields;

const turnBasis = { steps: z.number(), usage: usageFields };
type Outcome<Kind extends TurnOutcome["kind"]> = Extract<TurnOutcome, { kind: Kind }>;

const outcomeFields = z.discriminatedUnion("kind", [
  z.looseObject({
    kind: z.literal("answered"),
    text: z.string(),
    silent: optional(z.literal(true)),
    ...turnBasis,
  } satisfies Fields<Outcome<"answered">>),
  z.looseObject({
    kind: z.literal("stopped"),
    order: stopOrderFields,
    said: optional(z.string()),
    ...turnBasis,
  } satisfies Fields<Outcome<"stopped">>),
  z.looseObject({
    kind: oneOf("step-limit", "budget"),
    text: z.string(),
    limit: z.string(),
    usedUp: optional(
      z.looseObject({
        budget: z.string(),
        limit: z.string(),
        resets: z.string(),
        extension: z.string(),
      } satisfies Fields<BudgetExhausted>),
    ),
    ...turnBasis,
  } satisfies Fields<Outcome<"step-limit" | "budget">>),
  z.looseObject({ kind: oneOf("refused", "model-error"), text: z.string(), ...turnBasis }),
  z.looseObject({ kind: oneOf("waiting", "suspended", "lost-lease"), ...turnBasis }),
]);
export const turnOutcomeSchema: z.ZodType<TurnOutcome> = outcomeFields;

export const imageSchema: z.ZodType<Image> = imageFields;
export const usageSchema: z.ZodType<Usage> = usageFields;
export const userMessageSchema: z.ZodType<UserMessage> = userMessageFields;
export const assistantMessageSchema: z.ZodType<AssistantMessage> = assistantMessageFields;
export const toolCallSchema: z.ZodType<ToolCall> = toolCallFields;
export const toolMessageSchema: z.ZodType<ToolMessage> = toolMessageFields;
export const summaryMessageSchema: z.ZodType<SummaryMessage> = summaryMessageFields;
export const innerCallsSchema: z.ZodType<InnerCalls> = innerCallsFields;
