import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { replay, type ReplayBase, startReplay } from "../../../src/agent/journal/replay.ts";
import { measureWorkedMs } from "../../../src/agent/journal/history.ts";
import type { JournalRecord } from "../../../src/agent/journal/journal.ts";
import { type Message, toolCalls } from "../../../src/agent/messages.ts";
import { noUsage } from "../../../src/agent/model.ts";
import type { Decision, Question } from "../../../src/agent/questions.ts";
import { oneTurn } from "../turn-records.ts";

const author = { id: "U1", name: "Ada" };

/** Any sequence of records, also such as no worker would write. */
const records = fc.array(
  fc.oneof(
    fc.constant<JournalRecord>({ type: "turn-start", turn: "t", at: 1 }),
    fc.nat(9).map(
      (n): JournalRecord => ({
        type: "user",
        message: { role: "user", id: `m${n}`, author, text: "x", at: n },
      }),
    ),
    fc.nat(9).map((n): JournalRecord => ({ type: "withdrawn", id: `m${n}`, reason: "stopped" })),
    fc.array(fc.nat(5), { maxLength: 3 }).map(
      (ids): JournalRecord => ({
        type: "assistant",
        step: 1,
        usage: noUsage,
        at: 1,
        message: {
          role: "assistant",
          id: "a",
          model: "m",
          stop: "end",
          parts: [
            { type: "text", text: "t" },
            ...[...new Set(ids)].map(
              (id) => ({ type: "tool-call", call: { id: `c${id}`, name: "n", input: {} } }) as const,
            ),
          ],
        },
      }),
    ),
    fc.constant<JournalRecord>({
      type: "turn-end",
      turn: "t",
      at: 1,
      outcome: { kind: "stopped", order: { by: "Bob", at: 1 }, steps: 1, usage: noUsage },
    }),
  ),
);

const callId = fc.nat(5).map((id) => `c${id}`);
const turnEnd = (outcome: Extract<JournalRecord, { type: "turn-end" }>["outcome"]): JournalRecord => ({
  type: "turn-end",
  turn: "t",
  at: 9,
  outcome,
});
/** The others too, in any order. */
const allRecords = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: records.map((some) => some.slice(0, 2)) },
      callId.map((id): JournalRecord[] => [{ type: "tool-start", callId: id, at: 2 }]),
      callId.map((id): JournalRecord[] => [
        {
          type: "tool-result",
          durationMs: 1,
          at: 3,
          usage: noUsage,
          message: { role: "tool", callId: id, name: "n", status: "ok", text: "x".repeat(300) },
        },
      ]),
      callId.map((id): JournalRecord[] => [
        {
          type: "question",
          at: 3,
          question: {
            ...{ kind: "approval", why: "", id: `q${id}`, callId: id, tool: "n", requester: author },
            ...{ askedAt: 3, expiresAt: 90 },
          },
        },
      ]),
      callId.map((id): JournalRecord[] => [
        { type: "decision", question: `q${id}`, decision: { kind: "approved", by: author, at: 4 }, at: 4 },
      ]),
      callId.map((id): JournalRecord[] => [{ type: "trim", callIds: [id], at: 5 }]),
      fc
        .nat(9)
        .map((n): JournalRecord[] => [{ type: "enclosure", message: `m${n}`, beside: "a file", at: 2 }]),
      fc.nat(3).map((keep): JournalRecord[] => [
        {
          ...{ type: "summary", keep, usage: noUsage, at: 6 },
          message: { role: "summary", text: "so far" },
        },
      ]),
      fc.constantFrom<JournalRecord[]>(
        [turnEnd({ kind: "refused", text: "no", steps: 1, usage: noUsage })],
        [turnEnd({ kind: "answered", text: "yes", steps: 1, usage: noUsage })],
        [{ type: "nudge", message: { role: "user", id: "n", author, text: "go on", at: 1 } }],
      ),
    ),
  )
  .map((parts) => parts.flat());

function unanswered(messages: readonly Message[]): number {
  let open = new Set<string>();
  let missing = 0;
  for (const message of messages) {
    if (message.role === "tool") open.delete(message.callId);
    else {
      missing += open.size;
      open = new Set(message.role === "assistant" ? toolCalls(message).map(({ id }) => id) : []);
    }
  }
  return missing;
}

describe("A journal read again", () => {
  test("never has a call without a result, but for those still open at its end", () => {
    fc.assert(
      fc.property(records, (journal) => {
        expect(unanswered(replay(journal).messages)).toBe(0);
      }),
    );
  });

  test("only grows at its end when records are appended, unless a message is withdrawn", () => {
    fc.assert(
      fc.property(records, (journal) => {
        const kept = journal.filter(({ type }) => type !== "withdrawn");
        for (let n = 0; n < kept.length; n += 1) {
          const before = replay(kept.slice(0, n)).messages;
          expect(replay(kept.slice(0, n + 1)).messages.slice(0, before.length)).toEqual(before);
        }
      }),
    );
  });

  test("gives each call its own result where a later step has used the id of an earlier one", () => {
    const step = (n: number): JournalRecord[] => {
      const call = { id: "c", name: `tool${n}`, input: {} };
      return [
        {
          ...{ type: "assistant", step: n, usage: noUsage, at: n },
          message: {
            ...{ role: "assistant", id: `a${n}`, model: "m", stop: "tool-calls" },
            parts: [{ type: "tool-call", call }],
          },
        },
        { type: "tool-start", callId: "c", at: n },
        {
          ...{ type: "tool-result", durationMs: 1, at: n },
          message: { role: "tool", callId: "c", name: call.name, status: "ok", text: `result ${n}` },
        },
      ];
    };
    const journal: JournalRecord[] = [{ type: "turn-start", turn: "t1", at: 1 }, ...step(1), ...step(2)];
    const whole = replay(journal);
    expect(whole.open).toEqual([]);
    expect(whole.turn?.calls.map(({ call, result }) => [call.name, result?.text])).toEqual([
      ["tool1", "result 1"],
      ["tool2", "result 2"],
    ]);
    const cut = replay(journal.slice(0, -1));
    expect(cut.open).toMatchObject([{ call: { name: "tool2" }, started: true }]);
    expect(cut.turn?.calls.map(({ result }) => result?.text)).toEqual(["result 1", undefined]);
  });

  test("bit by bit gives what it gives read at once, whatever a turn does to the history that it got", () => {
    fc.assert(
      fc.property(fc.array(allRecords, { maxLength: 5 }), (parts) => {
        const reading = startReplay();
        for (const [index, part] of parts.entries()) {
          reading.add(part);
          const history = reading.history();
          expect(history).toEqual(replay(parts.slice(0, index + 1).flat()));
          history.messages.length = 0;
          history.open.length = 0;
          history.turn?.asked.push({ role: "user", id: "other", author, text: "more", at: 1 });
          history.turn?.calls.splice(0);
        }
      }),
    );
  });

  test("goes on from what an earlier part has left as if it had read that too", () => {
    fc.assert(
      fc.property(allRecords, allRecords, (before, after) => {
        const earlier = [...before, turnEnd({ kind: "answered", text: "", steps: 1, usage: noUsage })];
        const { messages, chosenModel } = replay(earlier);
        const stored = JSON.parse(JSON.stringify({ messages, chosenModel })) as ReplayBase;
        const reading = startReplay(stored);
        reading.add(after);
        expect(reading.isWhole()).toBe(true);
        expect(reading.history()).toEqual(replay([...earlier, ...after]));
      }),
    );
  });

  test("gives the same from the end of any turn on, where it says that nothing before that is left", () => {
    let whole = 0;
    fc.assert(
      fc.property(fc.array(oneTurn, { maxLength: 6 }), fc.nat(5), (turns, skipped) => {
        const before = turns.slice(0, skipped).flat();
        const after = turns.slice(skipped).flat();
        const { chosenModel } = replay(before);
        for (const read of [after, after.slice(0, -1)]) {
          const reading = startReplay({ chosenModel });
          reading.add(read);
          if (!reading.isWhole()) continue;
          whole += 1;
          expect(reading.history()).toEqual(replay([...before, ...read]));
        }
      }),
      { numRuns: 500 },
    );
    expect(whole).toBeGreaterThan(50);
  });

  test.each([
    [undefined, "(Bob stopped the work above before it was finished.)"],
    [
      "One, two",
      "(Bob stopped the work above before it was finished. What you were writing then, and people have seen:)\nOne, two",
    ],
  ])("tells the model that the work before was stopped, and what it had said: %j", (said, text) => {
    const { messages, turn } = replay([
      { type: "turn-start", turn: "t1", at: 1 },
      { type: "user", message: { role: "user", id: "m1", author, text: "go", at: 1 } },
      {
        type: "turn-end",
        turn: "t1",
        at: 2,
        outcome: {
          ...{ kind: "stopped", order: { by: "Bob", at: 2 }, steps: 1, usage: noUsage },
          ...(said !== undefined && { said }),
        },
      },
    ]);
    expect(turn).toBeUndefined();
    expect(messages.at(-1)).toMatchObject({ role: "user", text });
  });

  test("does not count the waiting for people as work, and knows who decided what", () => {
    const call = { id: "c1", name: "bash", input: {} };
    const question: Question = {
      ...{ kind: "approval", why: "", id: "q1", callId: "c1", tool: "bash", requester: author },
      ...{ askedAt: 3_000, expiresAt: 90_000 },
    };
    const decision: Decision = { kind: "approved", by: author, at: 50_000 };
    const asking: JournalRecord[] = [
      { type: "turn-start", turn: "t1", at: 1_000 },
      { type: "user", message: { role: "user", id: "m1", author, text: "go", at: 900 } },
      {
        type: "assistant",
        step: 1,
        usage: noUsage,
        at: 2_000,
        message: {
          role: "assistant",
          id: "a",
          model: "m",
          stop: "tool-calls",
          parts: [{ type: "tool-call", call }],
        },
      },
      { type: "question", question, at: 3_000 },
    ];
    const waiting = replay(asking);
    expect(waiting.turn && measureWorkedMs(waiting.turn, 40_000)).toBe(2_000);
    // The clock was set back.
    expect(waiting.turn && measureWorkedMs(waiting.turn, 500)).toBe(0);
    const decided = replay([...asking, { type: "decision", question: "q1", decision, at: 51_000 }]);
    expect(decided.turn && measureWorkedMs(decided.turn, 53_000)).toBe(4_000);
    expect(decided.open).toEqual([{ call, started: false, question, decision }]);
  });

  test("waits on while people have decided only one of two questions", () => {
    const calls = ["c1", "c2"].map((id) => ({ id, name: "bash", input: {} }));
    const asked = calls.map(
      (call): JournalRecord => ({
        type: "question",
        question: {
          ...{ kind: "approval", why: "", id: `q-${call.id}`, callId: call.id, tool: "bash" },
          ...{ requester: author, askedAt: 2_000, expiresAt: 90_000 },
        },
        at: 2_000,
      }),
    );
    const decision: Decision = { kind: "approved", by: author, at: 10_000 };
    const { turn } = replay([
      { type: "turn-start", turn: "t1", at: 1_000 },
      {
        ...{ type: "assistant", step: 1, usage: noUsage, at: 2_000 },
        message: {
          ...{ role: "assistant", id: "a", model: "m", stop: "tool-calls" },
          parts: calls.map((call) => ({ type: "tool-call", call }) as const),
        },
      },
      ...asked,
      { type: "decision", question: "q-c1", decision, at: 10_000 },
    ]);
    expect(turn && measureWorkedMs(turn, 40_000)).toBe(1_000);
  });

  test("keeps the model that somebody chose, until somebody chooses another", () => {
    const said = (id: string, model?: string): JournalRecord => ({
      type: "user",
      message: { role: "user", id, author, text: "go", at: 1, ...(model && { enclosed: { model } }) },
    });
    const journal = [said("m1", "test/one"), said("m2"), said("m3", "test/two"), said("m4")];
    const chosen = journal.map((_, index) => replay(journal.slice(0, index + 1)).chosenModel);
    expect(chosen).toEqual(["test/one", "test/one", "test/two", "test/two"]);
  });
});

describe("A journal with records that cannot be read", () => {
  const unreadable: JournalRecord = { type: "unreadable", why: "it is not JSON" };

  test("gives no result to a model without the call that it answers", () => {
    const result: JournalRecord = {
      type: "tool-result",
      message: { role: "tool", callId: "c1", name: "n", status: "ok", text: "done" },
      durationMs: 1,
      at: 1,
    };
    const { messages, open } = replay([unreadable, result]);
    expect(messages.map(({ role }) => role)).toEqual(["user"]);
    expect(open).toEqual([]);
  });

  test("never says of an open call that it was not started", () => {
    const asked: JournalRecord = {
      type: "assistant",
      step: 1,
      usage: noUsage,
      at: 1,
      message: {
        role: "assistant",
        id: "a",
        model: "m",
        stop: "tool-calls",
        parts: [{ type: "tool-call", call: { id: "c1", name: "n", input: {} } }],
      },
    };
    const { open } = replay([{ type: "turn-start", turn: "t", at: 1 }, asked, unreadable]);
    expect(open).toMatchObject([{ call: { id: "c1" }, started: true }]);
  });
});
