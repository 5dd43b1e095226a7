import { z } from "zod";
import type { AskingRule, ShownFile } from "../policy-decision.ts";
import type { Decision, NamedFile, Question } from "../questions.ts";
import { type Fields, speakerSchema } from "./schemas.ts";
import { type InputField, inputFormats, type InputRequest } from "../server-input.ts";

/** What the questions to people look like where they were stored, and what people have decided; see schemas.ts. */

const optional = z.exactOptional;

const askingRules = z.array(z.looseObject({ id: z.string(), text: z.string() } satisfies Fields<AskingRule>));

const questionBasis = {
  id: z.string(),
  callId: z.string(),
  tool: z.string(),
  requester: speakerSchema,
  askedAt: z.number(),
  expiresAt: z.number(),
  files: optional(
    z.array(z.looseObject({ path: z.string(), sha256: z.string() } satisfies Fields<NamedFile>)),
  ),
};
type Asked<Kind extends Question["kind"]> = Extract<Question, { kind: Kind }>;

const inputBasis = { server: z.string(), message: z.string(), call: z.string() };
const inputFieldFields = z.looseObject({
  ...{ name: z.string(), title: z.string(), about: optional(z.string()) },
  kind: z.literal(["text", "number", "integer", "yes-no", "one", "many"]),
  format: optional(z.literal(inputFormats)),
  options: optional(z.array(z.looseObject({ value: z.string(), title: z.string() }))),
  required: z.boolean(),
  default: optional(z.string()),
  ...{ least: optional(z.number()), most: optional(z.number()) },
} satisfies Fields<InputField>);
export const inputFieldSchema: z.ZodType<InputField> = inputFieldFields;
const inputFields = z.discriminatedUnion("mode", [
  z.looseObject({ ...inputBasis, mode: z.literal("url"), url: z.string() }),
  z.looseObject({ ...inputBasis, mode: z.literal("form"), fields: z.array(inputFieldFields) }),
]);
export const inputRequestSchema: z.ZodType<InputRequest> = inputFields;

const questionFields = z.discriminatedUnion("kind", [
  z.looseObject({
    kind: z.literal("approval"),
    why: z.string(),
    changed: optional(z.array(z.string())),
    file: optional(z.looseObject({ name: z.string(), text: z.string() } satisfies Fields<ShownFile>)),
    rules: optional(askingRules),
    owner: optional(z.literal(["alone", "also"])),
    ...questionBasis,
  } satisfies Fields<Asked<"approval">>),
  z.looseObject({
    kind: z.literal("account"),
    server: z.string(),
    host: z.string(),
    ...questionBasis,
  } satisfies Fields<Asked<"account">>),
  z.looseObject({
    kind: z.literal("input"),
    request: inputFields,
    ...questionBasis,
  } satisfies Fields<Asked<"input">>),
  z.looseObject({
    kind: z.literal("choice"),
    text: z.string(),
    choices: z.array(z.string()),
    ...questionBasis,
  } satisfies Fields<Asked<"choice">>),
]);
export const questionSchema: z.ZodType<Question> = questionFields;

const decided = { by: speakerSchema, at: z.number() };
type Decided<Kind extends Decision["kind"]> = Extract<Decision, { kind: Kind }>;

const decisionFields = z.discriminatedUnion("kind", [
  z.looseObject({
    kind: z.literal("approved"),
    ...decided,
    rules: optional(askingRules),
  } satisfies Fields<Decided<"approved">>),
  z.looseObject({ kind: z.literal("denied"), reason: optional(z.string()), ...decided } satisfies Fields<
    Decided<"denied">
  >),
  z.looseObject({ kind: z.literal("answered"), text: optional(z.string()), ...decided } satisfies Fields<
    Decided<"answered">
  >),
  z.looseObject({ kind: z.literal("expired"), at: z.number() } satisfies Fields<Decided<"expired">>),
  z.looseObject({ kind: z.literal("unasked"), why: z.string(), at: z.number() } satisfies Fields<
    Decided<"unasked">
  >),
]);
export const decisionSchema: z.ZodType<Decision> = decisionFields;
