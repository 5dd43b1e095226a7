import { expect, test } from "vitest";
import type { JournalRecord } from "../../../src/agent/journal/journal.ts";
import type { UserMessage } from "../../../src/agent/messages.ts";
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
  const order = says("continue");
  const all = [...records.flat(), ...begins(order)];
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
    { always: false, onApproved: () => {} },
  );
  return planning.isOn();
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
