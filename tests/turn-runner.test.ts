import { describe, expect, test } from "vitest";
import { createMasker } from "../src/agent/context/mask.ts";
import { recordOf, replay } from "../src/agent/history.ts";
import type { JournalRecord } from "../src/agent/journal.ts";
import { defaultTurnLimits } from "../src/agent/limits.ts";
import type { ModelRequest } from "../src/agent/llm/model.ts";
import type { Purse } from "../src/agent/purse.ts";
import type { Tool } from "../src/agent/tools/tool.ts";
import { createBubblewrapBackend } from "../src/sandbox/bubblewrap/backend.ts";
import { createLog } from "../src/telemetry/log.ts";
import { createTurnRunner } from "../src/turn-runner.ts";
import { memoryNotes } from "./agent/tools/services.ts";
import { asking, tool } from "./agent/turn.ts";
import { memoryChat } from "./fakes/memory-chat.ts";
import { type Reply, scriptedModel } from "./fakes/scripted-model.ts";

/** Pays for everything. */
const openPurse: Purse = { reserve: async () => ({ ok: true, settle: async () => {} }) };

const none = { ok: false, summary: "", problems: [] };

/** A runner without a sandbox, between a scripted model and these tools of an MCP server. */
function runner(replies: Reply[] | ((request: ModelRequest) => Reply), mcpTools: Tool[] = []) {
  const { model, requests } = scriptedModel(replies);
  const journals = new Map<string, JournalRecord[]>();
  const notes = memoryNotes();
  const { run } = createTurnRunner({
    model,
    summariser: model,
    limits: defaultTurnLimits,
    budgets: { purse: () => openPurse },
    instructions: "",
    sandbox: { backend: createBubblewrapBackend({ dataDir: "" }), probe: none, refresh: async () => none },
    notes: () => notes,
    journal: async (thread) => journals.get(thread) ?? [],
    surface: () => memoryChat().surface,
    skills: { current: async () => ({ skills: [], problems: [] }), mounts: () => [] },
    mcp: { tools: async () => mcpTools, status: () => [], close: async () => {} },
    masker: createMasker([]),
    log: createLog("silent", createMasker([]), { terminal: false }),
  });
  let turns = 0;
  /** Runs a turn of a thread to its end, as the queue does; returns the results of its tools. */
  const ask = async (name: string, text: string) => {
    const thread = `memory:w:c:${name}`;
    const journal = journals.get(thread) ?? [];
    journals.set(thread, journal);
    journal.push(...asking(text, Date.now() + ++turns));
    const turn = `t${turns}`;
    const signal = new AbortController().signal;
    const history = replay(journal);
    const events = run({ thread, turn, history, followUps: async () => [], emit() {}, signal });
    const results: string[] = [];
    for (;;) {
      const next = await events.next();
      if (next.done) {
        journal.push({ type: "turn-end", turn, outcome: next.value, at: 1 });
        return results;
      }
      if (next.value.type === "tool-end") results.push(next.value.message.text);
      const record = recordOf(next.value, 1);
      if (record) journal.push(record);
    }
  };
  return { ask, requests };
}

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

  test("may hand work to a helper that has the tools of the thread but no helper", async () => {
    const { ask, requests } = runner(
      (request) => {
        if (request.system.includes("## Your part")) return { text: "It is up." };
        return last(request)?.role === "tool"
          ? { text: "ok" }
          : { calls: [{ name: "task", input: { task: "look" } }] };
      },
      [tool("look", "read", async () => "up")],
    );
    expect(await ask("a", "look")).toEqual(["It is up."]);
    const names = requests[1]?.tools.map(({ name }) => name);
    expect(names).toEqual(["recall_notes", "search_history", "look"]);
  });
});
