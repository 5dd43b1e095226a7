import { z } from "zod";
import { budget } from "./budgets.ts";
import { loopLimit, quietHours } from "./trigger-limits.ts";
import { count } from "./values.ts";

/** Channels in which messages count that address nobody, in `heddle.yaml`. docs/watched-channels.md explains it. */

const person = z
  .string('expected an id in quotes, e.g. "U012345"')
  .regex(/^[A-Za-z0-9]+$/, "expected an id of a person or a bot, e.g. U012345");

const pattern = z
  .string()
  .min(1)
  .max(500)
  .refine(isExpression, "expected a regular expression, e.g. \\b5\\d\\d\\b");

function isExpression(text: string): boolean {
  try {
    // As src/hooks/watch/words.ts reads it.
    return new RegExp(text, "iu") instanceof RegExp;
  } catch {
    return false;
  }
}

export const watchSchema = z
  .strictObject({
    task: z
      .string()
      .min(1)
      .max(10_000)
      .describe("what the agent is to do with what it hears, and when to speak; else it says nothing"),
    from: z
      .array(person)
      .min(1)
      .exactOptional()
      .describe(
        "only what these write, by their ids; also bots, which are left out otherwise. Access must let them ask. Default: every person whom it lets",
      ),
    words: z
      .array(z.string().min(1).max(100))
      .min(1)
      .max(200)
      .exactOptional()
      .describe("only messages with one of these words, in whatever case"),
    pattern: pattern
      .exactOptional()
      .describe("or that this regular expression matches, in whatever case, within 20 ms"),
    debounceSeconds: count(1, 600)
      .default(8)
      .describe(
        "a turn begins so long after the last message of several in a row, and after six times as long at the latest",
      ),
    perHour: count(1, 1_000).default(20).describe("turns that it may begin in an hour; the rest is ignored"),
    loopLimit: loopLimit
      .exactOptional()
      .describe("turns that it may begin in a shorter time: `events` within `minutes`; the rest is ignored"),
    quietHours: quietHours
      .exactOptional()
      .describe("what is said in them is stored at once, and one turn reads it when they end"),
    budget: budget
      .prefault({})
      .describe("what its turns may use in a day, besides the budgets of channel and everybody"),
  })
  .describe("begins turns also with messages that address nobody, which may end without a word");

export type WatchSettings = z.infer<typeof watchSchema>;
