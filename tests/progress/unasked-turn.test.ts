import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AgentEvent, TurnOutcome } from "../../src/agent/events.ts";
import type { ToolCall, UserMessage } from "../../src/agent/messages.ts";
import { noUsage } from "../../src/agent/model.ts";
import type { Question } from "../../src/agent/questions.ts";
import type { MessageMark } from "../../src/chat/outbound.ts";
import { createReporter } from "../../src/progress/reporter.ts";
import type { OutboxEntry } from "../../src/queue/outbox/contracts.ts";
import { createRateLimiter } from "../../src/queue/outbox/rate-limit.ts";
import type { ShownTurn } from "../../src/queue/turns/contracts.ts";
import { memoryChat } from "../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const heard: UserMessage = {
  ...{ role: "user", id: "m1", author: { id: "U1", name: "Ada" }, text: "lunch?", at: 1 },
  unaddressed: true,
};
const { unaddressed: _, ...asked } = heard;
const addressed: UserMessage = { ...asked, id: "m2" };

const begins: AgentEvent = { type: "step-start", step: 1 };
const call: ToolCall = { id: "c1", name: "bash", input: { command: "ls" } };
const calls: AgentEvent = { type: "tool-start", step: 1, call };
const question: Question = {
  ...{ kind: "approval", id: "q1", callId: "c1", tool: "bash", why: "The rules say so." },
  ...{ requester: { id: "U1", name: "Ada" }, askedAt: 1, expiresAt: 2 },
};

const basis = { steps: 1, usage: noUsage };
const silent: TurnOutcome = { kind: "answered", text: "", silent: true, ...basis };
const spoke: TurnOutcome = { kind: "answered", text: "At one.", ...basis };

function open(turn: Partial<ShownTurn> = {}) {
  const chat = memoryChat();
  const marks: MessageMark[] = [];
  const live: string[] = [];
  const display = createReporter({
    surface: chat.surface,
    thread: "memory:w:c:t",
    output: createRateLimiter(server.client()),
    turn: { id: "t1", startedAt: 0, resumed: false, progress: undefined, calls: [], ...turn },
    verbosity: "normal",
    mark: async (_ref, mark) => void marks.push(mark),
    overtaken: () => Promise.resolve(undefined),
    onProgressPosted: () => Promise.resolve(),
    publish: ({ type }) => live.push(type),
    deciders: () => [],
    mayMention: () => true,
    mask: (text) => text,
    onProblem: (_problem, error) => {
      throw error;
    },
  });
  const end = (outcome: TurnOutcome) => {
    const entries = display.closing({ outcome, durationMs: 5, withdrawn: [] });
    return Object.entries(entries).map(([key, entry]) => `${key} ${describeEntry(entry)}`);
  };
  return { chat, marks, live, display, end };
}

function describeEntry(entry: OutboxEntry): string {
  switch (entry.do) {
    case "post":
      return entry.message.markdown;
    case "settle":
      return entry.message === null ? "goes" : entry.message.markdown;
    case "mark":
      return entry.mark;
    default:
      return entry.do;
  }
}

/** As long as it takes until a turn that somebody has asked for is shown. */
async function untilShown(): Promise<void> {
  const { display, chat } = open();
  display.took([addressed]);
  display.event(begins);
  display.event(calls);
  await chat.until(() => chat.shown.length === 1 && chat.statuses.length > 0);
  await display.close();
}

describe("A turn that nobody has asked for", () => {
  test("shows nothing while it works, also where another worker goes on with it", async () => {
    for (const resumed of [false, true]) {
      const { display, chat, marks, live, end } = open({ resumed });
      display.took([heard]);
      display.event(begins);
      display.event(calls);
      await untilShown();
      await display.interrupted();
      expect(end(silent)).toEqual([]);
      await display.close();
      expect([chat.shown, chat.statuses, marks]).toEqual([[], [], []]);
      // Whoever looks on at the console sees it.
      expect(live).toEqual(["turn-start", "step-start", "tool-start"]);
    }
  });

  test("says what it has to say, and marks nobody's message", () => {
    const { display, end } = open();
    display.took([heard]);
    expect(end(spoke)).toEqual(["t1:answer At one.", "t1:progress goes"]);
  });

  test.each<TurnOutcome>([
    { kind: "model-error", text: "The model is away.", ...basis },
    { kind: "refused", text: "No.", ...basis },
    { kind: "budget", text: "So far.", limit: "$1", ...basis },
    { kind: "step-limit", text: "So far.", limit: "50 steps", ...basis },
  ])("says nothing of its end as $kind: nobody waits for it", (outcome) => {
    const { display, end } = open();
    display.took([heard]);
    expect(end(outcome)).toEqual([]);
  });

  test("tells who has stopped it that it is stopped", () => {
    const { display, end } = open();
    display.took([heard]);
    const [first, ...rest] = end({ kind: "stopped", order: { by: "Bob", at: 2 }, ...basis });
    expect(first).toMatch(/^t1:answer 🛑 \*\*Stopped by Bob/);
    expect(rest).toEqual(["t1:progress goes"]);
  });

  test("is shown like any other from a question on, also by the worker that goes on with it", async () => {
    const first = open();
    first.display.took([heard]);
    expect(first.display.question(question, call).markdown).toContain("bash");
    expect(first.end({ kind: "model-error", text: "Away.", ...basis })[0]).toBe("t1:answer ⚠️ Away.");

    const { display, chat, end } = open({ resumed: true, waited: true });
    display.took([heard]);
    display.event(calls);
    await chat.until(() => chat.shown.length === 1);
    // It was asked for no answer; what it did stays to be read.
    const entries = end(silent);
    expect(entries).toHaveLength(1);
    expect(entries[0]).toMatch(/^t1:progress/);
    await display.close();
  });

  test("is shown like any other once somebody addresses it, and marks that message alone", async () => {
    const { display, chat, marks, end } = open();
    display.took([heard]);
    display.event(calls);
    display.took([addressed]);
    display.event(begins);
    await chat.until(() => chat.shown.length === 1 && marks.length === 1);
    const entries = end(spoke);
    expect(entries).toContain("t1:mark:m2 answered");
    expect(entries).not.toContain("t1:mark:m1 answered");
    await display.close();
  });
});
