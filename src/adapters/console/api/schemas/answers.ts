import { z } from "zod";
import { type InputField, inputFormats } from "../../../../agent/server-input.ts";
import type { IntakeResult } from "../../../../chat/inbound.ts";
import type { Excerpt } from "../../../../operations/finding.ts";
import type { Figures } from "../../../../operations/reports.ts";
import type { FileEntry, Problem } from "../../../../sandbox/sandbox.ts";

/** What the API answers: schemas whose types the compiler holds to those of the code. */

/** Milliseconds since the epoch. */
export const time = z.number().describe("milliseconds since the epoch");

export const excerpt: z.ZodType<Excerpt> = z
  .strictObject({ text: z.string(), omitted: z.number() })
  .meta({ id: "Excerpt", description: "the beginning of a text, and how many characters are left out" });

export const figures: z.ZodType<Figures> = z
  .strictObject(figureFields())
  .meta({ id: "Figures", description: "what model calls have used; cost in US dollars" });

export function figureFields() {
  return {
    ...{ input: z.number(), output: z.number(), cacheRead: z.number(), cacheWrite: z.number() },
    ...{ cost: z.number(), calls: z.number() },
    priceUnknown: z.literal(true).exactOptional(),
  };
}

export const problem: z.ZodType<Problem> = z.strictObject({ what: z.string(), fix: z.string() });

const option = z.strictObject({ id: z.string(), label: z.string(), about: z.string().exactOptional() });
const inputField: z.ZodType<InputField> = z.strictObject({
  ...{ name: z.string(), title: z.string(), about: z.string().exactOptional() },
  kind: z.literal(["text", "number", "integer", "yes-no", "one", "many"]),
  format: z.literal(inputFormats).exactOptional(),
  options: z.array(z.strictObject({ value: z.string(), title: z.string() })).exactOptional(),
  required: z.boolean(),
  default: z.string().exactOptional().describe("as a person would write it"),
  least: z.number().exactOptional().describe("of a number, or how many characters or options"),
  most: z.number().exactOptional(),
});

const form = z
  .strictObject({ title: z.string(), fields: z.array(inputField) })
  .describe("nothing is done yet: press again with the values of the fields");

const unchanged = z.literal(true).exactOptional();

export const intakeResult: z.ZodType<IntakeResult> = z
  .discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("accepted"), thread: z.string(), position: z.number() }),
    z.strictObject({ kind: z.literal("duplicate") }),
    z.strictObject({ kind: z.literal("stopping"), thread: z.string(), unchanged }),
    z.strictObject({ kind: z.literal("amended"), thread: z.string(), unchanged }),
    z.strictObject({
      ...{ kind: z.literal("acted"), thread: z.string(), reply: z.string().exactOptional(), unchanged },
      menus: z.array(z.strictObject({ label: z.string(), options: z.array(option) })).exactOptional(),
      form: form.exactOptional(),
      continues: z.literal(true).exactOptional(),
    }),
    z.strictObject({
      kind: z.literal("ignored"),
      why: z.string(),
      unclaimed: z.literal(true).exactOptional(),
    }),
    z.strictObject({
      ...{ kind: z.literal("refused"), reply: z.string(), unchanged },
      field: z.string().exactOptional().describe("the field of the form that it is about"),
    }),
  ])
  .meta({
    id: "IntakeResult",
    description:
      "what became of it: taken into the thread's mailbox, delivered before, a stop or a button in effect, ignored or refused",
  });

const entry: z.ZodType<FileEntry> = z.strictObject({
  path: z.string(),
  type: z.literal(["file", "directory", "link", "other"]),
  bytes: z.number(),
});

export const fileList = z.strictObject({ entries: z.array(entry), truncated: z.boolean() });

export const error = z.strictObject({
  error: z.string().describe("one sentence for people"),
  signIn: z
    .string()
    .exactOptional()
    .describe("with 401, where people sign in at a provider: the address of that, for a browser"),
});
