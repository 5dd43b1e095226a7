import { z } from "zod";
import type { Speaker } from "../../agent/messages.ts";
import type { When } from "../../agent/contracts/schedule-store.ts";
import { type Fields, speakerSchema } from "../../agent/journal/schemas.ts";
import { createStoredParser } from "../../agent/text/parse-stored.ts";

/**
 * What is planned in a thread: a hash in its slot, which expires with its session. It is the truth; the clock
 * only ticks. So a schedule is stored after its clock was set, and cancelled by removing it here: a clock that
 * ticks for nothing removes itself.
 */
export interface StoredSchedule {
  id: string;
  task: string;
  when: When;
  author: Speaker;
}

const whenSchema: z.ZodType<When> = z.discriminatedUnion("kind", [
  z.looseObject({ kind: z.literal("once"), at: z.number() }),
  z.looseObject({ kind: z.literal("cron"), pattern: z.string(), timeZone: z.string() }),
]);

export const parseSchedule = createStoredParser<StoredSchedule>(
  z.looseObject({
    id: z.string(),
    task: z.string(),
    when: whenSchema,
    author: speakerSchema,
  } satisfies Fields<StoredSchedule>),
);
