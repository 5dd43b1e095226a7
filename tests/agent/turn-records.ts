import fc from "fast-check";
import type { JournalRecord } from "../../src/agent/journal/journal.ts";
import { noUsage } from "../../src/agent/model.ts";

const author = { id: "U1", name: "Ada" };

/** A turn as workers write it, with whatever may happen in one. */
export const oneTurn = fc
  .tuple(
    fc.array(
      fc.oneof(
        { weight: 3, arbitrary: fc.nat(5).map((n) => aStep(`c${n}`)) },
        { weight: 2, arbitrary: fc.nat(4).map((keep) => [aSummary(keep)]) },
        fc.nat(5).map((n): JournalRecord[] => [{ type: "trim", callIds: [`c${n}`], at: 5 }]),
        fc.nat(9).map((n) => [aMessage(n)]),
        fc.nat(2).map((n) => [aMessage(n, `model-${n}`)]),
        fc
          .nat(9)
          .map((n): JournalRecord[] => [aMessage(n), { type: "withdrawn", id: `m${n}`, reason: "stopped" }]),
        fc
          .nat(9)
          .map((n): JournalRecord[] => [{ type: "enclosure", message: `m${n}`, beside: "a file", at: 2 }]),
      ),
    ),
    fc.constantFrom<Extract<JournalRecord, { type: "turn-end" }>["outcome"]>(
      { kind: "answered", text: "yes", steps: 1, usage: noUsage },
      { kind: "refused", text: "no", steps: 1, usage: noUsage },
      { kind: "stopped", order: { by: "Bob", at: 1 }, steps: 1, usage: noUsage },
    ),
  )
  .map(([work, outcome]): JournalRecord[] => [
    { type: "turn-start", turn: "t", at: 1 },
    aMessage(0),
    ...work.flat(),
    { type: "turn-end", turn: "t", at: 9, outcome },
  ]);

function aMessage(n: number, model?: string): JournalRecord {
  const enclosed = model === undefined ? {} : { enclosed: { model } };
  return { type: "user", message: { role: "user", id: `m${n}`, author, text: `x${n}`, ...enclosed, at: n } };
}

function aSummary(keep: number): JournalRecord {
  return {
    ...{ type: "summary", keep, usage: noUsage, at: 6 },
    message: { role: "summary", text: "so far" },
  };
}

function aStep(id: string): JournalRecord[] {
  const call = { id, name: "n", input: {} };
  const raw = { type: "thinking", text: "hm", protocol: "demo", raw: {} } as const;
  return [
    {
      ...{ type: "assistant", step: 1, usage: noUsage, at: 1 },
      message: {
        ...{ role: "assistant", id: "a", model: "m", stop: "tool-calls" },
        parts: [raw, { type: "tool-call", call }],
      },
    },
    { type: "tool-start", callId: id, at: 2 },
    {
      ...{ type: "tool-result", durationMs: 1, at: 3 },
      message: { role: "tool", callId: id, name: "n", status: "ok", text: "x".repeat(300) },
    },
  ];
}
