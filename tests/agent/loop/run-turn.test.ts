import { describe, expect, test } from "vitest";
import type { AgentEvent, TurnAbort } from "../../../src/agent/events.ts";
import { replay } from "../../../src/agent/journal/replay.ts";
import type { JournalRecord } from "../../../src/agent/journal/journal.ts";
import { assertPaired } from "../../../src/agent/llm/wire-history.ts";
import { type Message, toolCalls } from "../../../src/agent/messages.ts";
import { type LanguageModel, ModelError, type ModelRequest, noUsage } from "../../../src/agent/model.ts";
import { type Reply, scriptedModel } from "../../fakes/scripted-model.ts";
import { dispatcherOf } from "../tools/services.ts";
import { asking, counter, run, say, tool } from "../turn.ts";

/** Ends the worker at the first event of that type. */
const shutDownAt = (type: AgentEvent["type"]) => (event: AgentEvent, abort: (reason: TurnAbort) => void) => {
  if (event.type === type) abort({ kind: "shutdown" });
};

const stop: TurnAbort = { kind: "stop", order: { by: "Bob", at: 5_000 } };

describe("The loop", () => {
  test("answers without tools in one step", async () => {
    const { outcome, requests } = await run({ replies: [{ text: "Hello." }] });
    expect(outcome).toMatchObject({
      kind: "answered",
      text: "Hello.",
      steps: 1,
      usage: { input: 100, calls: 1 },
    });
    expect(requests[0]?.messages).toEqual([say("do it")]);
  });

  test("runs the tools that the model asks for and gives it their results", async () => {
    const { outcome, requests } = await run({
      replies: [{ calls: [{ name: "look" }] }, { text: "It is blue." }],
      tools: [tool("look", "read", async () => "blue")],
    });
    expect(outcome).toMatchObject({ kind: "answered", text: "It is blue.", steps: 2 });
    expect(requests[1]?.messages.at(-1)).toMatchObject({
      role: "tool",
      callId: "call_1_0",
      text: "blue",
      status: "ok",
    });
  });

  test("keeps with the answer what went wrong before it", async () => {
    const { model } = scriptedModel([{ text: "Hello." }]);
    const troubled: LanguageModel = {
      ...model,
      async *stream(request, signal) {
        yield { type: "retry", attempt: 2, delayMs: 900, reason: "It is overloaded." };
        yield { type: "fallback", reason: "It is still overloaded.", model: "test/other" };
        yield* model.stream(request, signal);
      },
    };
    const { journal } = await run({ model: troubled });
    expect(journal.at(-1)).toMatchObject({
      ...{ type: "assistant", at: 2_000 },
      troubles: [
        "It is overloaded. Tried again after 0.9 s.",
        "It is still overloaded. Going on with test/other.",
      ],
    });
  });

  test("answers an unknown tool and unreadable arguments, and goes on", async () => {
    const { outcome, requests } = await run({
      replies: [{ calls: [{ name: "nope" }, { name: "look", malformed: '{"a": ' }] }, { text: "Sorry." }],
      tools: [tool("look", "read", async () => "blue")],
    });
    expect(outcome.kind).toBe("answered");
    const [unknown, malformed] = requests[1]?.messages.slice(-2) ?? [];
    expect(unknown).toMatchObject({ status: "error", text: expect.stringContaining("look") });
    expect(malformed).toMatchObject({
      status: "error",
      text: expect.stringContaining("invalid JSON arguments"),
    });
  });

  test("tells a call that was cut at the output limit where it was, and runs a whole one of the same reply", async () => {
    const { outcome, requests } = await run({
      replies: [
        { calls: [{ name: "look" }, { name: "look", malformed: '{"a": "lon' }], stop: "max-tokens" },
        { text: "In parts, then." },
      ],
      tools: [tool("look", "read", async () => "blue")],
    });
    expect(outcome.kind).toBe("answered");
    const [whole, cut] = requests[1]?.messages.slice(-2) ?? [];
    expect(whole).toMatchObject({ status: "ok", text: "blue" });
    expect(cut).toMatchObject({
      status: "error",
      text: expect.stringMatching(/^CUT: your reply was cut at [\d,]+ tokens.* look was not run.* in parts/),
    });
  });

  test("answers where the service takes far less than is believed, and never sends again what was refused", async () => {
    const sent: string[] = [];
    const refuse = (words: string, most: number) => {
      return scriptedModel(({ messages }, call) => {
        const text = JSON.stringify(messages);
        sent.push(text);
        const detail = words.replace("SENT", String(Math.ceil(text.length / 4)));
        if (text.length > most) return { error: new ModelError("overflow", "Too large.", { detail }) };
        const look = { calls: [{ name: "look" }, { name: "look" }, { name: "look" }] };
        return call === 1 ? look : { text: "Answered." };
      }).model;
    };
    for (const words of ["too long", "SENT tokens > 10000 maximum"]) {
      sent.length = 0;
      const model = refuse(words, 40_000);
      const { outcome, events } = await run({
        model,
        tools: [tool("look", "read", async () => "a line of a file\n".repeat(3_000))],
      });
      expect(outcome).toMatchObject({ kind: "answered", text: "Answered." });
      expect(new Set(sent).size).toBe(sent.length);
      expect(events.filter(({ type }) => type === "summary")).toEqual([]);
    }
  });

  test("ends after two replies in a row that were cut within a call", async () => {
    const cut = (text: string): Reply => ({
      calls: [{ name: "look", malformed: text }],
      stop: "max-tokens",
    });
    const { outcome, requests } = await run({
      replies: [cut('{"a": "lon'), cut('{"a": "long'), { text: "Never asked." }],
      tools: [tool("look", "read", async () => "blue")],
    });
    expect(requests).toHaveLength(2);
    expect(outcome).toMatchObject({
      kind: "model-error",
      text: expect.stringMatching(/twice in a row it was cut at [\d,]+ tokens within a tool call/),
    });
  });

  test("runs read-only calls of a step together and keeps their results in order", async () => {
    let running = 0;
    let together = 0;
    const gate = Promise.withResolvers<void>();
    const look = tool("look", "read", async () => {
      running += 1;
      together = Math.max(together, running);
      if (running === 3) gate.resolve();
      await gate.promise;
      return "seen";
    });
    const { journal } = await run({
      replies: [{ calls: [{ name: "look" }, { name: "look" }, { name: "look" }] }, { text: "ok" }],
      tools: [look],
    });
    expect(together).toBe(3);
    const results = journal.flatMap((record) =>
      record.type === "tool-result" ? [record.message.callId] : [],
    );
    expect(results).toEqual(["call_1_0", "call_1_1", "call_1_2"]);
  });

  test("runs calls that change something one after the other", async () => {
    let running = 0;
    const write = tool("write", "write", async () => {
      running += 1;
      expect(running).toBe(1);
      await Promise.resolve();
      running -= 1;
      return "written";
    });
    await run({
      replies: [{ calls: [{ name: "write" }, { name: "write" }] }, { text: "ok" }],
      tools: [write],
    });
  });

  test("folds messages that arrive meanwhile in before the next step", async () => {
    const later = [[], [say("also this", 2_000)]];
    const { requests } = await run({
      replies: [{ calls: [{ name: "look" }] }, { text: "both done" }],
      tools: [tool("look", "read", async () => "blue")],
      followUps: async () => later.shift() ?? [],
    });
    expect(requests[1]?.messages.at(-1)).toEqual(say("also this", 2_000));
  });

  test("tells of messages that have arrived, so that they are shown and stored", async () => {
    const later = [[say("and then stop", 2_000)]];
    const { events } = await run({
      replies: [{ calls: [{ name: "look" }] }, { text: "Done." }],
      tools: [tool("look", "read", async () => "blue")],
      followUps: async () => later.shift() ?? [],
    });
    expect(events.filter(({ type }) => type === "follow-up")).toEqual([
      { type: "follow-up", messages: [say("and then stop", 2_000)] },
    ]);
  });

  test("asks for changed tools between steps, not before the first, and offers them from then on", async () => {
    let asked = 0;
    const grown = dispatcherOf({
      tools: [tool("look", "read", async () => "blue"), tool("grown", "read", async () => "x")],
    });
    const { requests } = await run({
      replies: [{ calls: [{ name: "look" }] }, { calls: [{ name: "look" }] }, { text: "Done." }],
      tools: [tool("look", "read", async () => "blue")],
      renew: async () => ((asked += 1) === 1 ? { system: "changed", tools: grown } : undefined),
    });
    expect(asked).toBe(2);
    expect(requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
      ["look"],
      ["look", "grown"],
      ["look", "grown"],
    ]);
    expect(requests.map(({ system }) => system)).toEqual(["system", "changed", "changed"]);
  });

  test("asks the model nothing when it was stopped before its first step", async () => {
    const controller = new AbortController();
    controller.abort(stop);
    const { outcome, requests } = await run({ replies: [{ text: "Hello." }], controller });
    expect(outcome).toMatchObject({ kind: "stopped", steps: 0 });
    expect(requests).toEqual([]);
  });

  test("ends at the step limit with a summary made without tools, and can be continued", async () => {
    const { outcome, requests, journal } = await run({
      replies: (_request, call) =>
        call <= 3 ? { calls: [{ name: "look" }] } : { text: "Three looks done." },
      tools: [tool("look", "read", async () => "blue")],
      limits: { steps: 3 },
    });
    expect(outcome).toMatchObject({
      kind: "step-limit",
      text: "Three looks done.",
      steps: 3,
      limit: "3 steps",
    });
    expect(requests.at(-1)?.toolChoice).toBe("none");

    journal.push({ type: "turn-end", turn: "t1", outcome, at: 3_000 }, ...asking("continue", 4_000));
    const next = await run({ journal, replies: [{ text: "All done." }] });
    expect(next.outcome).toMatchObject({ kind: "answered", text: "All done.", steps: 1 });
    expect(JSON.stringify(next.requests[0]?.messages)).toContain("Three looks done.");
  });

  test("has room for that summary, whatever the last step has brought", async () => {
    const { model, requests } = scriptedModel((_request, call) =>
      call === 1 ? { calls: [{ name: "look" }] } : { text: "Looked once." },
    );
    const { outcome } = await run({
      model: { ...model, limits: { ...model.limits, contextTokens: 4_000, maxOutputTokens: 500 } },
      tools: [tool("look", "read", async () => "word ".repeat(8_000))],
      limits: { steps: 1 },
    });
    expect(outcome).toMatchObject({ kind: "step-limit", text: "Looked once." });
    expect(counter.countMessages(requests.at(-1)?.messages ?? [])).toBeLessThan(3_000);
  });

  test("goes on where the service paused its turn", async () => {
    const { outcome, requests } = await run({
      replies: [{ text: "Searching. ", stop: "pause" }, { text: "Found it." }],
    });
    expect(outcome).toMatchObject({ kind: "answered", text: "Searching. Found it.", steps: 2 });
    expect(requests[1]?.messages.at(-1)).toMatchObject({ role: "assistant", stop: "pause" });
  });

  test.each([
    ["tokens", { tokens: 100 }, "100 tokens"],
    ["wall time", { wallMs: 60_000 }, "1 minute"],
  ])("ends at a limit of %s, and goes on in the next turn with a new one", async (_what, limits, limit) => {
    let now = 1_000;
    const slow = tool("look", "read", async () => {
      now += 60_000;
      return "blue";
    });
    const first = await run({
      replies: [{ text: "Looking.", calls: [{ name: "look" }] }],
      tools: [slow],
      limits,
      now: () => now,
    });
    expect(first.outcome).toMatchObject({ kind: "budget", limit, text: "Looking.", steps: 1 });
    const { journal, outcome } = first;
    journal.push({ type: "turn-end", turn: "t1", outcome, at: now }, ...asking("continue", now + 1));
    const next = await run({ journal, replies: [{ text: "It is blue." }], limits, now: () => now + 2 });
    expect(next.outcome).toMatchObject({ kind: "answered", text: "It is blue." });
    expect(next.requests[0]?.messages.slice(-2)).toMatchObject([{ text: "blue" }, { text: "continue" }]);
  });

  test("ends at a limit of money without another model call", async () => {
    const { outcome, requests } = await run({
      replies: [{ text: "Looking.", calls: [{ name: "look" }] }],
      tools: [tool("look", "read", async () => "blue")],
      limits: { cost: 0.01 },
    });
    expect(outcome).toMatchObject({ kind: "budget", limit: "$0.01", text: "Looking." });
    expect(requests).toHaveLength(1);
  });

  test("quotes nothing that was said before the turn when its money is spent", async () => {
    const journal = asking("hello");
    const first = await run({ journal, replies: [{ text: "Old answer." }] });
    journal.push({ type: "turn-end", turn: "t1", outcome: first.outcome, at: 3_000 }, ...asking("go", 4_000));
    const { outcome } = await run({
      journal,
      replies: [{ calls: [{ name: "look" }] }],
      tools: [tool("look", "read", async () => "blue")],
      limits: { cost: 0.01 },
    });
    expect(outcome).toMatchObject({ kind: "budget", text: "" });
  });

  test("counts what its tools have spent", async () => {
    const usage = { ...noUsage, input: 7, cost: 0.5, calls: 1 };
    const paid = {
      ...tool("paid", "read", async () => ""),
      run: async () => ({ status: "ok" as const, text: "", usage }),
    };
    const { outcome, journal } = await run({
      replies: [{ calls: [{ name: "paid" }, { name: "paid" }] }, { text: "ok" }],
      tools: [paid],
    });
    expect(outcome.usage).toMatchObject({ input: 214, calls: 4 });
    expect(replay(journal).turn?.usage).toEqual(outcome.usage);
  });

  test.each(["max-tokens", "context-window"] as const)(
    "continues a reply that was cut at a limit (%s)",
    async (limit) => {
      const parts = [{ text: "One, ", stop: limit }, { text: "two." }];
      const { outcome } = await run({
        // A full window is emptied before the reply goes on.
        replies: ({ system }) => (system === "system" ? parts.shift() : undefined) ?? { text: "Summary." },
      });
      expect(outcome).toMatchObject({ kind: "answered", text: "One, two." });
    },
  );

  test("makes room and asks once more when the service says that the request is too large", async () => {
    const journal: JournalRecord[] = [];
    for (let n = 1; n <= 4; n += 1) journal.push(...asking(`wish ${n} ${"word ".repeat(200)}`, n * 1_000));
    const overflow = new ModelError("overflow", "Too large.");
    const { outcome, events, requests } = await run({
      journal,
      replies: (request, call) => {
        if (request.tools.length === 0 && request.toolChoice === "none") return { text: "They wished." };
        return call === 1 ? { error: overflow } : { text: "Fits." };
      },
    });
    expect(outcome).toMatchObject({ kind: "answered", text: "Fits." });
    expect(events.map(({ type }) => type)).toEqual([
      "step-start",
      "summary",
      "step-start",
      "text-delta",
      "assistant",
    ]);
    expect(requests.at(-1)?.messages[0]?.role).toBe("summary");
  });

  test("says so when the service finds it too large even then", async () => {
    const overflow = new ModelError("overflow", "The conversation no longer fits.");
    const { outcome } = await run({ replies: [{ error: overflow }, { error: overflow }] });
    expect(outcome).toMatchObject({ kind: "model-error", text: "The conversation no longer fits." });
  });

  test("remembers what was said in earlier turns", async () => {
    const journal = asking("My name is Bob");
    const first = await run({ journal, replies: [{ text: "Hello Bob." }] });
    journal.push({ type: "turn-end", turn: "t1", outcome: first.outcome, at: 3_000 });
    journal.push(...asking("My name?", 4_000));
    const { requests } = await run({ journal, replies: [{ text: "Bob." }] });
    expect(requests[0]?.messages).toMatchObject([
      { text: "My name is Bob" },
      { role: "assistant" },
      { text: "My name?" },
    ]);
  });

  test("asks once more after a reply that was cut within its thoughts, then says so", async () => {
    const { outcome, requests } = await run({ replies: () => ({ text: " ", stop: "max-tokens" }) });
    expect(outcome).toMatchObject({ kind: "model-error", text: expect.stringContaining("no answer") });
    expect(requests).toHaveLength(2);
  });

  test("asks once more after an empty reply, then says so", async () => {
    const answered = await run({ replies: [{}, { text: "Here." }] });
    expect(answered.outcome).toMatchObject({ kind: "answered", text: "Here." });
    expect(answered.requests[1]?.messages.at(-1)).toMatchObject({
      role: "user",
      text: "Your last reply was empty. Please answer, or use a tool.",
    });
    const { outcome, journal } = await run({ replies: [{}, {}] });
    expect(outcome).toMatchObject({ kind: "model-error", text: expect.stringContaining("no answer") });
    expect(journal.filter(({ type }) => type === "assistant")).toEqual([]);
  });

  test("tells a refusal and a failure of the model apart", async () => {
    const refused = await run({ replies: [{ text: "I will not.", stop: "refusal" }] });
    expect(refused.outcome).toMatchObject({ kind: "refused", text: "I will not." });
    const failed = await run({ replies: [{ error: new ModelError("auth", "The key was refused.") }] });
    expect(failed.outcome).toMatchObject({ kind: "model-error", text: "The key was refused." });
  });
});

describe("A model that breaks its contract", () => {
  const breaking = (stream: LanguageModel["stream"]) =>
    run({ model: { ...scriptedModel([]).model, stream }, journal: asking("do it") });

  test("is a fault of the program, whose own error is thrown", async () => {
    const fault = new TypeError("It is no function.");
    const throwing = () => {
      throw fault;
    };
    await expect(breaking(throwing)).rejects.toBe(fault);
    await expect(
      breaking(async function* () {
        yield { type: "text", delta: "Hel" };
      }),
    ).rejects.toThrow("ended its stream without a final event");
  });
});

describe("Calls whose ids the model uses again", () => {
  const spoken = (messages: readonly Message[]) =>
    messages.flatMap((message) => (message.role === "tool" ? [message.text] : []));
  /** The ids of calls and of results, in order. */
  const idsOf = (messages: readonly Message[]) =>
    messages.flatMap((message) => {
      if (message.role === "tool") return [message.callId];
      return message.role === "assistant" ? toolCalls(message).map(({ id }) => id) : [];
    });
  const again = (...names: string[]) => ({ calls: names.map((name) => ({ id: "c", name })) });

  test.each([
    ["in one reply", [again("one", "two")]],
    ["in the next step", [again("one"), again("two")]],
  ])("%s get one result each, beside the call that it belongs to", async (_where, steps) => {
    const { outcome, requests, journal } = await run({
      replies: [...steps, { text: "Done." }],
      tools: ["one", "two"].map((name) => tool(name, "write", async () => `${name} ran`)),
    });
    expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
    const messages = requests.at(-1)?.messages ?? [];
    expect(spoken(messages)).toEqual(["one ran", "two ran"]);
    expect(() => assertPaired(messages)).not.toThrow();
    expect(new Set(idsOf(messages)).size).toBe(2);
    const read = replay(journal);
    expect(idsOf(read.messages)).toEqual(idsOf(messages));
    expect(read.turn?.calls.map(({ call, result }) => [call.name, result?.text])).toEqual([
      ["one", "one ran"],
      ["two", "two ran"],
    ]);
  });

  test("and that run beside each other keep their own results", async () => {
    const gate = Promise.withResolvers<void>();
    const { requests } = await run({
      replies: [again("slow", "fast"), { text: "Done." }],
      tools: [
        tool("slow", "read", () => gate.promise.then(() => "slow ran")),
        tool("fast", "read", async () => (gate.resolve(), "fast ran")),
      ],
    });
    expect(requests[1]?.messages.slice(-2)).toMatchObject([{ name: "slow" }, { name: "fast" }]);
    expect(spoken(requests[1]?.messages ?? [])).toEqual(["slow ran", "fast ran"]);
  });

  test("keep what an earlier turn has called apart, also for a worker that goes on after a crash", async () => {
    const journal = asking("one");
    const tools = [tool("one", "write", async () => "one ran"), tool("two", "write", async () => "two ran")];
    const first = await run({ journal, tools, replies: [again("one"), { text: "One." }] });
    journal.push(
      { type: "turn-end", turn: "t1", outcome: first.outcome, at: 3_000 },
      ...asking("two", 4_000),
    );
    await run({ journal, tools, replies: [again("two", "two")], onEvent: shutDownAt("tool-end") });
    const resumed = await run({ journal, tools, replies: [{ text: "Two." }] });
    expect(resumed.outcome).toMatchObject({ kind: "answered", text: "Two." });
    expect(spoken(resumed.requests[0]?.messages ?? [])).toEqual(["one ran", "two ran", "two ran"]);
    expect(new Set(idsOf(resumed.requests[0]?.messages ?? [])).size).toBe(3);
  });
});

describe("A stop", () => {
  test("during a model call ends it at once, and keeps what was said until then", async () => {
    const { outcome } = await run({
      replies: [{ hang: "thinking aloud" }],
      onEvent: (event, abort) => event.type === "text-delta" && abort(stop),
    });
    expect(outcome).toMatchObject({ kind: "stopped", order: { by: "Bob" }, said: "thinking aloud" });
  });

  test("keeps the end of what was said where it is long", async () => {
    const { outcome } = await run({
      replies: [{ hang: `${"much ".repeat(5_000)}last` }],
      onEvent: (event, abort) => event.type === "text-delta" && abort(stop),
    });
    expect(outcome).toHaveProperty("said", expect.stringMatching(/^….{7996}last$/));
  });

  test("during a tool keeps what was done and answers every other call, so that every service accepts what follows", async () => {
    const { outcome, journal } = await run({
      replies: [{ calls: [{ name: "write" }, { name: "wait" }, { name: "write" }] }],
      tools: [
        tool("write", "write", async () => "written"),
        tool(
          "wait",
          "write",
          (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("cut"))),
        ),
      ],
      onEvent: (event, abort) =>
        event.type === "tool-start" && event.call.name === "wait" && setImmediate(abort, stop),
    });
    expect(outcome.kind).toBe("stopped");
    const results = journal.flatMap((record) => (record.type === "tool-result" ? [record.message] : []));
    expect(results.map(({ callId, status }) => [callId, status])).toEqual([
      ["call_1_0", "ok"],
      ["call_1_1", "ok"],
      ["call_1_2", "stopped"],
    ]);
    expect(results[2]?.text).toBe("Not run: stopped by Bob.");
    expect(() => assertPaired(replay(journal).messages)).not.toThrow();
  });
});

describe("The order to compact", () => {
  const summary = { text: "Much was said." };
  const long = (text: string, at: number) => asking(`${text} ${"word ".repeat(300)}`, at);
  /** The summariser has no tools. */
  const replies = (text: string) => (request: ModelRequest) =>
    request.system === "system" ? { text } : summary;

  test("is all that is done when nothing else is asked", async () => {
    // What came before was never answered: that turn failed.
    const journal = [...long("one", 1_000), ...long("two", 2_000), ...asking("/compact", 3_000)];
    const { outcome, events } = await run({ journal, replies: replies("never said") });
    expect(outcome).toMatchObject({
      kind: "answered",
      text: expect.stringMatching(
        /^I summarised the earlier conversation: [\d,]+ tokens before, [\d,]+ after\.$/,
      ),
    });
    expect(events.map(({ type }) => type)).toEqual(["summary"]);
  });

  test("does not end the work that is asked for beside it, or under way", async () => {
    const beside = [...long("one", 1_000), ...long("two", 2_000)];
    beside.push({ type: "user", message: say("compact", 3_000) });
    expect((await run({ journal: beside, replies: replies("Both done.") })).outcome).toMatchObject({
      kind: "answered",
      text: "Both done.",
    });

    const later = [[], [say("/compact", 3_000)]];
    const { outcome, events } = await run({
      journal: long("look", 1_000),
      replies: ({ system, messages }) => {
        if (system !== "system") return summary;
        return messages.length === 1 ? { calls: [{ name: "look" }] } : { text: "It is blue." };
      },
      tools: [tool("look", "read", async () => "blue")],
      followUps: async () => later.shift() ?? [],
    });
    expect(outcome).toMatchObject({ kind: "answered", text: "It is blue." });
    expect(events).toContainEqual({ type: "notice", text: expect.stringContaining("summarise") });
  });
});

describe("A stop while room is made", () => {
  test("ends the turn as stopped", async () => {
    const controller = new AbortController();
    const journal = [...asking(`one ${"word ".repeat(300)}`), ...asking("/compact", 2_000)];
    const { outcome } = await run({
      journal,
      controller,
      replies: () => {
        controller.abort(stop);
        return { text: "never read" };
      },
    });
    expect(outcome).toMatchObject({ kind: "stopped", order: { by: "Bob" } });
  });
});

test("A turn whose signal is aborted with a reason of another kind is suspended", async () => {
  const controller = new AbortController();
  const write = tool("write", "write", async (signal) => {
    controller.abort();
    throw signal.reason;
  });
  const replies = [{ calls: [{ name: "write" }] }];
  const { outcome, journal } = await run({ controller, replies, tools: [write] });
  expect(outcome).toMatchObject({ kind: "suspended", steps: 1 });
  expect(journal.at(-1)).toMatchObject({ type: "tool-result", message: { status: "unknown" } });
});

describe("A turn that another worker resumes", () => {
  const interrupted = async () => {
    const journal: JournalRecord[] = [
      { type: "turn-start", turn: "t1", at: 1_000 },
      { type: "user", message: say("do it") },
    ];
    const events: string[] = [];
    await run({
      journal,
      replies: [{ calls: [{ name: "write" }, { name: "write" }] }],
      tools: [tool("write", "write", async () => "written")],
      onEvent: (event, abort) => {
        events.push(event.type);
        if (event.type === "tool-end") abort({ kind: "shutdown" });
      },
    });
    return journal;
  };

  test("runs what was not started, and repeats nothing", async () => {
    const journal = await interrupted();
    let runs = 0;
    const write = tool("write", "write", async () => `written ${++runs}`);
    const { outcome } = await run({ journal, replies: [{ text: "Done." }], tools: [write] });
    expect(outcome).toMatchObject({ kind: "answered", steps: 2 });
    expect(runs).toBe(1);
  });

  /** What is stored of a reply. */
  const replied = (text: string, why: "end" | "max-tokens", step: number): JournalRecord => ({
    ...{ type: "assistant", step, at: 1_500, usage: noUsage },
    message: {
      id: `a${step}`,
      role: "assistant",
      parts: [{ type: "text", text }],
      stop: why,
      model: "test/scripted",
    },
  });

  test("ends with the answer that is stored, and asks the model no more", async () => {
    const journal = [...asking("do it"), replied("Done.", "end", 1)];
    const { outcome, requests } = await run({ journal, replies: [{ text: "Again?" }] });
    expect(outcome).toMatchObject({ kind: "answered", text: "Done.", steps: 1 });
    expect(requests).toEqual([]);
  });

  test("ends with the whole of an answer that was cut", async () => {
    const journal = [...asking("do it"), replied("One, ", "max-tokens", 1)];
    const { outcome } = await run({ journal, replies: [{ text: "two." }] });
    expect(outcome).toMatchObject({ kind: "answered", text: "One, two." });
    const later = journal.slice(
      0,
      journal.findLastIndex(({ type }) => type === "assistant"),
    );
    expect((await run({ journal: later, replies: [{ text: "two." }] })).outcome).toMatchObject({
      text: "One, two.",
    });
  });

  test.each(["3 steps", "6 equal steps in a row"])(
    "tells of the limit of %s also when its last words are on record already",
    async (limit) => {
      const whole = asking("look");
      const turn = {
        tools: [tool("look", "read", async () => (limit === "3 steps" ? `${whole.length}` : "blue"))],
        limits: { steps: limit === "3 steps" ? 3 : 50 },
      };
      const { outcome } = await run({
        ...turn,
        journal: whole,
        replies: ({ toolChoice }) =>
          toolChoice === "none" ? { text: "Looked." } : { calls: [{ name: "look" }] },
      });
      expect(outcome).toMatchObject({ kind: "step-limit", limit, text: "Looked." });
      const resumed = await run({ ...turn, journal: [...whole], replies: [{ text: "Again?" }] });
      expect(resumed.requests).toEqual([]);
      expect(resumed.outcome).toEqual({ ...outcome, usage: resumed.outcome.usage });
    },
  );

  test("never runs a call again whose outcome is unknown", async () => {
    const journal: JournalRecord[] = [
      ...(await interrupted()),
      { type: "tool-start", callId: "call_1_1", at: 3_000 },
    ];
    const write = tool("write", "write", () => Promise.reject(new Error("must not run")));
    const { requests } = await run({ journal, replies: [{ text: "I look first." }], tools: [write] });
    expect(requests[0]?.messages.at(-1)).toMatchObject({ callId: "call_1_1", status: "unknown" });
  });
});
