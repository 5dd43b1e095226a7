import { describe, expect, test } from "vitest";
import { runCalls } from "../../../../src/agent/loop/calls/calls.ts";
import { shareBudget } from "../../../../src/agent/loop/limits.ts";
import { createContextWindow } from "../../../../src/agent/context/compaction.ts";
import type { AgentEvent, TurnAbort } from "../../../../src/agent/events.ts";
import type { OpenCall } from "../../../../src/agent/journal/history.ts";
import type { Policy } from "../../../../src/agent/policy/policy.ts";
import { createAsker, type Question } from "../../../../src/agent/questions.ts";
import type { Tool } from "../../../../src/agent/tools/tool.ts";
import { scriptedModel } from "../../../fakes/scripted-model.ts";
import { dispatcherOf } from "../../tools/services.ts";
import { counter, tool } from "../../turn.ts";

const ada = { id: "U1", name: "Ada" };
const asker = createAsker(ada, 60_000, () => 1_000);
const open = (id: string, name: string, more: Partial<OpenCall> = {}): OpenCall => ({
  call: { id, name, input: {} },
  started: false,
  ...more,
});
/** A call that people were asked about. */
const asked = (id: string, name: string, more: Partial<OpenCall> = {}): OpenCall => {
  const entry = open(id, name, more);
  const question: Question = asker(entry.call, { kind: "approval", why: "" });
  return { ...entry, question };
};
const guarded: Policy = ({ name }) =>
  name.startsWith("guarded") ? { action: "ask", why: "It is guarded." } : { action: "allow" };

function callsOf(
  entries: readonly OpenCall[],
  tools: readonly Tool[],
  signal: AbortSignal = new AbortController().signal,
) {
  const { model } = scriptedModel([]);
  return runCalls(entries, {
    step: 1,
    tools: dispatcherOf({ tools, policy: guarded }),
    signal,
    budget: shareBudget({ wallMs: 60_000 }, Date.now),
    context: createContextWindow({ model, counter }),
    ask: asker,
  });
}

/** Runs the open calls of a step to their end, or until people must decide. */
async function runOpen(
  entries: readonly OpenCall[],
  tools: readonly Tool[],
  {
    signal = new AbortController().signal,
    onEvent,
  }: { signal?: AbortSignal; onEvent?(event: AgentEvent): void } = {},
) {
  const calls = callsOf(entries, tools, signal);
  const told: string[] = [];
  for (;;) {
    const next = await calls.next();
    if (next.done) return { told, ...next.value };
    const event = next.value;
    onEvent?.(event);
    if (event.type === "tool-start" || event.type === "question") told.push(`${event.type} ${event.call.id}`);
    if (event.type === "tool-end") told.push(`${event.message.status} ${event.message.callId}`);
  }
}

describe("The read-only calls of a step", () => {
  test("run beside each other, at most eight of them", async () => {
    let running = 0;
    let most = 0;
    const full = Promise.withResolvers<void>();
    const look = tool("look", "read", async () => {
      running += 1;
      most = Math.max(most, running);
      if (running === 8) full.resolve();
      await full.promise;
      running -= 1;
      return "seen";
    });
    const { outcomes } = await runOpen(
      Array.from({ length: 16 }, (_, index) => open(`c${index}`, "look")),
      [look],
    );
    expect(most).toBe(8);
    expect(outcomes).toHaveLength(16);
  });

  test("begin only when their own start is stored, while others run already", async () => {
    const log: string[] = [];
    const noted = (name: string) => tool(name, "read", async () => String(log.push(`${name} runs`)));
    const calls = callsOf([open("a", "a"), open("b", "b")], [noted("a"), noted("b")]);
    for (let next = await calls.next(); !next.done; next = await calls.next()) {
      // As long as a slow journal needs: whatever could run, would run here.
      await new Promise((resolve) => setImmediate(resolve));
      if (next.value.type === "tool-start") log.push(`${next.value.call.id} is stored`);
    }
    expect(log).toEqual(["a is stored", "a runs", "b is stored", "b runs"]);
  });

  test("have their results in their own order, also where one is not run because somebody has said no", async () => {
    const denied = { kind: "denied", by: ada, at: 2_000 } as const;
    const { told } = await runOpen(
      [open("c1", "look"), asked("c2", "guarded", { decision: denied }), open("c3", "look")],
      [tool("look", "read", async () => "seen"), tool("guarded", "read", async () => "seen")],
    );
    expect(told).toEqual(["tool-start c1", "tool-start c3", "ok c1", "error c2", "ok c3"]);
  });
});

describe("A call that people must decide", () => {
  const tools = ["write", "guarded"].map((name) => tool(name, "write", async () => "done"));

  test("waits with all those behind it, which are asked about with it, and those before it are done", async () => {
    const { told, waiting, outcomes } = await runOpen(
      [open("c1", "write"), open("c2", "guarded"), open("c3", "write"), open("c4", "guarded")],
      tools,
    );
    expect(waiting).toBe(true);
    expect(told).toEqual(["tool-start c1", "ok c1", "question c2", "question c4"]);
    expect(outcomes).toHaveLength(1);
  });

  test("is not asked about twice", async () => {
    const { told, waiting } = await runOpen([asked("c1", "guarded"), asked("c2", "guarded")], tools);
    expect([told, waiting]).toEqual([[], true]);
  });

  test("runs once it is approved, and waits no more", async () => {
    const approved = { kind: "approved", by: ada, at: 2_000 } as const;
    const { told, waiting } = await runOpen([asked("c1", "guarded", { decision: approved })], tools);
    expect([told, waiting]).toEqual([["tool-start c1", "ok c1"], false]);
  });

  test("is neither asked about nor run when it was started before, with or without a question", async () => {
    const { told, waiting } = await runOpen(
      [open("c1", "guarded", { started: true }), asked("c2", "guarded", { started: true })],
      tools,
    );
    expect([told, waiting]).toEqual([["unknown c1", "unknown c2"], false]);
  });

  test("is answered as stopped by a stop, and left open by a shutdown", async () => {
    const ended = async (reason: TurnAbort) => {
      const controller = new AbortController();
      const { told, waiting } = await runOpen([open("c1", "write"), open("c2", "guarded")], tools, {
        signal: controller.signal,
        onEvent: (event) => event.type === "tool-end" && controller.abort(reason),
      });
      expect(waiting).toBe(false);
      return told;
    };
    const before = ["tool-start c1", "ok c1"];
    expect(await ended({ kind: "stop", order: { by: "Bob", at: 5_000 } })).toEqual([...before, "stopped c2"]);
    expect(await ended({ kind: "shutdown" })).toEqual(before);
  });
});
