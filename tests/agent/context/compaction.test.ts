import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CompactionPolicy, createContextWindow } from "../../../src/agent/context/compaction.ts";
import { createLearntWindows } from "../../../src/agent/context/learnt-windows.ts";
import { createTokenCounter } from "../../../src/agent/context/tokens.ts";
import type { AgentEvent } from "../../../src/agent/events.ts";
import { replay } from "../../../src/agent/journal/replay.ts";
import { toRecord } from "../../../src/agent/journal/history.ts";
import type { JournalRecord } from "../../../src/agent/journal/journal.ts";
import { createFallbackModel } from "../../../src/agent/llm/fallback.ts";
import { heddle, type Message, toolCalls, type UserMessage } from "../../../src/agent/messages.ts";
import { ModelError, noUsage } from "../../../src/agent/model.ts";
import { searchHistory } from "../../../src/agent/tools/search-history.ts";
import { type Reply, scriptedModel } from "../../fakes/scripted-model.ts";
import { readerOf } from "../journal-reader.ts";
import { run } from "../turn.ts";

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

function createWindow(
  contextTokens: number,
  summaries: Reply[] | (() => Reply) = () => ({ text: "All is well." }),
  policy: Partial<CompactionPolicy> = {},
) {
  const { model, requests } = scriptedModel(summaries);
  const small = { ...model, limits: { ...model.limits, contextTokens, maxOutputTokens: 100 } };
  return { context: createContextWindow({ model: small, counter, policy }), requests };
}

async function fit(
  context: ReturnType<typeof createWindow>["context"],
  messages: Message[],
  force = false,
  fixed = "",
): Promise<{ messages: readonly Message[]; tooLarge: boolean; events: AgentEvent[] }> {
  const events: AgentEvent[] = [];
  const fitting = context.compactToFit(messages, { fixed, force, signal: new AbortController().signal });
  for (;;) {
    const next = await fitting.next();
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

function recordFor(message: Message): JournalRecord {
  switch (message.role) {
    case "user":
      return { type: "user", message };
    case "assistant":
      return { type: "assistant", step: 1, message, usage: noUsage, at: 1 };
    case "tool":
      return { type: "tool-result", message, durationMs: 1, at: 1 };
    case "summary":
      throw new Error("No record is made for a summary here.");
  }
}

describe("Compaction", () => {
  test("leaves a conversation that fits alone", async () => {
    const { context } = createWindow(10_000);
    const messages = [says("hi"), ...step("fine")];
    expect(await fit(context, messages)).toMatchObject({ messages, events: [] });
  });

  test("first cuts old large results, without a model call, and keeps the newest steps", async () => {
    const messages = [says("go"), ...step(words(800)), ...step(words(50)), ...step(words(300))];
    const { context, requests } = createWindow(size(messages) + 200);
    const fitted = await fit(context, messages);
    expect(fitted.events.map(({ type }) => type)).toEqual(["trim"]);
    expect(requests).toHaveLength(0);
    expect(size(fitted.messages)).toBeLessThan(size(messages) * 0.8);
    expect(fitted.messages.at(-1)).toEqual(messages.at(-1));
    expectLegal(fitted.messages);
  });

  test("then replaces what is old by a summary that keeps everybody's words", async () => {
    const { context } = createWindow(3_000, () => ({ text: "## Done\nLooked at much." }));
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
    const { context, requests } = createWindow(2_000, [
      { text: "FACT-ONE" },
      { text: "FACT-ONE and FACT-TWO" },
    ]);
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
    ["is refused", { text: "I will not", stop: "refusal" }],
    ["is longer than what it stands for", { text: words(5_000) }],
  ])("falls back to facts when the summary %s, and shrinks strictly", async (_why, reply) => {
    const { context } = createWindow(2_000, [reply]);
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

  test("keeps a loaded skill and the plan, also the next time", async () => {
    const { context } = createWindow(3_000);
    const kept = expect.objectContaining({
      text: expect.stringMatching(/\[x\] a[\s\S]*SKILL BODY/),
      pinned: ["SKILL BODY"],
      plan: "1 of 2 done\n[x] a",
    });
    const messages = [
      says("go"),
      ...step("SKILL BODY", "get_skill"),
      ...step("1 of 2 done\n[x] a", "todo"),
      says(words(900)),
      ...step("x"),
      ...step("y"),
    ];
    const first = await fit(context, messages, true);
    expect(first.messages[0]).toEqual(kept);
    const later = [...first.messages, says(words(900)), ...step("x"), ...step("y")];
    expect((await fit(context, later, true)).messages[0]).toEqual(kept);
  });

  test("never cuts a skill or the plan short where they stand", async () => {
    const messages = [
      says("go"),
      ...step(words(300), "get_skill"),
      ...step(words(300), "todo"),
      ...step(words(800)),
      ...step("x"),
      ...step("y"),
    ];
    const { context } = createWindow(size(messages) + 200);
    const { messages: kept, events } = await fit(context, messages);
    expect(events.map(({ type }) => type)).toEqual(["trim"]);
    expect(kept.slice(0, 5)).toEqual(messages.slice(0, 5));
  });

  test("begins beyond its share of the window, and not when that is reached exactly", async () => {
    const sized = (n: number) => [says("go"), ...step(words(n)), ...step("x"), ...step("y")];
    const messages = sized([400, 401, 402, 403, 404].find((n) => size(sized(n)) % 4 === 0) ?? 0);
    // 100 tokens of the window are for the reply, and four fifths of the rest may be used.
    const exact = size(messages) * 1.25 + 100;
    expect((await fit(createWindow(exact).context, messages)).events).toEqual([]);
    expect((await fit(createWindow(exact - 1).context, messages)).events).not.toEqual([]);
  });

  test("leaves a conversation alone that has nothing but a prompt that is too large, and says so", async () => {
    const { context, requests } = createWindow(400);
    const { messages, tooLarge, events } = await fit(context, [], false, words(2_000));
    expect([messages, tooLarge, events, requests]).toEqual([[], true, [], []]);
  });

  test("keeps people's words and the last steps, and parts no call from its result", async () => {
    const messages = [
      says("first wish"),
      ...step(words(700)),
      ...step(words(700)),
      says("second wish"),
      ...step(words(60)),
      ...step("newest"),
    ];
    const { context } = createWindow(1_500);
    const { messages: kept } = await fit(context, messages);
    expectLegal(kept);
    expect(JSON.stringify(kept)).toContain("first wish");
    expect(JSON.stringify(kept)).toContain("second wish");
    expect(kept.slice(-4).map((message) => message.role === "tool" && message.text)).toEqual([
      false,
      words(60),
      false,
      "newest",
    ]);
  });

  test("keeps the last rounds whole, and a round begins with a person", async () => {
    const round = (n: number, result: string): Message[] => [
      says(`wish ${n}`),
      { ...says("(notes)"), author: heddle },
      ...step(result),
    ];
    const rounds = [1, 2, 3, 4, 5].map((n) => round(n, words(n <= 3 ? 120 : 5)));
    const { context } = createWindow(1_200, () => ({ text: "Looked." }), { retainRounds: 2 });
    const { messages: kept } = await fit(context, rounds.flat(), true);
    expect(kept.map(({ role }) => role)).toEqual([
      "summary",
      ...["user", "user", "assistant", "tool"],
      ...["user", "user", "assistant", "tool"],
    ]);
    expect(kept[1]).toMatchObject({ text: "wish 4" });
  });

  test("does nothing where few rounds fit, and cuts results where they do not", async () => {
    const messages = [says("one"), ...step(words(300)), says("two"), ...step("x"), ...step("y")];
    expect((await fit(createWindow(5_000).context, messages)).events).toEqual([]);
    const fitted = await fit(createWindow(size(messages) + 100).context, messages);
    expect(fitted.events.map(({ type }) => type)).toEqual(["trim"]);
  });

  test("asks for at most one summary at a time, whatever is too large", async () => {
    const messages = [says(words(3_000)), ...Array.from({ length: 7 }, () => step(words(60))).flat()];
    const { context, requests } = createWindow(600);
    const { messages: kept, tooLarge } = await fit(context, messages);
    expect(requests).toHaveLength(1);
    expect(tooLarge || size(kept) < 500).toBe(true);
  });

  test("shortens one message that alone exceeds the window, without a model", async () => {
    const { context, requests } = createWindow(400);
    const { messages, tooLarge } = await fit(context, [says(`begin ${words(3_000)} end`)]);
    expect(tooLarge).toBe(false);
    expect(size(messages)).toBeLessThan(300);
    expect(messages[0]).toMatchObject({ text: expect.stringMatching(/\[Ada\] begin [^]* end/) });
    expect(requests).toEqual([]);
  });

  test("cuts the newest results too after a refusal, pays for no summary, and remembers the size", async () => {
    const { context, requests } = createWindow(128_000);
    const messages = [says("Look"), ...step(words(4_000)), ...step(words(4_000))];
    context.learnRefusal(messages, "", "");
    const fitted = await fit(context, messages, true);
    expect(size(fitted.messages)).toBeLessThan(size(messages) / 2);
    expect(requests).toHaveLength(0);
    expect(context.fits(messages, "")).toBe(false);
  });

  test.each([
    "prompt is too long: 1210000 tokens > 16000 maximum",
    "This model's maximum context length is 16,000 tokens. However, you requested 20000 tokens",
    "the request exceeds the available context size (16000 tokens), try increasing it",
  ])("takes the window from the service's words: %s", async (detail) => {
    const { context } = createWindow(128_000);
    const messages = [says(words(12_000))];
    context.learnRefusal(messages, "", detail);
    expect(context.fits([says(words(1_000))], "")).toBe(true);
    expect(context.fits(messages, "")).toBe(false);
  });

  test("forgets what it has learnt when a larger request is taken, or after a day", async () => {
    let now = 0;
    const { model } = scriptedModel([]);
    const learnt = createLearntWindows({ now: () => now });
    const context = createContextWindow({ model, counter, learnt });
    const messages = [says(words(10_000))];
    const taken = { ...noUsage, input: size(messages) };
    context.learnRefusal(messages, "", "maximum context length is 16000 tokens");
    expect(context.fits(messages, "")).toBe(false);
    const larger = { ...noUsage, input: size(messages) * 2 };
    context.learn([says(words(20_000))], "", larger, model.id);
    expect(context.fits(messages, "")).toBe(true);
    context.learnRefusal(messages, "", "");
    expect(context.fits(messages, "")).toBe(false);
    context.learn(messages, "", taken, model.id);
    expect(context.fits(messages, "")).toBe(true);
    context.learnRefusal(messages, "", "");
    now += 24 * 60 * 60_000;
    expect(context.fits(messages, "")).toBe(true);
  });

  test("keeps what a fallback refuses apart from the model that it stands in for", async () => {
    const named = (id: string, reply: Reply) => ({ ...scriptedModel([reply]).model, id });
    const down = { error: new ModelError("transient", "down") };
    const refusal = {
      error: new ModelError("overflow", "Too long.", { detail: "maximum context length is 16000" }),
    };
    const small = named("b/small", refusal);
    let now = 0;
    const model = createFallbackModel({
      models: [named("a/large", down), small],
      onFailure: () => undefined,
      now: () => now,
      restMs: 1_000,
    });
    const learnt = createLearntWindows({ now: () => now });
    const context = createContextWindow({ model, counter, learnt });
    const messages = [says(words(10_000))];
    const calling = model.stream({ system: "", messages, tools: [] }, new AbortController().signal);
    const error = await Array.fromAsync(calling).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: "overflow", model: "b/small" });
    context.learnRefusal(messages, "", "maximum context length is 16000", "b/small");
    // While the first one rests, the fallback serves.
    expect(context.fits(messages, "")).toBe(false);
    expect(createContextWindow({ model: small, counter, learnt }).fits(messages, "")).toBe(false);
    now = 1_000;
    expect(context.fits(messages, "")).toBe(true);
  });

  test.each([
    [32_000, 4_200, 1_500],
    [32_000, 12_000, 1_500],
    [32_000, 14_400, 1_500],
    [32_000, 16_200, 1_500],
    [32_000, 18_500, 1_500],
    [32_000, 20_400, 1_000],
    // 60 % of what is usable, between the smallest and the largest windows.
    [16_000, 7_200, 800],
    [200_000, 115_200, 9_000],
    [1_000_000, 595_200, 45_000],
  ])(
    "in a window of %d, pays for at most one summary in eight steps beside a fixed part of %d tokens",
    async (window, fixed, result) => {
      const { model, requests } = scriptedModel(() => ({ text: "## Done\nMuch." }));
      const maxOutputTokens = Math.min(8_000, window / 4);
      const local = { ...model, limits: { ...model.limits, contextTokens: window, maxOutputTokens } };
      const context = createContextWindow({ model: local, counter });
      const prompt = " word".repeat(fixed);
      const paidAt: number[] = [];
      let messages: readonly Message[] = [says("go")];
      for (let n = 1; n <= 40; n += 1) {
        const paid = requests.length;
        const fitted = await fit(context, [...messages, ...step(" word".repeat(result))], false, prompt);
        expect(fitted.tooLarge).toBe(false);
        expect(context.countTokens(fitted.messages, prompt)).toBeLessThanOrEqual(window - maxOutputTokens);
        messages = fitted.messages;
        if (requests.length > paid) paidAt.push(n);
        expect(requests.length - paid).toBeLessThanOrEqual(1);
      }
      const gaps = paidAt.map((n, index) => n - (paidAt[index - 1] ?? -Infinity));
      expect(gaps.filter((gap) => gap < 8)).toEqual([]);
      expect(JSON.stringify(messages)).toContain("go");
    },
  );

  test("learns from what the service counts", async () => {
    const { context } = createWindow(2_000);
    const messages = [says(words(250)), ...step(words(100)), ...step("a"), ...step("b")];
    expect((await fit(context, messages)).events).toEqual([]);
    context.learn(messages, "", { ...noUsage, input: size(messages) * 2.5 }, "test/scripted");
    expect((await fit(context, messages)).events).not.toEqual([]);
  });

  test("never parts a call from its result and always ends smaller, whatever the conversation", async () => {
    const part = fc.oneof(
      fc.nat(400).map((n) => [says(words(n))]),
      fc.nat(400).map((n) => step(words(n))),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 25 }), async (parts) => {
        const { context } = createWindow(3_000);
        const messages = [says("begin"), ...parts.flat()].map(counter.measure);
        const fitted = await fit(context, messages);
        expectLegal(fitted.messages);
        if (fitted.events.length > 0) expect(size(fitted.messages)).toBeLessThan(size(messages));
        const journal = messages.map(recordFor);
        for (const event of fitted.events) {
          const record = toRecord(event, 1);
          if (record) journal.push(record);
        }
        const plain = (list: readonly Message[]) => list.map((message) => ({ ...message, tokens: 0 }));
        const again = replay(journal).messages;
        expect(plain(again)).toEqual(plain(fitted.messages));
        // What is stored as its size is the size of what is left of it.
        for (const { tokens, ...rest } of again)
          if (tokens !== undefined) expect(tokens).toBe(counter.countMessage(rest));
      }),
      { numRuns: 60 },
    );
  });
});

test("A session of 2,000 steps in a window of 16,000 tokens keeps what everybody asked, and finds what step 3 found", async () => {
  let summaries = 0;
  const { model, requests } = scriptedModel((request) => {
    if (request.tools.length === 0) {
      summaries += 1;
      return { text: "## Done\nMuch was looked at." };
    }
    const found = request.messages.at(-1);
    if (found?.role !== "tool") return { calls: [{ name: "search_history", input: { query: "key" } }] };
    return { text: `Step 3 found ${/KEY-\d+/.exec(found.text)?.[0]}.` };
  });
  const small = { ...model, limits: { ...model.limits, contextTokens: 16_000, maxOutputTokens: 2_000 } };
  const context = createContextWindow({ model: small, counter });
  const journal: JournalRecord[] = [];
  let messages: Message[] = [];
  let asked = 0;
  for (let n = 1; n <= 2_000; n += 1) {
    const added: Message[] = n % 25 === 1 ? [says(`Wish number ${++asked}: please look into part ${n}`)] : [];
    added.push(...step(n === 3 ? `KEY-4711 ${words(60)}` : words(60)));
    journal.push(...added.map(recordFor));
    const fitted = await fit(context, [...messages, ...added]);
    expect(fitted.tooLarge).toBe(false);
    for (const event of fitted.events) {
      const record = toRecord(event, 1);
      if (record) journal.push(record);
    }
    messages = [...fitted.messages];
    expect(size(messages)).toBeLessThan(14_000);
  }
  const all = messages.map((message) => (message.role === "assistant" ? "" : message.text)).join("\n");
  const lost = Array.from({ length: asked }, (_, n) => `Wish number ${n + 1}:`).filter(
    (wish) => !all.includes(wish),
  );
  expect(lost).toEqual([]);
  // With hysteresis a summary comes once in many steps.
  expect(summaries).toBeLessThan(200);

  // Long gone from the model's view, and still in the journal.
  expect(all).not.toContain("KEY-4711");
  journal.push({ type: "user", message: says("Which key did step 3 find?") });
  const { outcome } = await run({
    journal,
    model: small,
    tools: [searchHistory],
    services: { history: readerOf(() => journal) },
  });
  expect(outcome).toMatchObject({ kind: "answered", text: "Step 3 found KEY-4711." });
  expect(requests.at(-1)?.messages.at(-1)).toMatchObject({ name: "search_history", status: "ok" });
});
