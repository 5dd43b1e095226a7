import { z } from "zod";
import { timeZone } from "./values.ts";

/** What may be used in a day, in `heddle.yaml`. */

/** What somebody or something may use in a day. */
export const budget = z.strictObject({
  cost: z
    .number()
    .positive()
    .exactOptional()
    .describe("US dollars; a model of unknown price counts as the most expensive known one"),
  tokens: z
    .number()
    .int()
    .min(1)
    .max(1_000_000_000_000)
    .exactOptional()
    .describe("input and output tokens, caches included"),
});
const place = (what: string) =>
  z.string().regex(/^[^:]+:[^:]+:[^:]+$/, `expected platform:workspace:${what}`);

export const budgetsSchema = z.strictObject({
  timeZone: timeZone
    .default("UTC")
    .describe("time zone in which the day starts at midnight, and in which the agent is told the time"),
  day: budget.prefault({}).describe("what all threads together may use in a day; without limit by default"),
  user: budget.prefault({}).describe("what each person may use in a day"),
  users: z
    .record(place("user"), budget)
    .default({})
    .describe("instead of it for some, e.g. slack:T012345:U012345; {} is without limit"),
  channel: budget.prefault({}).describe("what each channel may use in a day"),
  channels: z
    .record(place("channel"), budget)
    .default({})
    .describe("instead of it for some, e.g. slack:T012345:C012345; {} is without limit"),
  extensionPercent: z
    .number()
    .int()
    .min(1)
    .max(1_000)
    .default(50)
    .describe("what an administrator's “continue” adds to an exhausted budget for the day"),
  keepDays: z.number().int().min(2).max(3_650).default(92).describe("how long the usage of a day is kept"),
});
