import { z } from "zod";
import type {
  CallDetails,
  CallList,
  FoundRecord,
  Outline,
  TurnSpan,
} from "../../../../operations/operations.ts";
import type { ThreadLine } from "../../../../operations/finding.ts";
import type {
  InnerCallList,
  TimelineEntry,
  TimelinePage,
  TransientEvent,
} from "../../../../operations/timeline/timeline-entry.ts";
import { excerpt, figures, time } from "./answers.ts";
import { ending, threadLine } from "./threads.ts";

const count = z.number();
const text = z.string();
const maybe = { text: z.string().exactOptional(), count: z.number().exactOptional() };

const inner: z.ZodType<InnerCallList> = z
  .strictObject({
    calls: z.array(
      z.strictObject({
        ...{ name: text, arguments: excerpt, status: text, exit: maybe.text, text: excerpt, tookMs: count },
      }),
    ),
    omitted: count,
  })
  .meta({ id: "InnerCalls" });

const basis = { position: count, at: time.exactOptional() };
const call = z.strictObject({ id: text, name: text, arguments: excerpt });

const entry: z.ZodType<TimelineEntry> = z
  .discriminatedUnion("kind", [
    z.strictObject({ ...basis, kind: z.literal("turn-start"), turn: text }),
    z.strictObject({
      ...{ ...basis, kind: z.literal("message"), id: text, author: text, text: excerpt, images: count },
    }),
    z.strictObject({ ...basis, kind: z.literal("enclosure"), text: excerpt, images: count }),
    z.strictObject({
      ...{ ...basis, kind: z.literal("question"), id: text, tool: text, text: excerpt },
      asks: z.literal(["approval", "account", "input", "choice"]),
    }),
    z.strictObject({
      ...{ ...basis, kind: z.literal("decision"), question: text, decision: text, by: text, text: excerpt },
    }),
    z.strictObject({ ...basis, kind: z.literal("withdrawn"), id: text }),
    z.strictObject({ ...basis, kind: z.literal("unreadable"), text: excerpt }),
    z.strictObject({ ...basis, kind: z.literal("nudge"), text: excerpt }),
    z.strictObject({
      ...{ ...basis, kind: z.literal("model"), step: count, model: text, text: excerpt, thinking: excerpt },
      ...{ troubles: excerpt, calls: z.array(call), stop: text, figures, tookMs: maybe.count },
    }),
    z.strictObject({ ...basis, kind: z.literal("tool-start"), call: text }),
    z.strictObject({
      ...{ ...basis, kind: z.literal("tool-result"), call: text, name: text, status: text, exit: maybe.text },
      ...{ text: excerpt, images: count, tookMs: count, figures: figures.exactOptional() },
      inner: inner.exactOptional(),
    }),
    z.strictObject({
      ...{ ...basis, kind: z.literal("trim"), calls: count, before: maybe.count, after: maybe.count },
    }),
    z.strictObject({
      ...{ ...basis, kind: z.literal("summary"), text: excerpt, kept: count, figures },
      ...{ before: maybe.count, after: maybe.count },
    }),
    z.strictObject({
      ...{ ...basis, kind: z.literal("turn-end"), turn: text, ended: ending, detail: text, text: excerpt },
      ...{ steps: count, figures },
    }),
  ])
  .meta({ id: "TimelineEntry" });

const pageFields = {
  entries: z.array(entry),
  from: count.describe("position of the first record looked at; 0 when there is nothing before"),
  length: count.describe("records in the journal"),
};

const timelineEntries: z.ZodType<TimelinePage> = z.strictObject(pageFields);

const passing: z.ZodType<TransientEvent> = z.strictObject({
  kind: z.literal(["step", "retry", "notice"]),
  text,
});

/** Of the stream of a thread. */
export const threadEvents = {
  entries: timelineEntries.describe("what the journal has grown by; the event's id is where it ends"),
  line: threadLine.nullable().describe("how the thread stands"),
  passing: passing.describe("what is said at this moment and stored nowhere"),
};

export const timelinePage: z.ZodType<TimelinePage & { line: ThreadLine }> = z.strictObject({
  ...pageFields,
  line: threadLine,
});

const described = {
  ...{ name: text, arguments: excerpt, startedAt: time.exactOptional(), status: maybe.text },
  ...{ exit: maybe.text, tookMs: maybe.count },
};

export const callList: z.ZodType<CallList> = z.strictObject({
  calls: z.array(z.strictObject({ ...described, key: text, id: text })),
  omitted: count,
});

export const callDetails: z.ZodType<CallDetails> = z.strictObject({
  ...{ ...described, result: excerpt.exactOptional(), images: maybe.count },
  ...{ figures: figures.exactOptional(), inner: inner.exactOptional() },
});

export const outline: z.ZodType<Outline> = z.strictObject({
  turns: z.array(
    z.strictObject({
      ...{ turn: text, position: count, at: time, title: text, ended: ending.exactOptional() },
      ...{ tookMs: maybe.count, figures: figures.exactOptional() },
    }),
  ),
  failures: z.array(count),
  length: count,
});

export const foundRecords: z.ZodType<{ found: FoundRecord[]; hasMore: boolean }> = z.strictObject({
  found: z.array(z.strictObject({ position: count, excerpt: text })),
  hasMore: z.boolean(),
});

export const turnSpan: z.ZodType<TurnSpan> = z.strictObject({
  ...{ kind: z.literal(["model", "tool", "waiting"]), name: text, position: count, from: time, to: time },
  ...{ isFailed: z.boolean(), step: maybe.count, figures: figures.exactOptional() },
});
