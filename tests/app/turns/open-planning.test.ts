import { expect, test } from "vitest";
import type { JournalRecord } from "../../../src/agent/journal/journal.ts";
import type { UserMessage } from "../../../src/agent/messages.ts";
import { noUsage } from "../../../src/agent/model.ts";
import { approvedMark, proposePlanName } from "../../../src/agent/planning.ts";
import { openPlanning } from "../../../src/app/turns/open-planning.ts";

/** Rule: "continue" goes on with what it continues; docs/plan-first.md. */

let said = 0;
const says = (text: string, plan?: true): UserMessage => ({
  ...{ role: "user", id: `m${(said += 1)}`, author: { id: "ada", name: "Ada" }, text, at: said },
  ...(plan && { plan }),
});
const begins = (...messages: UserMessage[]): JournalRecord[] => [
  { type: "turn-start", turn: "t", at: 0 },
  ...messages.map((message) => ({ type: "user", message }) as const),
];
const joins = (message: UserMessage): JournalRecord => ({ type: "user", message });
const proposes = (files: string[]): JournalRecord => ({
  ...{ type: "assistant", step: 1, usage: noUsage, at: 0 },
  message: {
    ...{ role: "assistant", id: "a", model: "m", stop: "tool-calls" },
    parts: [
      { type: "tool-call", call: { id: "c", name: proposePlanName, input: { plan: "I do it.", files } } },
    ],
  },
});
const isApproved: JournalRecord = {
  type: "tool-result",
  message: {
    ...{ role: "tool", callId: "c", name: proposePlanName, status: "ok" },
    text: `${approvedMark}Ada. Do what the plan says.`,
  },
  durationMs: 0,
  at: 0,
};

/** Whether the turn that "continue" begins behind these records plans first. */
async function plans(...records: (JournalRecord | JournalRecord[])[]): Promise<boolean> {
  return (await open(records.flat())).isOn;
}

async function open(records: readonly JournalRecord[]) {
  const order = says("continue");
  const planned: (readonly string[])[] = [];
  const all = [...records, ...begins(order)];
  const planning = await openPlanning(
    undefined,
    [order],
    {
      async *forward() {},
      // A record a piece, the newest first.
      async *backward() {
        for (const [from, record] of [...all.entries()].toReversed())
          yield { records: [record], from, chars: 1 };
      },
    },
    { always: false, onApproved: (files) => void planned.push(files) },
  );
  return { isOn: planning.isOn(), planned };
}

test("a task whose plan was not approved still needs that, whatever else was said while its turn ran", async () => {
  const task = says("move the report", true);
  expect(await plans(begins(task))).toBe(true);
  expect(await plans(begins(task), joins(says("and mind the tests")))).toBe(true);
  expect(await plans(begins(says("and mind the tests"), task))).toBe(true);
  expect(await plans(begins(task), joins(says("hurry")), begins(says("continue")))).toBe(true);
});

test("a task whose plan was approved, or that wanted none, is gone on with", async () => {
  const task = says("move the report", true);
  expect(await plans(begins(task), isApproved)).toBe(false);
  expect(await plans(begins(task), isApproved, joins(says("hurry")), begins(says("continue")))).toBe(false);
  expect(await plans(begins(task), begins(says("something else")))).toBe(false);
  expect(await plans(begins(task), isApproved, joins(says("then the next one", true)))).toBe(true);
});

test("what is done for a task that is gone on with is held against the files of its plan", async () => {
  const records = [...begins(says("move the report", true)), proposes(["a.txt", "docs"]), isApproved];
  expect(await open([...records, joins(says("hurry"))])).toEqual({
    isOn: false,
    planned: [["a.txt", "docs"]],
  });
  expect(await open(begins(says("move the report", true)))).toEqual({ isOn: true, planned: [] });
});
