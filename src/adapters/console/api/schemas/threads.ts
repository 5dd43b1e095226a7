import { z } from "zod";
import type { SearchPage, ThreadFacets, ThreadPage } from "../../../../operations/finding.ts";
import type { NeedLine, QuestionLine, WaitingLine } from "../../../../operations/operations.ts";
import type { ThreadLine } from "../../../../operations/finding.ts";
import { excerpt, time } from "./answers.ts";

export const ending = z.literal([
  "answered",
  "silent",
  "stopped",
  "paused",
  "refused",
  "failed",
  "handed-over",
]);

export const threadLine: z.ZodType<ThreadLine> = z
  .strictObject({
    thread: z.string().describe("platform:workspace:channel:thread"),
    platform: z.string(),
    channel: z.string().exactOptional(),
    author: z.string().describe("who began it"),
    title: z.string(),
    state: z.literal(["running", "asking", "waiting", "idle"]),
    place: z.number().exactOptional(),
    ended: ending.exactOptional().describe("how the last turn ended"),
    limit: z.string().exactOptional(),
    archived: z.literal(true).exactOptional(),
    model: z.string().exactOptional(),
    activeAt: time,
    cost: z.number().exactOptional().describe("US dollars"),
  })
  .meta({ id: "ThreadLine" });

const facets: z.ZodType<ThreadFacets> = z
  .strictObject({
    platforms: z.array(z.string()),
    channels: z.array(z.strictObject({ id: z.string(), name: z.string() })),
    people: z.array(z.string()),
    models: z.array(z.string()),
  })
  .meta({ id: "ThreadFacets" });

const totals = z.strictObject({
  ...{ cost: z.number(), running: z.number(), asking: z.number(), waiting: z.number() },
});

export const threadPage: z.ZodType<ThreadPage & { facets: ThreadFacets }> = z.strictObject({
  ...{ lines: z.array(threadLine), offset: z.number(), found: z.number(), all: z.number() },
  totals,
  facets,
});

/** Of the stream of the list. */
export const listEvents = {
  sessions: z.strictObject({
    ...{ lines: z.array(threadLine), offset: z.number(), found: z.number(), all: z.number(), totals },
  }),
  facets,
};

export const searchPage: z.ZodType<SearchPage> = z.strictObject({
  found: z.array(z.strictObject({ line: threadLine, excerpt: z.string() })),
  looked: z.number().describe("threads that were looked into"),
  next: z
    .strictObject({ activeAt: z.number(), thread: z.string(), position: z.number() })
    .exactOptional()
    .describe("where to go on, as JSON in the parameter after"),
});

export const questionLine: z.ZodType<QuestionLine> = z
  .strictObject({
    ...{ id: z.string(), thread: z.string(), platform: z.string() },
    kind: z.literal(["approval", "account", "input", "choice"]),
    ...{ tool: z.string(), text: z.string(), call: z.string(), note: z.string() },
    choices: z.array(z.string()),
    forThread: z.array(z.string()).describe("what can be approved for the whole thread"),
    ...{ requester: z.string(), requesterId: z.string(), decides: z.string() },
    isOwners: z.boolean().describe("nobody but the requester can decide it, since it is about their account"),
    ...{ since: time, until: time },
  })
  .meta({ id: "Question" });

export const need: z.ZodType<NeedLine & { boundTo?: string }> = z.strictObject({
  ...{ id: z.string(), line: threadLine, question: questionLine.exactOptional() },
  boundTo: z.string().exactOptional().describe("the only person who can answer it"),
});

export const waitingLine: z.ZodType<WaitingLine> = z.strictObject({
  ...{ id: z.string(), name: z.string().exactOptional(), author: z.string(), text: excerpt, at: time },
  scheduled: z.literal(true).exactOptional(),
});

export const done = z.strictObject({ note: z.string().exactOptional() });
