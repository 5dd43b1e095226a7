import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createContextKeeper } from "../../src/agent/context/compaction.ts";
import { createMasker } from "../../src/agent/context/mask.ts";
import { createTokenCounter } from "../../src/agent/context/tokens.ts";
import type { AgentEvent, TurnAbort, TurnOutcome } from "../../src/agent/events.ts";
import { recordOf, replay } from "../../src/agent/history.ts";
import type { JournalRecord } from "../../src/agent/journal.ts";
import { ModelError } from "../../src/agent/llm/model.ts";
import { defaultTurnLimits, runTurn, type TurnLimits } from "../../src/agent/loop.ts";
import type { UserMessage } from "../../src/agent/messages.ts";
import { createDispatcher } from "../../src/agent/tools/dispatch.ts";
import { defineTool, type Tool } from "../../src/agent/tools/tool.ts";
import { type Reply, scriptedModel } from "../fakes/scripted-model.ts";

const ada = { id: "U1", name: "Ada" };
const say = (text: string, at = 1_000): UserMessage => ({
  role: "user",
  id: `m${at}`,
  author: ada,
  text,
  at,
});

const noteStore = { add: () => Promise.reject(new Error("not used")), list: () => Promise.resolve([]) };

function tool(name: string, effect: Tool["effect"], work: (signal: AbortSignal) => Promise<string>): Tool {
  return defineTool({
    name,
    description: name,
    input: z.object({}),
    effect,
    run: async (_input, { signal }) => ({ status: "ok", text: await work(signal) }),
  });
}

interface Options {
  replies: Reply[] | Parameters<typeof scriptedModel>[0];
  tools?: Tool[];
  limits?: Partial<TurnLimits>;
  journal?: JournalRecord[];
  followUps?: () => Promise<UserMessage[]>;
  onEvent?: (event: AgentEvent, abort: (reason: TurnAbort) => void) => void;
}

/** Runs a turn the way a worker does: stores what must be stored before it goes on. */
async function run(options: Options) {
  const journal: JournalRecord[] = options.journal ?? [
    { type: "turn-start", turn: "t1", at: 1_000 },
    { type: "user", message: say("do it") },
  ];
  const { model, requests } = scriptedModel(options.replies);
  const controller = new AbortController();
  const events: AgentEvent[] = [];
  const turn = runTurn({
    id: "t1",
    history: replay(journal),
    model,
    system: "system",
    context: createContextKeeper({ model, counter: createTokenCounter() }),
    limits: { ...defaultTurnLimits, ...options.limits },
    tools: createDispatcher({
      tools: options.tools ?? [],
      services: { notes: noteStore as never, now: Date.now },
      masker: createMasker([]),
      onError() {},
    }),
    followUps: async () => {
      const messages = (await options.followUps?.()) ?? [];
      journal.push(...messages.map((message) => ({ type: "user", message }) as const));
      return messages;
    },
    signal: controller.signal,
    now: () => 1_000,
  });
  let outcome: TurnOutcome | undefined;
  while (!outcome) {
    const next = await turn.next();
    if (next.done) outcome = next.value;
    else {
      events.push(next.value);
      const record = recordOf(next.value, 2_000);
      if (record) journal.push(record);
      options.onEvent?.(next.value, (reason) => controller.abort(reason));
    }
  }
  return { outcome, events, requests, journal };
}

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

  test("ends at the step limit with a summary made without tools", async () => {
    const { outcome, requests } = await run({
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

  test("continues a reply that was cut at the output limit", async () => {
    const { outcome } = await run({ replies: [{ text: "One, ", stop: "max-tokens" }, { text: "two." }] });
    expect(outcome).toMatchObject({ kind: "answered", text: "One, two." });
  });

  test("asks once more after an empty reply, then says so", async () => {
    const answered = await run({ replies: [{}, { text: "Here." }] });
    expect(answered.outcome).toMatchObject({ kind: "answered", text: "Here." });
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

describe("A stop", () => {
  test("during a model call ends it at once", async () => {
    const { outcome } = await run({
      replies: [{ hang: "thinking aloud" }],
      onEvent: (event, abort) => event.type === "text-delta" && abort(stop),
    });
    expect(outcome).toMatchObject({ kind: "stopped", order: { by: "Bob" } });
  });

  test("during a tool keeps what was done and answers every other call", async () => {
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
  });
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
