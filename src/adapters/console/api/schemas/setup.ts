import { z } from "zod";
import {
  consoleSetupSteps,
  type PlatformHearing,
  type SetupAnswer,
  type SetupQuestion,
  type SetupRun,
} from "../../setup-at-console.ts";
import type { SetupState } from "../../streams/setup-streams.ts";

/** What is sent and answered about the set-up. */

const asked = { number: z.number().describe("counts the questions of a run"), text: z.string() };

const question: z.ZodType<SetupQuestion> = z
  .discriminatedUnion("kind", [
    z.strictObject({
      ...{ ...asked, kind: z.literal("choice"), standard: z.string() },
      choices: z.array(z.strictObject({ value: z.string(), label: z.string() })),
    }),
    z.strictObject({
      ...{ ...asked, kind: z.literal("text") },
      standard: z.string().describe("what an empty answer stands for"),
    }),
    z.strictObject({ ...asked, kind: z.literal("secret") }),
    z.strictObject({ ...asked, kind: z.literal("confirm") }),
  ])
  .meta({ id: "SetupQuestion", description: "what a step asks; an answer to `secret` is never told again" });

export const setupRun: z.ZodType<SetupRun> = z
  .strictObject({
    ...{ id: z.string(), steps: z.array(z.literal(consoleSetupSteps)) },
    by: z.strictObject({ id: z.string(), name: z.string() }).describe("who has begun it, and alone answers"),
    said: z.array(z.string()).describe("lines, as a terminal would show them"),
    copied: z.string().exactOptional().describe("a text that somebody may want in the clipboard"),
    question: question.exactOptional().describe("absent while something is tried, and in the end"),
    ended: z
      .literal(["done", "failed", "cancelled", "silent"])
      .exactOptional()
      .describe("silent: nobody answered in time"),
  })
  .meta({ id: "SetupRun", description: "somebody's way through the set-up, without anything secret" });

const silence = {
  platform: z.string(),
  reasons: z.array(z.string()).describe("why nothing may arrive, and what to do"),
};

const hearing: z.ZodType<PlatformHearing> = z
  .discriminatedUnion("state", [
    z.strictObject({ ...silence, state: z.literal(["unreached", "listening", "silent"]) }),
    z.strictObject({
      ...{ platform: z.string(), state: z.literal("heard") },
      message: z.strictObject({
        at: z.number().describe("ms since the epoch"),
        ...{ by: z.string(), where: z.string() },
        refusal: z.string().exactOptional().describe("what its author was told instead of getting an answer"),
      }),
    }),
  ])
  .meta({ id: "PlatformHearing", description: "whether people are heard on a platform since the start" });

export const setupState: z.ZodType<SetupState> = z.strictObject({
  problem: z.string().exactOptional().describe("why the set-up cannot be had here"),
  run: setupRun.exactOptional().describe("the one that is under way, else the last one"),
  hearing: z.array(hearing).describe("of the platforms that are configured"),
});

export const setupBegin = {
  schema: z.strictObject({ steps: z.array(z.literal(consoleSetupSteps)).min(1).max(3) }),
  maxBytes: 1_000,
  otherwise: "Nothing was begun",
};

const id = z.string().min(1).max(100);

export const setupAnswer = {
  schema: z.strictObject({
    ...{ run: id, question: z.int().min(1) },
    value: z
      .union([z.string().max(4_000), z.boolean()])
      .describe("a text, the value of a choice, or whether it is confirmed"),
  }) satisfies z.ZodType<SetupAnswer>,
  maxBytes: 20_000,
  otherwise: "Nothing was answered",
};

export const setupEnd = {
  schema: z.strictObject({ run: id }),
  maxBytes: 1_000,
  otherwise: "Nothing was ended",
};
