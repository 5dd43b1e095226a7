import { z } from "zod";

/** What is sent to the API about threads of any platform. */

const position = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
export const follow = z.object({
  from: position.default(0).describe("position of the first record that is wanted"),
  until: z.literal("idle").optional().describe("ends the stream when nothing runs or waits there"),
});
export const place = z.object({ before: position.exactOptional(), from: position.exactOptional() });
export const turn = z.object({ turn: z.string().min(1).max(100) });
export const callKey = z.string().regex(/^\d{1,9}\.\d{1,4}$/);
const text = z.string().max(300).optional();
const time = position.optional();
const dollars = z.coerce.number().min(0).optional();
const threadFilter = z.strictObject({
  ...{ words: text, platform: text, channel: text, person: text, model: text, since: time, until: time },
  state: z
    .literal([
      "running",
      "asking",
      "waiting",
      "paused",
      "answered",
      "silent",
      "stopped",
      "failed",
      "archived",
    ])
    .optional(),
  minCost: dollars,
});
export const threadQuery = threadFilter.extend({
  sort: z.literal(["newest", "oldest", "cost"]).optional(),
  offset: time,
  limit: z.coerce.number().int().min(1).max(500).default(100),
});
const cursor = z.strictObject({
  activeAt: z.number(),
  thread: z.string().max(300),
  position: z.int().min(0),
});
export const searchQuery = threadFilter.extend({
  after: z
    .string()
    .max(500)
    .transform((json, context) => {
      try {
        return cursor.parse(JSON.parse(json));
      } catch {
        context.addIssue("expected what the answer before gave as next");
        return z.NEVER;
      }
    })
    .optional(),
});
export const auditQuery = z.strictObject({
  ...{ before: time, thread: text, channel: text, person: text, what: text, since: time, until: time },
  state: text.describe("how a turn or call has ended, or what was decided, as the entry has it"),
  model: text.describe("`provider/model` of a turn that has ended"),
  minCost: dollars.describe("of a turn that has ended, US dollars"),
});
export const days = z.object({ days: z.coerce.number().int().min(1).max(366).default(14) });
export const empty = { schema: z.strictObject({}), maxBytes: 100, otherwise: "Nothing was done" };

export const queueChange = {
  schema: z.discriminatedUnion("change", [
    z.strictObject({ change: z.literal(["remove", "first"]), message: z.string().min(1).max(200) }),
    z.strictObject({
      change: z.literal("move"),
      message: z.string().min(1).max(200),
      place: z.int().min(1).max(999).describe("counted from 1; behind the last place means the last one"),
    }),
  ]),
  maxBytes: 1_000,
  otherwise: "Nothing was changed",
};

/** As at the button of the question's message: conversation-routes.ts. What is longer is cut: question-decisions.ts. */
export const mostWords = 4_000;
const answerWords = z.string().trim().min(1).max(mostWords);
export const decision = {
  schema: z.discriminatedUnion("decision", [
    z.strictObject({
      decision: z.literal("approve"),
      forThread: z
        .literal(true)
        .exactOptional()
        .describe("what the question lists as forThread, from now on"),
    }),
    z.strictObject({ decision: z.literal("deny"), reason: z.string().max(mostWords).exactOptional() }),
    z.strictObject({
      decision: z.literal("answer"),
      choice: z.int().min(0).exactOptional(),
      text: answerWords.exactOptional(),
    }),
  ]),
  maxBytes: 30_000,
  otherwise: "Nothing was decided",
};

export const title = {
  schema: z.strictObject({ title: z.string().trim().max(100) }),
  maxBytes: 1_000,
  otherwise: "The thread was not renamed",
};

export const archived = {
  schema: z.strictObject({ archived: z.boolean() }),
  maxBytes: 100,
  otherwise: "The thread was not archived",
};

export const nothing = { schema: z.strictObject({}), maxBytes: 100, otherwise: "Nothing was deleted" };

export const format = z.strictObject({ format: z.literal(["markdown", "json", "tar"]) });

export const searchText = z.object({ query: z.string().trim().min(1).max(200) });
