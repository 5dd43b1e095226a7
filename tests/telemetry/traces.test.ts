import { createServer } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import type { TurnOutcome } from "../../src/agent/events.ts";
import type { AssistantMessage, UserMessage } from "../../src/agent/messages.ts";
import { noUsage } from "../../src/agent/model.ts";
import type { InboundEvent, Intake } from "../../src/chat/inbound.ts";
import type { OutboxEntry } from "../../src/queue/outbox/contracts.ts";
import { noChanges, type TurnDisplay } from "../../src/queue/turns/contracts.ts";
import { observeAll } from "../../src/telemetry/observer.ts";
import { openTraces, type TracesOptions } from "../../src/telemetry/traces.ts";
import { memoryChat } from "../fakes/memory-chat.ts";
import { closeServer, listen } from "../fakes/listen.ts";
import { startCollector } from "../fakes/otlp.ts";
import { newTurn, noDisplay } from "./no-display.ts";

async function tracing(options: Partial<TracesOptions> = {}) {
  const collector = await startCollector({ authorization: "key" });
  onTestFinished(() => collector.close());
  const warnings: string[] = [];
  const traces = openTraces({
    url: `${collector.url}/v1/traces`,
    headers: { authorization: "key" },
    service: "heddle-test",
    content: undefined,
    log: { warn: (_: unknown, text?: string) => void warnings.push(text ?? "") },
    ...options,
  });
  /** Everything that ended, once it was sent. */
  const sent = async () => {
    await traces.close();
    return collector.spans;
  };
  return { observe: observeAll([traces.observer]), traces, sent, collector, warnings };
}

const asked = (trace?: string): UserMessage => ({
  role: "user",
  id: "m1",
  author: { id: "U1", name: "Ada" },
  text: "a question",
  at: 1,
  ...(trace !== undefined && { trace }),
});
const message: Extract<InboundEvent, { kind: "message" }> = {
  kind: "message",
  thread: { platform: "memory", workspace: "w", channel: "c", thread: "t" },
  ref: { platform: "memory", workspace: "w", channel: "c", message: "m1" },
  author: { id: "U1", name: "Ada", standing: "member", roles: [] },
  text: "a question",
  attachments: [],
  addressed: "mention",
  at: 1,
};
const display: TurnDisplay = {
  ...noDisplay,
  closing: () => ({
    answer: { do: "post", message: { kind: "answer", markdown: "done" }, attempts: 0 },
  }),
};
const thread = "memory:w:c:t";
const receipt = (kind: "answered" | "model-error") => {
  const outcome: TurnOutcome = { kind, text: "", steps: 1, usage: noUsage };
  return { outcome, durationMs: 1, files: noChanges, withdrawn: [] };
};

describe("Traces", () => {
  test("go on in the worker that takes over, and in the one that posts what another left", async () => {
    const { observe, sent } = await tracing();
    let passedOn: string | undefined;
    const intake: Intake = observe.intake({
      async receive(event) {
        if (event.kind === "message") passedOn = event.trace;
        return { kind: "accepted", thread, position: 0 };
      },
    });
    await intake.receive(message);

    const first = observe.display(display, thread, {
      id: "t1",
      startedAt: 1,
      resumed: false,
      progress: undefined,
      calls: [],
    });
    first.took([asked(passedOn)]);
    first.event({ type: "step-start", step: 1 });
    await first.close();

    const second = observe.display(display, thread, {
      id: "t1",
      startedAt: 1,
      resumed: true,
      progress: undefined,
      calls: [],
    });
    second.took([asked(passedOn)]);
    const entries: Record<string, OutboxEntry> = second.closing(receipt("answered"));
    await second.close();

    // Another process reads the outbox.
    const stored = JSON.parse(JSON.stringify(entries["answer"])) as Extract<OutboxEntry, { do: "post" }>;
    const chat = memoryChat();
    await observe.surface(chat.surface).post(message.thread, stored.message, "answer");
    expect(chat.shown[0]?.message).toEqual({ kind: "answer", markdown: "done" });

    const spans = await sent();
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    const turns = spans.filter(({ name }) => name === "invoke_agent heddle");
    expect(turns.map(({ attributes }) => attributes["heddle.resumed"])).toEqual([false, true]);
    const posted = spans.find(({ name }) => name === "post memory");
    expect(posted?.parentSpanId).toBe(turns[1]?.spanId);
    expect(posted?.resource["service.name"]).toBe("heddle-test");
  });

  test("show the calls of a helper, of its model and its tools, below its own", async () => {
    const { observe, sent } = await tracing();
    const shown = observe.display(display, thread, newTurn);
    shown.took([asked()]);
    const start = (id: string, name: string) =>
      ({ type: "tool-start", step: 1, call: { id, name, input: {} } }) as const;
    const end = (callId: string, name: string) => {
      const result = { role: "tool", callId, name, status: "ok", text: "" } as const;
      return { type: "tool-end", step: 1, message: result, durationMs: 1 } as const;
    };
    const model = "anthropic/claude-haiku-4-5";
    const said: AssistantMessage = { role: "assistant", id: "a1", parts: [], model, stop: "tool-calls" };
    shown.event(start("1", "task"));
    // Its ids are its own, and may be those of the turn.
    shown.event({ type: "helper", callId: "1", event: { type: "step-start", step: 1 } });
    shown.event({
      type: "helper",
      callId: "1",
      event: { type: "assistant", step: 1, message: said, usage: noUsage },
    });
    shown.event({ type: "helper", callId: "1", event: start("1", "bash") });
    shown.event({ type: "helper", callId: "1", event: end("1", "bash") });
    shown.event({ type: "helper", callId: "1", event: { type: "step-start", step: 2 } });
    shown.event(end("1", "task"));
    await shown.close();
    const spans = await sent();
    const named = (name: string) => spans.find((span) => span.name === name);
    // The second one was cut short.
    for (const name of ["chat anthropic/claude-haiku-4-5", "chat"])
      expect(named(name)?.parentSpanId).toBe(named("execute_tool task")?.spanId);
    expect(named("execute_tool bash")?.parentSpanId).toBe(named("execute_tool task")?.spanId);
    expect(named("execute_tool task")?.parentSpanId).toBe(named("invoke_agent heddle")?.spanId);
  });

  test("of two turns that begin at one moment are two", async () => {
    const { observe, sent } = await tracing();
    for (const name of ["memory:w:c:a", "memory:w:c:b"] as const) {
      const shown = observe.display(display, name, newTurn);
      shown.took([asked()]);
      await shown.close();
    }
    expect(new Set((await sent()).map(({ traceId }) => traceId)).size).toBe(2);
  });

  test("are not sent of what came to nothing", async () => {
    const { observe, sent } = await tracing();
    const intake = observe.intake({ receive: async () => ({ kind: "ignored", why: "a test" }) });
    await intake.receive(message);
    expect(await sent()).toEqual([]);
  });

  test("show a failed model call, and a message from elsewhere as a link", async () => {
    const { observe, sent } = await tracing();
    const shown = observe.display(display, thread, {
      id: "t1",
      startedAt: 1,
      resumed: false,
      progress: undefined,
      calls: [],
    });
    const other = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    shown.took([asked("not a trace")]);
    shown.took([asked(other)]);
    shown.event({ type: "step-start", step: 1 });
    shown.event({ type: "step-start", step: 1 });
    shown.closing(receipt("model-error"));
    await shown.close();
    const spans = await sent();
    expect(spans.map(({ name, status }) => [name, status.code])).toEqual([
      ["chat", 2],
      ["chat", 2],
      ["invoke_agent heddle", 2],
    ]);
    expect(spans.at(-1)?.links.map(({ traceId }) => traceId)).toEqual(["a".repeat(32)]);
  });

  test("hold what was written only where that is wanted, and then masked", async () => {
    for (const content of [undefined, (text: string) => text.replaceAll("secret", "[masked]")]) {
      const { observe, sent, collector } = await tracing({ content });
      const shown = observe.display(display, thread, {
        ...{ id: "t1", startedAt: 1, resumed: false, progress: undefined, calls: [] },
      });
      shown.took([{ ...asked(), text: "asked secret" }]);
      const call = { id: "1", name: "bash", input: { command: "given secret" } };
      shown.event({ type: "tool-start", step: 1, call });
      const result = { role: "tool", callId: "1", name: "bash", status: "ok", text: "got secret" } as const;
      shown.event({ type: "tool-end", step: 1, message: result, durationMs: 1 });
      await shown.close();
      await sent();
      const bodies = collector.bodies.join();
      expect(bodies).not.toContain("secret");
      for (const text of ["asked [masked]", "given [masked]", "got [masked]"]) {
        expect(bodies.includes(text)).toBe(content !== undefined);
      }
    }
  });

  test("hold messages as JSON by the schemas of the GenAI conventions, however long they are", async () => {
    // https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-output-messages.json
    const part = z.discriminatedUnion("type", [
      z.object({ type: z.literal("text"), content: z.string() }),
      z.object({
        ...{ type: z.literal("tool_call"), id: z.string(), name: z.string() },
        arguments: z.unknown().refine((given) => given !== undefined),
      }),
    ]);
    const inputSchema = z.array(z.object({ role: z.string(), parts: z.array(part) }));
    const outputSchema = z.array(
      z.object({
        ...{ role: z.string(), parts: z.array(part) },
        finish_reason: z.enum(["stop", "length", "content_filter", "tool_call", "error"]),
      }),
    );
    const { observe, sent } = await tracing({ content: (text) => text.replaceAll("secret", "[masked]") });
    const shown = observe.display(display, thread, newTurn);
    shown.took([{ ...asked(), text: 'a "secret" question' }]);
    const model = "anthropic/claude-haiku-4-5";
    const long = "\u0001\n".repeat(20_000);
    const call = { id: "c1", name: "bash", input: { command: "echo secret" } };
    const parts: AssistantMessage["parts"] = [
      { type: "text", text: "I look." },
      { type: "tool-call", call },
    ];
    const replies: Pick<AssistantMessage, "parts" | "stop">[] = [
      { parts, stop: "tool-calls" },
      {
        parts: [
          { type: "text", text: long },
          { type: "tool-call", call: { ...call, input: { long } } },
        ],
        stop: "max-tokens",
      },
    ];
    for (const [index, reply] of replies.entries()) {
      shown.event({ type: "step-start", step: index });
      const said: AssistantMessage = { role: "assistant", id: `a${index}`, model, ...reply };
      shown.event({ type: "assistant", step: index, message: said, usage: noUsage });
    }
    shown.took([{ ...asked(), text: long }]);
    await shown.close();

    const spans = await sent();
    const read = (attribute: unknown): unknown => JSON.parse(String(attribute));
    const turn = spans.find(({ name }) => name === "invoke_agent heddle");
    const input = inputSchema.parse(read(turn?.attributes["gen_ai.input.messages"]));
    expect(input[0]).toEqual({ role: "user", parts: [{ type: "text", content: 'a "[masked]" question' }] });
    expect(input).toHaveLength(2);
    const [first, second] = spans
      .filter(({ name }) => name.startsWith("chat"))
      .map(({ attributes }) => outputSchema.parse(read(attributes["gen_ai.output.messages"])));
    expect(first).toEqual([
      {
        ...{ role: "assistant", finish_reason: "tool_call" },
        parts: [
          { type: "text", content: "I look." },
          { type: "tool_call", id: "c1", name: "bash", arguments: { command: "echo [masked]" } },
        ],
      },
    ]);
    expect(second).toMatchObject([
      { finish_reason: "length", parts: [{ type: "text" }, { type: "tool_call" }] },
    ]);
  });

  test("hold nobody up when the collector is away, and say so", async () => {
    const away = { url: "http://127.0.0.1:1/v1/traces", sendMs: 100 };
    const { observe, traces, warnings } = await tracing(away);
    const intake = observe.intake({ receive: async () => ({ kind: "accepted", thread, position: 0 }) });
    await intake.receive(message);
    expect(warnings).toEqual([]);
    await traces.close();
    expect(warnings).toContain("traces could not be sent");
  });

  test("are told once a minute as refused, however often the collector refuses them", async () => {
    let refusals = 0;
    const collector = createServer((request, response) => {
      request.resume();
      response.writeHead(401).end(() => (refusals += 1));
    });
    const port = await listen(collector);
    onTestFinished(() => closeServer(collector));
    const { observe, warnings } = await tracing({ url: `http://127.0.0.1:${port}/v1/traces` });
    const intake = observe.intake({ receive: async () => ({ kind: "accepted", thread, position: 0 }) });
    for (const count of [1, 2, 3]) {
      await intake.receive(message);
      await expect.poll(() => refusals, { timeout: 5_000 }).toBe(count);
    }
    expect(warnings).toEqual(["traces could not be sent"]);
  });
});
