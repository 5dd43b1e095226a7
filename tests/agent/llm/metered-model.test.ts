import { describe, expect, test } from "vitest";
import { createContextWindow } from "../../../src/agent/context/compaction.ts";
import { createMeteredModel } from "../../../src/agent/llm/metered-model.ts";
import { createTaskTool } from "../../../src/agent/loop/sub-agent.ts";
import {
  type LanguageModel,
  ModelError,
  type ModelEvent,
  noUsage,
  type Usage,
} from "../../../src/agent/model.ts";
import type { BudgetExhausted, Estimate, TurnBudget } from "../../../src/agent/contracts/turn-budget.ts";
import { scriptedModel } from "../../fakes/scripted-model.ts";
import { dispatcherOf } from "../tools/services.ts";
import { asking, counter, run, say, tool } from "../turn.ts";

const usedUp: BudgetExhausted = { budget: "b", limit: "$1.00 a day", resets: "midnight", extension: "$0.50" };

/** A turn budget that pays for so many calls, and tells what it was asked for. */
function turnBudget(calls = Infinity) {
  const reserved: Estimate[] = [];
  const settled: { usage: Usage; model: string }[] = [];
  const payer: TurnBudget = {
    async reserve(estimate) {
      if (reserved.length >= calls) return { ok: false, usedUp };
      reserved.push(estimate);
      return { ok: true, settle: async (usage, model) => void settled.push({ usage, model }) };
    },
  };
  const meter = (model: LanguageModel) => createMeteredModel({ model, turnBudget: payer, counter });
  return { meter, reserved, settled };
}

/** What a single call of a model that does this is booked with. */
async function call(stream: LanguageModel["stream"], price?: LanguageModel["limits"]["price"]) {
  const { meter, reserved, settled } = turnBudget();
  const limits = { contextTokens: 1_000, maxOutputTokens: 50_000, images: false, ...(price && { price }) };
  const model = meter({ id: "test/model", limits, stream });
  const events: ModelEvent[] = [];
  let error: unknown;
  try {
    const request = { system: "system", messages: [say("hello there")], tools: [] };
    for await (const event of model.stream(request, new AbortController().signal)) events.push(event);
  } catch (thrown) {
    error = thrown;
  }
  return { events, error, reserved, settled };
}

const answered = { role: "assistant", id: "a", parts: [], model: "test/other", stop: "end" } as const;
const done: ModelEvent = {
  type: "done",
  message: { ...answered, parts: [] },
  usage: { ...noUsage, input: 7, output: 3, cost: 0.5, calls: 1 },
};

describe("A paid model call", () => {
  test("sets the prompt and a reply of usual length aside, and is booked by what was used, to the model that answered", async () => {
    const price = { input: 1, output: 10, cacheRead: 0, cacheWrite: 0 };
    const { reserved, settled } = await call(async function* () {
      yield done;
    }, price);
    const [estimate] = reserved;
    expect(estimate?.tokens).toBeGreaterThan(8_192);
    expect(estimate?.tokens).toBeLessThan(8_250);
    expect(estimate?.cost).toBeCloseTo(0.082, 2);
    expect(settled).toEqual([{ usage: done.usage, model: "test/other" }]);
  });

  test("of a model without a known price sets the dearest known price aside", async () => {
    const { reserved } = await call(async function* () {
      yield done;
    });
    expect(reserved[0]?.cost).toBeGreaterThan(0.4);
  });

  test("that fails before the reply begins costs nothing", async () => {
    const { error, settled } = await call(async function* () {
      yield* [];
      throw new ModelError("transient", "down");
    });
    expect(error).toMatchObject({ message: "down" });
    expect(settled).toEqual([{ usage: { ...noUsage, calls: 1 }, model: "test/model" }]);
  });

  test("that breaks off is booked by its prompt and by what it has streamed", async () => {
    const { settled } = await call(async function* () {
      yield { type: "thinking", delta: "Let me see." };
      throw new ModelError("transient", "down");
    });
    const { usage } = settled[0] ?? { usage: noUsage };
    expect(usage).toMatchObject({ calls: 1, output: counter.count("Let me see.") });
    expect(usage.input).toBeGreaterThan(5);
    expect(usage.cost).toBeGreaterThan(0);
  });

  test("that breaks off while nothing is shown of it is booked by its prompt", async () => {
    const { settled } = await call(async function* () {
      yield { type: "begun" };
      yield { type: "retry", attempt: 2, delayMs: 0, reason: "broke off" };
      throw new ModelError("transient", "down");
    });
    const { usage } = settled[0] ?? { usage: noUsage };
    expect(usage).toMatchObject({ calls: 2, output: 0 });
    expect(usage.input).toBeGreaterThan(5);
    expect(usage.input).toBeLessThan(20);
  });

  test("that is tried again is booked with each attempt that had begun to answer", async () => {
    const { settled } = await call(async function* () {
      yield { type: "text", delta: "Half" };
      yield { type: "retry", attempt: 2, delayMs: 0, reason: "broke off" };
      yield { type: "text", delta: "Whole" };
      yield done;
    });
    expect(settled).toHaveLength(1);
    expect(settled[0]?.usage).toMatchObject({ calls: 2, output: 3 + counter.count("Half") });
  });

  test("that nobody waits for any more is booked", async () => {
    const { meter, settled } = turnBudget();
    const { model } = scriptedModel([{ text: "long" }]);
    const request = { system: "", messages: [say("hi")], tools: [] };
    for await (const _ of meter(model).stream(request, new AbortController().signal)) break;
    expect(settled).toHaveLength(1);
  });
});

describe("A turn that somebody pays for", () => {
  test("books the calls of its steps and of a helper", async () => {
    const { meter, settled } = turnBudget();
    const { model } = scriptedModel((request, number) => {
      if (request.system.includes("## Your part")) return { text: "counted" };
      return number === 1 ? { calls: [{ name: "task", input: { task: "count" } }] } : { text: "Done." };
    });
    const task = createTaskTool({
      ...{ model, context: createContextWindow({ model, counter }), meter, system: "system" },
      tools: () => [],
      createDispatcher: (tools) => dispatcherOf({ tools }),
      mask: (text) => text,
    });
    const { outcome } = await run({ model, meter, tools: [task] });
    expect(outcome.kind).toBe("answered");
    expect(settled).toHaveLength(3);
  });

  test.each([
    { calls: 1, state: "All is well." },
    { calls: 0, state: "Said last: word" },
  ])("has $calls summaries paid, and else makes do without", async ({ calls, state }) => {
    const { meter, settled } = turnBudget(calls);
    const { model } = scriptedModel([{ text: "All is well." }]);
    const messages = Array.from({ length: 20 }, (_, at) => [
      say("word ".repeat(100), at),
      { ...answered, parts: [{ type: "text" as const, text: "word ".repeat(100) }] },
    ]).flat();
    const fitting = createContextWindow({ model, counter }).compactToFit(messages, {
      ...{ fixed: "", force: true, meter },
      signal: new AbortController().signal,
    });
    let next = await fitting.next();
    while (!next.done) next = await fitting.next();
    expect(next.value.messages[0]).toMatchObject({ role: "summary", text: expect.stringContaining(state) });
    expect(settled).toHaveLength(calls);
  });

  test("ends with what it has said when the budget is used up, without asking the model", async () => {
    const { meter } = turnBudget(1);
    const { outcome, requests } = await run({
      meter,
      replies: [{ text: "I look first.", calls: [{ name: "look" }] }],
      tools: [tool("look", "read", async () => "seen")],
    });
    expect(requests).toHaveLength(1);
    expect(outcome).toMatchObject({
      ...{ kind: "budget", limit: "$1.00 a day", usedUp, text: "I look first.", steps: 1 },
    });
  });

  test("goes on from there in the next turn", async () => {
    const first = await run({
      meter: turnBudget(1).meter,
      replies: [{ calls: [{ name: "look" }] }],
      tools: [tool("look", "read", async () => "seen")],
    });
    const journal = [
      ...first.journal,
      { type: "turn-end", turn: "t1", outcome: first.outcome, at: 3_000 } as const,
      ...asking("continue", 4_000),
    ];
    const { outcome, requests } = await run({
      journal,
      meter: turnBudget().meter,
      replies: [{ text: "All seen." }],
    });
    expect(outcome).toMatchObject({ kind: "answered", text: "All seen." });
    expect(requests[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
  });
});
