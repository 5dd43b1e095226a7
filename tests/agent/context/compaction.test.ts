import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createContextKeeper } from "../../../src/agent/context/compaction.ts";
import { createTokenCounter } from "../../../src/agent/context/tokens.ts";
import type { AgentEvent } from "../../../src/agent/events.ts";
import { recordOf, replay } from "../../../src/agent/history.ts";
import type { JournalRecord } from "../../../src/agent/journal.ts";
import { ModelError, noUsage } from "../../../src/agent/llm/model.ts";
import { type Message, toolCalls, type UserMessage } from "../../../src/agent/messages.ts";
import { type Reply, scriptedModel } from "../../fakes/scripted-model.ts";

const counter = createTokenCounter();
await counter.load();

let at = 0;
const says = (text: string): UserMessage => ({
  role: "user",
  id: `m${++at}`,
  author: { id: "U1", name: "Ada" },
  text,
  at,
});
/** One step: a call and its result. */
const step = (result: string, name = "look"): Message[] => {
  const id = `c${++at}`;
  return [
    {
      role: "assistant",
      id: `a${at}`,
      model: "m",
      stop: "tool-calls",
      parts: [
        { type: "thinking", text: "hm", protocol: "demo", raw: 1 },
        { type: "tool-call", call: { id, name, input: { path: `f${at}.txt` } } },
      ],
    },
    { role: "tool", callId: id, name, status: "ok", text: result },
  ];
};
const words = (n: number) => Array.from({ length: n }, (_, index) => `w${index}`).join(" ");

function keeper(
  contextTokens: number,
  summaries: Reply[] | (() => Reply) = () => ({ text: "All is well." }),
) {
  const { model, requests } = scriptedModel(summaries);
  const small = { ...model, limits: { ...model.limits, contextTokens, maxOutputTokens: 100 } };
  return { context: createContextKeeper({ model: small, counter }), requests };
}

async function fit(
  context: ReturnType<typeof keeper>["context"],
  messages: Message[],
  force = false,
): Promise<{ messages: Message[]; tooLarge: boolean; events: AgentEvent[] }> {
  const events: AgentEvent[] = [];
  const run = context.fit(messages, { fixed: "", force, signal: new AbortController().signal });
  for (;;) {
    const next = await run.next();
    if (next.done) return { ...next.value, events };
    events.push(next.value);
  }
}

const size = (messages: readonly Message[]) =>
  messages.reduce((sum, message) => sum + counter.countMessage(message), 0);

function expectLegal(messages: readonly Message[]) {
  const calls = new Set<string>();
  for (const message of messages) {
    if (message.role === "assistant") for (const { id } of toolCalls(message)) calls.add(id);
    if (message.role === "tool") expect(calls.delete(message.callId)).toBe(true);
  }
  expect(calls.size).toBe(0);
}

describe("Compaction", () => {
  test("leaves a conversation that fits alone", async () => {
    const { context } = keeper(10_000);
    const messages = [says("hi"), ...step("fine")];
    expect(await fit(context, messages)).toMatchObject({ messages, events: [] });
  });

  test("first cuts old bulky results, without a model call, and spares the newest steps", async () => {
    const messages = [says("go"), ...step(words(800)), ...step(words(50)), ...step(words(300))];
    const { context, requests } = keeper(size(messages) + 200);
    const fitted = await fit(context, messages);
    expect(fitted.events.map(({ type }) => type)).toEqual(["trim"]);
    expect(requests).toHaveLength(0);
    expect(size(fitted.messages)).toBeLessThan(size(messages) * 0.8);
    expect(fitted.messages.at(-1)).toEqual(messages.at(-1));
    expectLegal(fitted.messages);
  });

  test("then replaces what is old by a summary that keeps everybody's words", async () => {
    const { context } = keeper(3_000, () => ({ text: "## Done\nLooked at much." }));
    const asked = Array.from({ length: 12 }, (_, n) => says(`Wish ${n}: ${words(60)}`));
    const messages = asked.flatMap((message) => [message, ...step(words(40))]);
    const { messages: kept, events } = await fit(context, messages);
    expect(events.at(-1)).toMatchObject({ type: "summary" });
    const [summary] = kept;
    expect(summary).toMatchObject({ role: "summary", text: expect.stringContaining("Looked at much.") });
    const seen = kept
      .map((message) => (message.role === "user" || message.role === "summary" ? message.text : ""))
      .join("\n");
    for (let n = 0; n < 12; n += 1) expect(seen).toContain(`Wish ${n}:`);
    expectLegal(kept);
    expect(
      kept
        .flatMap((message) => (message.role === "assistant" ? message.parts : []))
        .some(({ type }) => type === "thinking"),
    ).toBe(false);
  });

  test("merges an earlier summary instead of dropping it", async () => {
    const { context, requests } = keeper(2_000, [{ text: "FACT-ONE" }, { text: "FACT-ONE and FACT-TWO" }]);
    const first = await fit(
      context,
      [
        says(`first wish ${words(200)}`),
        says(words(200)),
        ...step(words(300)),
        ...step(words(300)),
        ...step(words(300)),
      ],
      true,
    );
    const second = await fit(
      context,
      [...first.messages, says(`second wish ${words(300)}`), ...step(words(300)), ...step(words(300))],
      true,
    );
    expect(JSON.stringify(requests[1]?.messages)).toContain("FACT-ONE");
    expect(second.messages[0]).toMatchObject({ text: expect.stringContaining("FACT-TWO") });
    expect(JSON.stringify(second.messages)).toContain("first wish");
  });

  test.each<[string, Reply]>([
    ["fails", { error: new ModelError("transient", "busy") }],
    ["is empty", {}],
    ["is longer than what it stands for", { text: words(5_000) }],
  ])("falls back to facts when the summary %s, and shrinks strictly", async (_why, reply) => {
    const { context } = keeper(2_000, [reply]);
    const messages = [
      says("go"),
      says(words(300)),
      ...step(words(500)),
      ...step(words(500)),
      ...step(words(100)),
    ];
    const { messages: kept } = await fit(context, messages, true);
    expect(size(kept)).toBeLessThan(size(messages));
    expect(kept[0]).toMatchObject({ role: "summary", text: expect.stringContaining("Tools used: look") });
  });

  test("keeps a loaded skill and the plan", async () => {
    const { context } = keeper(3_000);
    const messages = [
      says("go"),
      ...step("SKILL BODY", "get_skill"),
      ...step("1 of 2 done\n[x] a", "todo"),
      says(words(900)),
      ...step("x"),
      ...step("y"),
    ];
    const { messages: kept } = await fit(context, messages, true);
    expect(kept[0]).toMatchObject({
      text: expect.stringMatching(/\[x\] a[\s\S]*SKILL BODY/),
      pinned: ["SKILL BODY"],
    });
  });

  test("says that it is too large when one message alone exceeds the window", async () => {
    const { context, requests } = keeper(400);
    expect(await fit(context, [says(words(3_000))])).toMatchObject({ tooLarge: true });
    expect(requests.length).toBeLessThanOrEqual(1);
  });

  test("learns from what the service counts", async () => {
    const { context } = keeper(2_000);
    const messages = [says(words(250)), ...step(words(100)), ...step("a"), ...step("b")];
    expect((await fit(context, messages)).events).toEqual([]);
    context.learn(messages, "", { ...noUsage, input: size(messages) * 2.5 });
    expect((await fit(context, messages)).events).not.toEqual([]);
  });

  test("never parts a call from its result and always ends smaller, whatever the conversation", async () => {
    const part = fc.oneof(
      fc.nat(400).map((n) => [says(words(n))]),
      fc.nat(400).map((n) => step(words(n))),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 25 }), async (parts) => {
        const { context } = keeper(3_000);
        const messages = [says("begin"), ...parts.flat()];
        const fitted = await fit(context, messages);
        expectLegal(fitted.messages);
        if (fitted.events.length > 0) expect(size(fitted.messages)).toBeLessThan(size(messages));
        const journal: JournalRecord[] = messages.map((message): JournalRecord => {
          if (message.role === "assistant")
            return { type: "assistant", step: 1, message, usage: noUsage, at: 1 };
          if (message.role === "tool") return { type: "tool-result", message, durationMs: 1, at: 1 };
          if (message.role === "user") return { type: "user", message };
          throw new Error("not made above");
        });
        for (const event of fitted.events) {
          const record = recordOf(event, 1);
          if (record) journal.push(record);
        }
        const plain = (list: readonly Message[]) => list.map((message) => ({ ...message, tokens: 0 }));
        expect(plain(replay(journal).messages)).toEqual(plain(fitted.messages));
      }),
      { numRuns: 60 },
    );
  });
});

test("A session of 2,000 steps in a window of 16,000 tokens keeps what everybody asked and what step 3 found", async () => {
  let summaries = 0;
  const { model } = scriptedModel((request) => {
    summaries += 1;
    // The summariser carries over what it is shown, as it is told to.
    const shown = JSON.stringify(request.messages);
    return { text: `## Findings\n${/KEY-\d+/.exec(shown)?.[0] ?? "nothing"}` };
  });
  const small = { ...model, limits: { ...model.limits, contextTokens: 16_000, maxOutputTokens: 2_000 } };
  const context = createContextKeeper({ model: small, counter });
  let messages: Message[] = [];
  let asked = 0;
  for (let n = 1; n <= 2_000; n += 1) {
    if (n % 25 === 1) messages.push(says(`Wish number ${++asked}: please look into part ${n}`));
    messages.push(...step(n === 3 ? `KEY-4711 ${words(60)}` : words(60)));
    const fitted = await fit(context, messages);
    expect(fitted.tooLarge).toBe(false);
    messages = fitted.messages;
    expect(size(messages)).toBeLessThan(14_000);
  }
  const all = messages.map((message) => (message.role === "assistant" ? "" : message.text)).join("\n");
  const lost = Array.from({ length: asked }, (_, n) => `Wish number ${n + 1}:`).filter(
    (wish) => !all.includes(wish),
  );
  expect(lost).toEqual([]);
  expect(all.includes("KEY-4711")).toBe(true);
  // With hysteresis a summary comes once in many steps.
  expect(summaries).toBeLessThan(200);
});
