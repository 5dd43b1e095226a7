import { rm } from "node:fs/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import type { AgentEvent } from "../../../src/agent/events.ts";
import { replay } from "../../../src/agent/journal/replay.ts";
import { toRecord } from "../../../src/agent/journal/history.ts";
import type { JournalRecord } from "../../../src/agent/journal/journal.ts";
import { createChatMessages } from "../../../src/agent/llm/openai/chat-messages.ts";
import { defaultTurnLimits } from "../../../src/agent/loop/limits.ts";
import { type Enclosed, formatUserText, type UserMessage } from "../../../src/agent/messages.ts";
import type { LanguageModel, ModelRequest } from "../../../src/agent/model.ts";
import { allowAll, createPolicy } from "../../../src/agent/policy/policy.ts";
import { createMasker } from "../../../src/agent/secrets/mask-secrets.ts";
import type { Skill } from "../../../src/agent/skills/library.ts";
import type { Tool } from "../../../src/agent/tools/tool.ts";
import type { TurnBudget } from "../../../src/agent/contracts/turn-budget.ts";
import { createAgentRunner } from "../../../src/app/turns/agent-runner.ts";
import { createBubblewrapBackend } from "../../../src/sandbox/bubblewrap/backend.ts";
import type { Probe } from "../../../src/sandbox/sandbox.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { memoryNotes } from "../../agent/tools/services.ts";
import { asking, tool } from "../../agent/turn.ts";
import { memoryChat } from "../../fakes/memory-chat.ts";
import { type Reply, scriptedModel } from "../../fakes/scripted-model.ts";
import type { MessageExtras } from "../../../src/message-extras/message-extras.ts";
import { plainMessageExtras } from "../../message-extras/plain.ts";
import { dataFolder } from "../../sandbox/two-threads.ts";
import { readerOf } from "../../agent/journal-reader.ts";
import { plainPool } from "../../agent/mcp/plain-pool.ts";

/** Pays for everything. */
const openBudget: TurnBudget = { reserve: async () => ({ ok: true, settle: async () => {} }) };

const none: Probe = { ok: false, summary: "", problems: [], missing: [] };

/** What servers offer besides tools. */
const nothingMore: Parameters<typeof plainPool>[1] = {};

/** A sandbox for a test. */
async function openSandbox() {
  const dataDir = dataFolder();
  onTestFinished(() => rm(dataDir, { recursive: true }));
  const backend = createBubblewrapBackend({ dataDir });
  onTestFinished(() => backend.close());
  const probe = await backend.probe();
  return { backend, probe: async () => probe, refresh: async () => probe };
}

/** A runner without a sandbox, between a scripted model and these tools of an MCP server. */
function runner(
  replies: Reply[] | ((request: ModelRequest) => Reply),
  mcpTools: Tool[] = [],
  {
    policy = allowAll,
    channel = {},
    skills = [] as Skill[],
    followUps = [] as UserMessage[],
    compaction = {},
    limits = defaultTurnLimits,
    offered = nothingMore,
    helper = undefined as LanguageModel | undefined,
    budget = openBudget,
    sandbox = {
      backend: createBubblewrapBackend({ dataDir: "" }),
      probe: async () => none,
      refresh: async () => none,
    },
    messageExtras = plainMessageExtras(),
  } = {},
) {
  const { model, requests } = scriptedModel(replies);
  const journals = new Map<string, JournalRecord[]>();
  const notes = memoryNotes();
  /** What the turns have done beside their events. */
  const done: string[] = [];
  const { run, fileChanges, forgetTurn } = createAgentRunner({
    choose: () => model,
    channel: () => channel,
    messageExtras,
    summariser: model,
    ...(helper && { helper }),
    policy,
    questionMs: 60_000,
    limits,
    compaction,
    budgets: { turnBudget: () => budget },
    instructions: "Be kind.",
    sandbox: {
      ...sandbox,
      backend: {
        ...sandbox.backend,
        async settle(thread) {
          done.push("saved");
          await sandbox.backend.settle(thread);
        },
      },
    },
    notes: () => notes,
    journal: (thread) => readerOf(() => journals.get(thread) ?? []),
    surface: () => memoryChat().surface,
    skills: { current: async () => ({ skills, problems: [] }), mounts: () => [] },
    mcp: plainPool(mcpTools, offered),
    masker: createMasker([]),
    log: createLog("silent", createMasker([]), { terminal: false }),
  });
  let turns = 0;
  const emitted: AgentEvent[] = [];
  /** Runs a turn of a thread to its end, as the queue does; returns the results of its tools. */
  const ask = async (name: string, text: string, enclosed?: Enclosed) => {
    const thread = `memory:w:c:${name}`;
    const journal = journals.get(thread) ?? [];
    journals.set(thread, journal);
    const [start, asked] = asking(text, Date.now() + ++turns);
    if (start?.type !== "turn-start" || asked?.type !== "user") throw new Error("Nobody asks.");
    journal.push(start, { ...asked, message: { ...asked.message, ...(enclosed && { enclosed }) } });
    const turn = `t${turns}`;
    const signal = new AbortController().signal;
    const store = async (record?: JournalRecord) => {
      journal.push(...(record ? [record] : []));
      done.push("stored");
    };
    const history = replay(journal);
    const events = run({
      thread,
      turn,
      claim: { created: 0, epoch: 1 },
      chosen: {},
      areApproved: async () => false,
      history,
      followUps: async () => {
        const arrived = followUps.splice(0);
        journal.push(...arrived.map((message) => ({ type: "user", message }) as const));
        return arrived;
      },
      store,
      emit: (event) => void emitted.push(event),
      signal,
    });
    const results: string[] = [];
    for (;;) {
      const next = await events.next();
      if (next.done) {
        journal.push({ type: "turn-end", turn, outcome: next.value, at: 1 });
        return results;
      }
      if (next.value.type === "tool-end") results.push(next.value.message.text);
      const record = toRecord(next.value, 1);
      if (record) journal.push(record);
    }
  };
  return { ask, requests, emitted, done, fileChanges, forgetTurn };
}

/** What a service's cache sees of the conversation: it must be the beginning of what comes next. */
function wire(request: ModelRequest): { fixed: string; said: string } {
  const { system, tools } = request;
  const messages = createChatMessages({ id: "test/scripted", images: true })({ ...request, system: "" });
  return { fixed: JSON.stringify([tools, system]), said: JSON.stringify(messages).slice(0, -1) };
}

const skill = (name: string, more: Partial<Skill> = {}): Skill => ({
  ...{ name, description: `About ${name}.`, expectedTools: "", instructions: "", resources: [] },
  ...{ folder: "/nowhere", mount: `/skills/${name}` },
  ...more,
});

const last = ({ messages }: ModelRequest) => messages.at(-1);

describe("The agent of a thread", () => {
  test("knows for some turns what is broken, each thread by itself", async () => {
    let runs = 0;
    const flaky: Tool = {
      ...tool("flaky", "read", async () => ""),
      run: async () => ({ status: "error", text: `down ${++runs}`, outage: true }),
    };
    const { ask } = runner(
      (request) => (last(request)?.role === "tool" ? { text: "No." } : { calls: [{ name: "flaky" }] }),
      [flaky],
    );
    for (const expected of ["down 1", "down 2", "down 3"]) expect(await ask("a", "try")).toEqual([expected]);
    expect(await ask("a", "try")).toEqual([expect.stringMatching(/^CIRCUIT_OPEN: flaky was not run/)]);
    expect(await ask("b", "try")).toEqual(["down 4"]);
  });

  test("has the notes of earlier turns in view when a turn begins", async () => {
    const { ask, requests } = runner([
      { calls: [{ name: "record_note", input: { content: "Deploys are on Monday" } }] },
      { text: "Noted." },
      { text: "On Monday." },
    ]);
    await ask("a", "remember: deploys are on Monday");
    await ask("a", "when do we deploy?");
    expect(requests[2]?.messages.at(-1)).toMatchObject({
      author: { id: "heddle" },
      text: expect.stringContaining("Deploys are on Monday"),
    });
  });

  test("finds what was said in its own thread, and only there", async () => {
    const { ask } = runner((request) =>
      last(request)?.role === "user"
        ? { calls: [{ name: "search_history", input: { query: "blue" } }] }
        : { text: "ok" },
    );
    expect(await ask("a", "it is blue")).toEqual([expect.stringContaining("Ada: it is blue")]);
    expect(await ask("b", "which colour?")).toEqual([expect.stringContaining("Nothing matches")]);
  });

  test("hands work to the model that is there for helpers, at the price of that one", async () => {
    const cheap = scriptedModel([{ text: "It is up." }]);
    const price = { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 };
    const reserved: number[] = [];
    const { ask, requests } = runner(
      [{ calls: [{ name: "task", input: { task: "look" } }] }, { text: "ok" }],
      [],
      {
        helper: { ...cheap.model, limits: { ...cheap.model.limits, price } },
        budget: {
          async reserve({ cost }) {
            reserved.push(cost);
            return { ok: true, settle: async () => {} };
          },
        },
      },
    );
    expect(await ask("a", "look")).toEqual(["It is up."]);
    expect([requests.length, cheap.requests.length]).toEqual([2, 1]);
    const [asked = 0, helpers = 0, answered = 0] = reserved;
    // The price of the other one is unknown: it counts as that of the dearest.
    expect(helpers).toBeLessThan(Math.min(asked, answered) / 5);
    expect(reserved).toHaveLength(3);
  });

  test("may hand work to a helper that has the tools of the thread but no helper", async () => {
    const { ask, requests, emitted } = runner(
      (request) => {
        if (request.system.includes("## Your part")) {
          return last(request)?.role === "tool" ? { text: "It is up." } : { calls: [{ name: "look" }] };
        }
        return last(request)?.role === "tool"
          ? { text: "ok" }
          : { calls: [{ name: "task", input: { task: "look" } }] };
      },
      [tool("look", "read", async () => "up")],
    );
    expect(await ask("a", "look")).toEqual(["It is up."]);
    const names = requests[1]?.tools.map(({ name }) => name);
    expect(names).toEqual(["recall_notes", "search_history", "look"]);
    // For the audit log and the traces.
    const told = emitted.flatMap((event) => (event.type === "helper" ? [event] : []));
    expect(new Set(told.map(({ callId }) => callId))).toEqual(new Set(["call_1_0"]));
    expect(told.map(({ event }) => event)).toMatchObject([
      ...[{ type: "step-start" }, { type: "assistant" }],
      { type: "tool-start", call: { name: "look" } },
      { type: "tool-end", message: { text: "up" } },
      ...[{ type: "step-start" }, { type: "assistant" }],
    ]);
  });

  test("has helpers that run nothing which must be approved: they cannot ask", async () => {
    let child = "";
    const { ask } = runner(
      ({ system, messages }) => {
        const newest = messages.at(-1);
        if (!system.includes("## Your part")) {
          return newest?.role === "tool"
            ? { text: "ok" }
            : { calls: [{ name: "task", input: { task: "look", access: "all" } }] };
        }
        if (newest?.role !== "tool") return { calls: [{ name: "send", input: {} }] };
        child = newest.text;
        return { text: "not sent" };
      },
      [tool("send", "external", async () => "sent")],
      {
        policy: createPolicy(
          [{ tool: "*", effect: "external", action: "ask", why: "It leaves the thread." }],
          "allow",
        ),
      },
    );
    expect(await ask("a", "send it")).toEqual(["not sent"]);
    expect(child).toMatch(/^DENIED: send was not run: It leaves the thread\. .* nobody can be asked here/);
  });

  test("has what its channel is given: instructions, skills and tools, for its helpers too", async () => {
    const { ask, requests } = runner(
      (request) =>
        last(request)?.role === "tool" || request.system.includes("## Your part")
          ? { text: "ok" }
          : { calls: [{ name: "task", input: { task: "look" } }] },
      [tool("mcp_a_look", "read", async () => ""), tool("mcp_b_look", "read", async () => "")],
      {
        channel: {
          instructions: "Speak French.",
          skills: ["tea"],
          tools: ["task", "recall_notes", "get_skill", "mcp_a_*"],
        },
        skills: [skill("cake"), skill("tea")],
      },
    );
    await ask("a", "look");
    const [own, helper] = requests;
    expect(own?.system).toContain("Be kind.\n\nSpeak French.");
    expect(own?.system).toContain("- tea: About tea.");
    expect(own?.system).not.toContain("cake");
    expect(own?.tools.map(({ name }) => name)).toEqual([
      "recall_notes",
      "get_skill",
      "mcp_a_look",
      "task",
      "propose_plan",
    ]);
    expect(helper?.tools.map(({ name }) => name)).toEqual(["recall_notes", "get_skill", "mcp_a_look"]);
  });

  test("continues each request with the next, whatever is noted, enclosed, said or installed meanwhile", async () => {
    const mcpTools = [tool("look", "read", async () => "seen")];
    const skills = [skill("tea")];
    const gus = { author: { id: "U2", name: "Gus" }, text: "no!", at: 1 };
    const followUps: UserMessage[] = [];
    const note = (content: string) => ({ name: "record_note", input: { content } });
    mcpTools.push(
      tool("install", "read", async () => {
        skills.push(skill("cake"));
        mcpTools.push(tool("more", "read", async () => ""));
        followUps.push({
          ...{ role: "user", id: "late", author: gus.author, text: "and this", at: 2 },
          enclosed: { overheard: [gus] },
        });
        return "installed";
      }),
    );
    const { ask, requests } = runner(
      [
        { text: "I look.", calls: [{ name: "look" }, note("a fact")] },
        { calls: [{ name: "install" }] },
        { text: "One." },
        { calls: [note("another fact"), { name: "more" }] },
        { text: "Two." },
        { text: "Three." },
      ],
      mcpTools,
      { skills, followUps, channel: { instructions: "Be brief." } },
    );
    await ask("a", "first", { about: gus });
    await ask("a", "second", { overheard: [gus], skill: "cake" });
    await ask("a", "third");

    const seen = requests.map(wire);
    for (const [index, next] of seen.slice(1).entries()) {
      expect(next.said.startsWith(seen[index]?.said ?? "none")).toBe(true);
    }
    expect(seen.at(-1)?.said).toContain("and this");
    expect(seen.at(-1)?.said).toContain("another fact");
    // What is installed counts from the next turn on: within one, and while nothing is, all of the prefix stays.
    const fixed = seen.map((request) => request.fixed);
    expect(new Set(fixed.slice(0, 3)).size).toBe(1);
    expect(new Set(fixed.slice(3)).size).toBe(1);
    expect(fixed[3]).toContain("- cake: About cake.");
    expect(requests[3]?.tools.map(({ name }) => name)).toContain("more");
  });

  test("calls in the next step what a server has announced, with its other tools and the prompt as they were", async () => {
    const tools = [tool("shop__login", "read", async () => "welcome")];
    const instructions = [{ server: "shop", text: "Log in first.", tools: ["shop__login"] }];
    const login = { calls: [{ name: "shop__login" }] };
    let renewals = 0;
    const { ask, requests } = runner(
      [
        login,
        { calls: [{ name: "shop__buy" }, { name: "todo", input: { items: [] } }] },
        { text: "Bought." },
      ],
      tools,
      {
        offered: {
          instructions,
          async renew() {
            renewals += 1;
            const buy = tool("shop__buy", "read", async () => "bought");
            return { tools: [...tools, buy], instructions, renew: async () => undefined };
          },
        },
      },
    );
    expect(await ask("a", "buy tea")).toEqual(["welcome", "bought", expect.anything()]);
    const names = requests.map((request) => request.tools.map(({ name }) => name));
    expect(names[1]?.filter((name) => name !== "shop__buy")).toEqual(names[0]);
    expect(names[2]).toEqual(names[1]);
    expect(new Set(requests.map(({ system }) => system)).size).toBe(1);
    expect(renewals).toBe(1);
  });

  test("hears what a server says of its tools, before the operator's words, and only where it may use one", async () => {
    const given = {
      offered: { instructions: [{ server: "shop", text: "Log in first.", tools: ["shop__login"] }] },
    };
    const tools = [tool("shop__login", "read", async () => "welcome")];
    const allowed = runner([{ text: "ok" }], tools, given);
    await allowed.ask("a", "hello");
    expect(allowed.requests[0]?.system).toMatch(
      /## Trust[\s\S]*shop:\n> Log in first\.\n\n## From the operator/,
    );
    const without = runner([{ text: "ok" }], tools, { ...given, channel: { tools: ["todo"] } });
    await without.ask("a", "hello");
    expect(without.requests[0]?.system).not.toContain("Log in first");
  });

  test.each([
    [0, ["/compact", "four"]],
    [2, ["three", "/compact", "four"]],
  ])("keeps as many rounds as the settings say (%i)", async (retainRounds, kept) => {
    const { ask, requests } = runner(
      ({ system }) => ({ text: system.startsWith("You keep") ? "Much." : "ok" }),
      [],
      {
        compaction: { retainRounds, retainSteps: 1 },
      },
    );
    for (const text of [`one ${"word ".repeat(500)}`, "two", "three", "/compact", "four"])
      await ask("a", text);
    const [summary, ...others] = requests.at(-1)?.messages ?? [];
    expect(summary?.role).toBe("summary");
    expect(others.flatMap((message) => (message.role === "user" ? [message.text] : []))).toEqual(kept);
  });

  test("lets a skill's allowed-tools take nothing away and approve nothing", async () => {
    const careful = createPolicy([{ tool: "send", action: "deny", why: "Not here." }], "allow");
    const { ask } = runner(
      [
        { calls: [{ name: "get_skill", input: { name: "tea" } }] },
        { calls: [{ name: "send" }, { name: "look" }] },
        { text: "ok" },
      ],
      [tool("send", "external", async () => "sent"), tool("look", "read", async () => "seen")],
      { policy: careful, skills: [skill("tea", { expectedTools: "send" })] },
    );
    expect(await ask("a", "make tea")).toEqual([
      expect.stringContaining("Tools that its author expects: send"),
      expect.stringMatching(/^DENIED: send was not run/),
      "seen",
    ]);
  });

  test("has all that it did stored before its files are saved, where a limit ends it behind a call", async () => {
    const { ask, done } = runner(
      [{ calls: [{ name: "write_file", input: { path: "a.txt", content: "a" } }] }],
      [],
      {
        limits: { ...defaultTurnLimits, tokens: 1 },
        sandbox: await openSandbox(),
      },
    );
    expect(await ask("a", "write")).toHaveLength(1);
    expect(done).toEqual(["stored", "saved"]);
  });

  test.each([
    ["ENOSPC", "is full"],
    ["EROFS", "is read-only"],
  ])(
    "answers without files where the disk of workspaces refuses with %s, and is told why",
    async (code, why) => {
      const sandbox = await openSandbox();
      const open = () => Promise.reject(Object.assign(new Error(`${code}: write`), { code }));
      const { ask, requests, done } = runner([{ text: "Hello." }], [], {
        sandbox: { ...sandbox, backend: { ...sandbox.backend, open } },
      });
      await ask("a", "hello");
      expect(requests[0]?.system).toContain(
        `You have no shell and no files in this installation (The disk of Heddle's workspaces ${why}; its operator`,
      );
      expect(requests[0]?.tools.map(({ name }) => name)).not.toContain("bash");
      expect(done).not.toContain("saved");
    },
  );

  test("tells files that came with a turn's messages from those that it wrote, until the turn is forgotten", async () => {
    const messageExtras: MessageExtras = {
      async open(_thread, messages, { sandbox }) {
        await sandbox?.writeFile("sent.txt", Buffer.from("sent"));
        return [...messages];
      },
    };
    const { ask, fileChanges, forgetTurn } = runner(
      [{ calls: [{ name: "write_file", input: { path: "a.txt", content: "a" } }] }, { text: "ok" }],
      [],
      { messageExtras, sandbox: await openSandbox() },
    );
    await ask("a", "write");
    expect((await fileChanges("memory:w:c:a", 0)).changed).toEqual(["a.txt"]);
    forgetTurn("memory:w:c:a");
    expect((await fileChanges("memory:w:c:a", 0)).changed).toEqual(["a.txt", "sent.txt"]);
  });

  test("reads what came with a message that arrives while it works", async () => {
    const ada = { id: "U1", name: "Ada" };
    const overheard = [{ author: { id: "U2", name: "Gus" }, text: "no!", at: 1 }];
    const late: UserMessage = {
      ...{ role: "user", id: "late", author: ada, text: "go on", enclosed: { overheard }, at: 2 },
    };
    const { ask, requests } = runner([{ text: "ok" }], [], { followUps: [late] });
    await ask("a", "start");
    const read = requests[0]?.messages.at(-1);
    expect(read?.role === "user" && formatUserText(read)).toContain("Gus (without permission):\n> no!");
  });
});
