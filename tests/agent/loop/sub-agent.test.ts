import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { createContextWindow } from "../../../src/agent/context/compaction.ts";
import { replay } from "../../../src/agent/journal/replay.ts";
import { createTaskTool, type SubAgentOptions } from "../../../src/agent/loop/sub-agent.ts";
import type { Message } from "../../../src/agent/messages.ts";
import type { LanguageModel, ModelRequest } from "../../../src/agent/model.ts";
import { createSessionTools } from "../../../src/agent/tools/built-in.ts";
import { createMasker } from "../../../src/agent/secrets/mask-secrets.ts";
import type { Tool } from "../../../src/agent/tools/tool.ts";
import { type Reply, scriptedModel } from "../../fakes/scripted-model.ts";
import { dispatcherOf } from "../tools/services.ts";
import { asking, counter, run, type RunOptions, tool } from "../turn.ts";

/** One model plays both agents: the sub-agent's requests are known by what they say of its part. */
function twoAgents(parent: Reply[], child: Reply[] | ((request: ModelRequest, call: number) => Reply)) {
  const asked = { parent: [] as ModelRequest[], child: [] as ModelRequest[] };
  const { model } = scriptedModel((request) => {
    const who = request.system.includes("## Your part") ? "child" : "parent";
    const call = asked[who].push({ ...request, messages: structuredClone(request.messages) });
    const script = who === "parent" ? parent : child;
    const reply = Array.isArray(script) ? script[call - 1] : script(request, call);
    if (!reply) throw new Error(`The ${who} has no reply for call ${call}.`);
    return reply;
  });
  return { model, asked };
}

interface Options extends Omit<RunOptions, "model"> {
  parent?: Reply[];
  child: Parameters<typeof twoAgents>[1];
  task?: Partial<SubAgentOptions>;
}

const delegate = (task: string, access?: "read" | "all"): Reply => ({
  calls: [{ name: "task", input: { task, ...(access && { access }) } }],
});

async function runWithTask(options: Options) {
  const { model, asked } = twoAgents(
    options.parent ?? [delegate("count the files"), { text: "Done." }],
    options.child,
  );
  const output: string[] = [];
  const tools = options.tools ?? [];
  const task = taskTool(model, tools, options.task);
  const dispatcher = dispatcherOf({ tools: [...tools, task], output: (_, chunk) => output.push(chunk) });
  const ran = await run({ ...options, model, dispatcher });
  const result = ran.journal.find((record) => record.type === "tool-result");
  return { ...ran, asked, output: output.join(""), result };
}

function taskTool(model: LanguageModel, tools: readonly Tool[], more: Partial<SubAgentOptions> = {}) {
  return createTaskTool({
    model,
    context: createContextWindow({ model, counter }),
    system: "system",
    tools: () => tools,
    createDispatcher: (given) => dispatcherOf({ tools: given }),
    mask,
    ...more,
  });
}

const { mask } = createMasker([]);

/** What a sub-agent was asked. */
function textOfTask(messages: readonly Message[]): string {
  const [first] = messages;
  return first?.role === "user" ? first.text : "";
}

const look = tool("look", "read", async () => "3 files");
const write = tool("write", "write", async () => "written");
const toolNames = (request: ModelRequest | undefined) => request?.tools.map(({ name }) => name);

describe("A sub-agent", () => {
  test("works in a context of its own and gives its last words as the call's result", async () => {
    const { asked, result } = await runWithTask({
      tools: [look],
      child: [{ calls: [{ name: "look" }] }, { text: "There are 3." }],
    });
    expect(asked.child[0]?.messages).toMatchObject([{ role: "user", text: "count the files" }]);
    expect(result).toMatchObject({ message: { name: "task", status: "ok", text: "There are 3." } });
    expect(asked.parent[1]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
  });

  test("that only reads has what reads the web, and nothing else that reaches outside", async () => {
    const search = { ...tool("search", "external", async () => "2 results"), onlyReads: true as const };
    const send = tool("send", "external", async () => "sent");
    const { asked } = await runWithTask({
      tools: [look, write, search, send],
      child: [{ calls: [{ name: "search" }] }, { text: "Two." }],
    });
    expect(toolNames(asked.child[0])).toEqual(["look", "search"]);
  });

  test("leaves the beginnings of its calls in the journal, for people alone", async () => {
    const long = tool("long", "read", async () => "y".repeat(1_000));
    const { asked, result } = await runWithTask({
      tools: [look, long],
      child: [
        { calls: [{ name: "look", input: { path: "x".repeat(1_000) } }, { name: "long" }] },
        { text: "There are 3." },
      ],
    });
    const beginning = expect.stringMatching(/^.{299}…$/);
    expect(result).toMatchObject({
      inner: {
        omitted: 0,
        calls: [
          { name: "look", input: beginning, status: "ok", text: "3 files" },
          { name: "long", input: "{}", status: "ok", text: beginning },
        ],
      },
    });
    expect(JSON.stringify(asked.parent)).not.toContain("3 files");
  });

  test.each([80, 270])(
    "shows no half of a secret in a call that is cut, behind %i characters",
    async (before) => {
      const token = `ghp_${"aB3d".repeat(9)}`;
      const { output, result } = await runWithTask({
        tools: [look],
        child: [
          { calls: [{ name: "look", input: { x: `${"a ".repeat(before / 2)}${token} and more` } }] },
          { text: "There are 3." },
        ],
      });
      expect(output).toContain("▸ look");
      expect(JSON.stringify([output, result])).not.toContain("aB3d");
    },
  );

  test("leaves the last of many calls there, and how many were before them", async () => {
    const calls = (step: number) =>
      Array.from({ length: 35 }, (_, n) => ({ name: "look", input: { n: step * 35 + n } }));
    const { result } = await runWithTask({
      tools: [look],
      child: (_, call) => (call < 3 ? { calls: calls(call - 1) } : { text: "Done." }),
    });
    const inner = result?.type === "tool-result" ? result.inner : undefined;
    expect([inner?.calls.length, inner?.omitted, inner?.calls[0]?.input]).toEqual([60, 10, '{"n":10}']);
  });

  test("shows its tool calls as live output of the call that started it", async () => {
    const broken = tool("broken", "read", () => Promise.reject(new Error("no")));
    const { model } = twoAgents([], [{ calls: [{ name: "look" }, { name: "broken" }] }, { text: "3" }]);
    const output: string[] = [];
    const task = taskTool(model, [look, broken], {
      createDispatcher: (tools) => dispatcherOf({ tools, onError() {} }),
    });
    const dispatcher = dispatcherOf({ tools: [task], output: (_, chunk) => output.push(chunk) });
    const call = { id: "c1", name: "task", input: { task: "look" } };
    await dispatcher.dispatch(call, new AbortController().signal);
    expect(output.join("")).toMatch(
      /^▸ look \{\}\n▸ broken \{\}\n {2}error: broken failed unexpectedly .*\n$/,
    );
  });

  test("tells of its model's calls, and of each of a tool before that runs, by the calls that it is made in, and runs none that cannot be told", async () => {
    const told: string[] = [];
    const noted = tool("noted", "read", async () => {
      told.push("runs");
      return "";
    });
    const child: Reply[] = [
      delegate("go deeper"),
      { calls: [{ name: "noted" }] },
      { text: "1" },
      { text: "2" },
    ];
    const onEvent: SubAgentOptions["onEvent"] = async (callId, event) => {
      await Promise.resolve();
      told.push(`${event.type} in ${callId}`);
    };
    await runWithTask({ tools: [noted], child, task: { depth: 2, onEvent } });
    const step = (callId: string) => [`step-start in ${callId}`, `assistant in ${callId}`];
    expect(told).toEqual([
      ...[...step("call_1_0"), "tool-start in call_1_0"],
      ...[...step("call_1_0/call_2_0"), "tool-start in call_1_0/call_2_0"],
      "runs",
      ...["tool-end in call_1_0/call_2_0", ...step("call_1_0/call_2_0")],
      ...["tool-end in call_1_0", ...step("call_1_0")],
    ]);

    told.length = 0;
    const { model } = twoAgents([], child.slice(1));
    const task = taskTool(model, [noted], {
      async onEvent(_callId, { type }) {
        if (type === "tool-start") throw new Error("no log");
      },
    });
    const dispatcher = dispatcherOf({ tools: [task], onError() {} });
    const call = { id: "c1", name: "task", input: { task: "look" } };
    const { message } = await dispatcher.dispatch(call, new AbortController().signal);
    expect(message.status).toBe("error");
    expect(told).toEqual([]);
  });

  test.each(["assistant", "tool-end"] as const)(
    "leaves neither a model's stream nor a tool behind when its %s cannot be told",
    async (unlogged) => {
      const left = { streams: 0, tools: 0 };
      const { model } = twoAgents([], [{ calls: [{ name: "look" }, { name: "wait" }] }]);
      const watched: LanguageModel = {
        ...model,
        async *stream(request, signal) {
          left.streams += 1;
          try {
            yield* model.stream(request, signal);
          } finally {
            left.streams -= 1;
          }
        },
      };
      const wait = tool("wait", "read", async (signal) => {
        left.tools += 1;
        await once(signal, "abort");
        left.tools -= 1;
        return "";
      });
      const task = taskTool(watched, [look, wait], {
        async onEvent(_callId, { type }) {
          if (type === unlogged) throw new Error("no log");
        },
      });
      const call = { id: "c1", name: "task", input: { task: "look" } };
      const dispatcher = dispatcherOf({ tools: [task], onError() {} });
      const { message } = await dispatcher.dispatch(call, new AbortController().signal);
      expect(message.status).toBe("error");
      expect(left).toEqual({ streams: 0, tools: 0 });
    },
  );

  test("may only look, unless it is given all tools", async () => {
    const reading = await runWithTask({ tools: [look, write], child: [{ text: "ok" }] });
    expect(toolNames(reading.asked.child[0])).toEqual(["look"]);
    const all = await runWithTask({
      tools: [look, write],
      parent: [delegate("write it", "all"), { text: "ok" }],
      child: [{ text: "ok" }],
    });
    expect(toolNames(all.asked.child[0])).toEqual(["look", "write"]);
  });

  test("has no sub-agents of its own, unless more levels are allowed; and no level may do more than the one above", async () => {
    const flat = await runWithTask({ tools: [look, write], child: [{ text: "ok" }] });
    expect(toolNames(flat.asked.child[0])).not.toContain("task");
    const deep = await runWithTask({
      tools: [look, write],
      task: { depth: 2 },
      child: (_request, call) =>
        call === 1 ? delegate("write it for me", "all") : { text: `level ${call}` },
    });
    expect(deep.asked.child.map(toolNames)).toEqual([["look", "task"], ["look"], ["look", "task"]]);
  });

  test("leaves the plan of the agent that asked as it was", async () => {
    const items = [{ content: "delegate", status: "in_progress" }];
    const todo = (content: string): Reply => ({
      calls: [{ name: "todo", input: { items: [{ content, status: "pending" }] } }],
    });
    const { asked, journal } = await runWithTask({
      tools: createSessionTools(),
      parent: [
        { calls: [{ name: "todo", input: { items } }] },
        delegate("plan something", "all"),
        { text: "Done." },
      ],
      child: [todo("its own"), { text: "planned" }],
    });
    const seen = JSON.stringify(asked.parent[2]?.messages);
    expect(seen).toContain("[>] delegate");
    expect(seen).not.toContain("its own");
    expect(JSON.stringify(replay(journal).messages)).not.toContain("its own");
  });

  test("is paid by the turn, also when the turn is read again", async () => {
    const { outcome, journal } = await runWithTask({
      tools: [look],
      child: [{ calls: [{ name: "look" }] }, { text: "3" }],
    });
    // Two calls of each agent.
    expect(outcome.usage).toMatchObject({ calls: 4, input: 400, output: 40 });
    expect(outcome.usage.cost).toBeCloseTo(0.04);
    expect(replay(journal).turn?.usage).toEqual(outcome.usage);
  });

  test("ends at its own limit of steps, with what it found out until then", async () => {
    const { result, asked } = await runWithTask({
      tools: [look],
      task: { limits: { steps: 2, wallMs: 60_000 } },
      child: (request, call) =>
        request.toolChoice === "none"
          ? { text: "Two looks." }
          : { calls: [{ name: "look", input: { call } }] },
    });
    expect(asked.child).toHaveLength(3);
    expect(result).toMatchObject({
      message: { status: "partial", text: expect.stringMatching(/limit of 2 steps.*\nTwo looks\./) },
    });
  });

  test("that has said nothing at its limit is reported by what it has done", async () => {
    const { result } = await runWithTask({
      tools: [look],
      task: { limits: { steps: 2, wallMs: 60_000 } },
      child: (request) => (request.toolChoice === "none" ? { text: "" } : { calls: [{ name: "look" }] }),
    });
    expect(result).toMatchObject({
      message: {
        status: "partial",
        text: expect.stringMatching(/limit of 2 steps\. It had done this:\n▸ look/),
      },
    });
  });

  test.each([
    ["money", { cost: 0.025 }],
    ["tokens", { tokens: 250 }],
  ])("spends no more %s than its turn has left", async (_, limits) => {
    const { asked, outcome } = await runWithTask({
      tools: [look],
      limits,
      child: () => ({ calls: [{ name: "look" }] }),
    });
    // The first step of the turn costs 0.01 and 110 tokens; two more of these reach the limit.
    expect(asked.child).toHaveLength(2);
    expect(outcome).toMatchObject({ kind: "budget", usage: { calls: 3 } });
  });

  test("that only reads runs beside others, and the results are in the order of the calls", async () => {
    const all = Promise.withResolvers<void>();
    const order: string[] = [];
    const meet = tool("meet", "read", async () => {
      if (order.push("in") === 3) all.resolve();
      await all.promise;
      return "met";
    });
    const { journal } = await runWithTask({
      tools: [meet],
      parent: [
        { calls: ["one", "two", "three"].map((task) => ({ name: "task", input: { task } })) },
        { text: "Done." },
      ],
      child: ({ messages }) =>
        messages.length === 1 ? { calls: [{ name: "meet" }] } : { text: `Did ${textOfTask(messages)}.` },
    });
    const told = journal.flatMap((record) => {
      if (record.type === "tool-start") return [`start ${record.callId}`];
      return record.type === "tool-result" ? [record.message.text] : [];
    });
    const starts = ["start call_1_0", "start call_1_1", "start call_1_2"];
    expect(told).toEqual([...starts, "Did one.", "Did two.", "Did three."]);
  });

  test("that may change something runs alone", async () => {
    let running = 0;
    const alone = tool("alone", "write", async () => {
      expect((running += 1)).toBe(1);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return "done";
    });
    const { outcome, journal } = await runWithTask({
      tools: [alone],
      parent: [
        { calls: ["one", "two"].map((task) => ({ name: "task", input: { task, access: "all" } })) },
        { text: "Done." },
      ],
      child: ({ messages }) => (messages.length === 1 ? { calls: [{ name: "alone" }] } : { text: "Did it." }),
    });
    expect(outcome).toMatchObject({ kind: "answered" });
    expect(journal.map(({ type }) => type).filter((type) => type.startsWith("tool"))).toEqual([
      ...["tool-start", "tool-result", "tool-start", "tool-result"],
    ]);
  });

  test("is stopped together with those beside it", async () => {
    const controller = new AbortController();
    let running = 0;
    const wait = tool("wait", "read", async (signal) => {
      if ((running += 1) === 3) controller.abort({ kind: "stop", order: { by: "Bob", at: 5_000 } });
      if (!signal.aborted) await once(signal, "abort");
      return "";
    });
    const { outcome, journal } = await runWithTask({
      tools: [wait],
      parent: [{ calls: ["one", "two", "three"].map((task) => ({ name: "task", input: { task } })) }],
      child: () => ({ calls: [{ name: "wait" }] }),
      controller,
    });
    expect(outcome).toMatchObject({ kind: "stopped", usage: { calls: 4 } });
    const results = journal.flatMap((record) =>
      record.type === "tool-result" ? [record.message.status] : [],
    );
    expect(results).toEqual(["stopped", "stopped", "stopped"]);
  });

  test("shares what its turn has left with the others of its step", async () => {
    const { asked, outcome } = await runWithTask({
      tools: [look],
      parent: [{ calls: ["a", "b", "c"].map((task) => ({ name: "task", input: { task } })) }],
      limits: { cost: 0.045 },
      child: (_request, call) => ({ calls: [{ name: "look", input: { call } }] }),
    });
    // The first step of the turn costs 0.01, as does each call of a sub-agent: four of them reach the limit.
    expect(asked.child.length).toBeGreaterThanOrEqual(4);
    // Those that are under way when it is reached are ended by nobody.
    expect(asked.child.length).toBeLessThanOrEqual(6);
    expect(outcome).toMatchObject({ kind: "budget", usage: { calls: 1 + asked.child.length } });
  });

  test("is stopped with its turn, and the model knows what it had done", async () => {
    const controller = new AbortController();
    const { outcome, result } = await runWithTask({
      tools: [look],
      child: (_request, call) => {
        if (call === 1) return { calls: [{ name: "look" }] };
        controller.abort({ kind: "stop", order: { by: "Bob", at: 5_000 } });
        return { hang: "thinking" };
      },
      controller,
    });
    expect(outcome).toMatchObject({ kind: "stopped", order: { by: "Bob" } });
    expect(result).toMatchObject({
      message: { status: "stopped", text: expect.stringMatching(/^stopped by Bob\n.*\n▸ look/) },
      usage: { calls: 1 },
    });
  });

  test("that runs too long ends at its time limit, without ending the turn", async () => {
    const { model } = twoAgents([], [{ hang: "thinking" }]);
    const task = { ...taskTool(model, []), timeoutMs: 20 };
    const call = { id: "c1", name: "task", input: { task: "think" } };
    const { message } = await dispatcherOf({ tools: [task] }).dispatch(call, new AbortController().signal);
    expect(message).toMatchObject({ status: "partial", text: expect.stringMatching(/^TIMEOUT: task/) });
  });

  test("keeps its task when its own conversation is compacted", async () => {
    const { model, requests } = scriptedModel((request, call) => {
      if (!request.system.includes("## Your part")) return { text: "Read some." };
      return call <= 60 ? { calls: [{ name: "look", input: { call } }] } : { text: "Read." };
    });
    const small = { ...model, limits: { ...model.limits, contextTokens: 3_000, maxOutputTokens: 100 } };
    const read = tool("look", "read", async () => "word ".repeat(120));
    const task = taskTool(small, [read], { limits: { steps: 100, wallMs: 60_000 } });
    const call = { id: "c1", name: "task", input: { task: "read all of it" } };
    const { message } = await dispatcherOf({ tools: [task] }).dispatch(call, new AbortController().signal);
    expect(message.text).toBe("Read.");
    const [summary] = requests.at(-1)?.messages ?? [];
    expect(summary).toMatchObject({ role: "summary", text: expect.stringContaining("read all of it") });
  });

  test("cannot be asked without a task", async () => {
    const { outcome } = await runWithTask({
      parent: [delegate(" "), { text: "I see." }],
      child: [],
      journal: asking("delegate"),
    });
    expect(outcome).toMatchObject({ kind: "answered", text: "I see." });
  });
});
