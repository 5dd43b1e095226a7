import fc from "fast-check";
import type { JournalRecord } from "../../../src/agent/journal/journal.ts";

/** Any records that a Heddle of the first version writes, with all that they may have. */

const text = fc.string({ maxLength: 20 });
const count = fc.nat(1_000_000);
const at = fc.integer({ min: 0, max: 2 ** 45 });
const yes = fc.constant(true as const);
const speaker = fc.record({ id: text, name: text });
const image = fc.record({
  mediaType: fc.constantFrom(
    "image/png" as const,
    "image/jpeg" as const,
    "image/gif" as const,
    "image/webp" as const,
  ),
  data: text,
});
const quote = fc.record({ author: speaker, text, at });
const usage = fc.record(
  {
    input: count,
    output: count,
    cacheRead: count,
    cacheWrite: count,
    cost: count,
    calls: count,
    priceUnknown: yes,
  },
  { requiredKeys: ["input", "output", "cacheRead", "cacheWrite", "cost", "calls"] },
);
const file = fc.record({ name: text, mediaType: text, bytes: count, handle: text });
const enclosed = fc.record(
  { files: fc.array(file), about: quote, overheard: fc.array(quote), room: yes, model: text, skill: text },
  { requiredKeys: [] },
);
const user = fc.record(
  {
    ...{ role: fc.constant("user" as const), id: text, author: speaker, text, at, enclosed, beside: text },
    ...{ images: fc.array(image), trace: text, scheduled: yes, paidBy: text, tokens: count },
  },
  { requiredKeys: ["role", "id", "author", "text", "at"] },
);
const call = fc.record(
  { id: text, name: text, input: fc.jsonValue(), malformed: text },
  { requiredKeys: ["id", "name", "input"] },
);
const part = fc.oneof(
  fc.record({ type: fc.constant("text" as const), text }),
  fc.record({
    type: fc.constant("thinking" as const),
    text,
    protocol: fc.constantFrom(
      "anthropic" as const,
      "openai-chat" as const,
      "openai-responses" as const,
      "demo" as const,
    ),
    raw: fc.jsonValue(),
  }),
  fc.record({ type: fc.constant("tool-call" as const), call }),
);
const assistant = fc.record(
  {
    ...{
      role: fc.constant("assistant" as const),
      id: text,
      parts: fc.array(part),
      model: text,
      tokens: count,
    },
    stop: fc.constantFrom(
      "end" as const,
      "tool-calls" as const,
      "max-tokens" as const,
      "pause" as const,
      "other" as const,
    ),
  },
  { requiredKeys: ["role", "id", "parts", "model", "stop"] },
);
const status = fc.constantFrom(
  "ok" as const,
  "error" as const,
  "partial" as const,
  "stopped" as const,
  "unknown" as const,
);
const tool = fc.record(
  {
    role: fc.constant("tool" as const),
    callId: text,
    name: text,
    status,
    text,
    images: fc.array(image),
    tokens: count,
  },
  { requiredKeys: ["role", "callId", "name", "status", "text"] },
);
const summary = fc.record(
  {
    ...{ role: fc.constant("summary" as const), text, intents: fc.array(text), pinned: fc.array(text) },
    ...{ plan: text, tokens: count, entries: fc.array(fc.option(count)) },
  },
  { requiredKeys: ["role", "text"] },
);
const inner = fc.record({
  calls: fc.array(fc.record({ name: text, input: text, status, text, durationMs: count })),
  omitted: count,
});
const order = fc.record({ by: text, at, heardAt: at }, { requiredKeys: ["by", "at"] });
const ended = { steps: count, usage };
const exhausted = fc.record({ budget: text, limit: text, resets: text, extension: text });
const outcome = fc.oneof(
  fc.record({ kind: fc.constant("answered" as const), text, ...ended }),
  fc.record({ kind: fc.constant("stopped" as const), order, ...ended }),
  fc.record(
    {
      kind: fc.constantFrom("step-limit" as const, "budget" as const),
      text,
      limit: text,
      usedUp: exhausted,
      ...ended,
    },
    { requiredKeys: ["kind", "text", "limit", "steps", "usage"] },
  ),
  fc.record({ kind: fc.constantFrom("refused" as const, "model-error" as const), text, ...ended }),
  fc.record({
    kind: fc.constantFrom("waiting" as const, "suspended" as const, "lost-lease" as const),
    ...ended,
  }),
);
const asked = { id: text, callId: text, tool: text, requester: speaker, askedAt: at, expiresAt: at };
const question = fc.oneof(
  fc.record({ kind: fc.constant("approval" as const), why: text, ...asked }),
  fc.record({ kind: fc.constant("choice" as const), text, choices: fc.array(text), ...asked }),
);
const decision = fc.oneof(
  fc.record({ kind: fc.constant("approved" as const), by: speaker, at }),
  fc.record(
    { kind: fc.constant("denied" as const), by: speaker, reason: text, at },
    { requiredKeys: ["kind", "by", "at"] },
  ),
  fc.record(
    { kind: fc.constant("answered" as const), by: speaker, text, at },
    { requiredKeys: ["kind", "by", "at"] },
  ),
  fc.record({ kind: fc.constant("expired" as const), at }),
  fc.record({ kind: fc.constant("unasked" as const), why: text, at }),
);
const sizes = { before: count, after: count };

export const journalRecords: fc.Arbitrary<JournalRecord> = fc.oneof(
  fc.record({ type: fc.constant("turn-start" as const), turn: text, at }),
  fc.record({ type: fc.constant("user" as const), message: user }),
  fc.record(
    { type: fc.constant("enclosure" as const), message: text, beside: text, images: fc.array(image), at },
    { requiredKeys: ["type", "message", "beside", "at"] },
  ),
  fc.record({ type: fc.constant("withdrawn" as const), id: text, reason: fc.constant("stopped" as const) }),
  fc.record({ type: fc.constant("nudge" as const), message: user }),
  fc.record(
    {
      type: fc.constant("assistant" as const),
      step: count,
      message: assistant,
      usage,
      troubles: fc.array(text),
      at,
    },
    { requiredKeys: ["type", "step", "message", "usage", "at"] },
  ),
  fc.record({ type: fc.constant("tool-start" as const), callId: text, at }),
  fc.record(
    { type: fc.constant("tool-result" as const), message: tool, durationMs: count, usage, inner, at },
    { requiredKeys: ["type", "message", "durationMs", "at"] },
  ),
  fc.record({ type: fc.constant("question" as const), question, at }),
  fc.record({ type: fc.constant("decision" as const), question: text, decision, at }),
  fc.record(
    { type: fc.constant("trim" as const), callIds: fc.array(text), ...sizes, at },
    { requiredKeys: ["type", "callIds", "at"] },
  ),
  fc.record(
    { type: fc.constant("summary" as const), message: summary, keep: count, usage, ...sizes, at },
    { requiredKeys: ["type", "message", "keep", "usage", "at"] },
  ),
  fc.record({ type: fc.constant("turn-end" as const), turn: text, outcome, at }),
);
