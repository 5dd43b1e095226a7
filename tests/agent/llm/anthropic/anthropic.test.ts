import { describe, expect, test } from "vitest";
import { createAnthropicModel } from "../../../../src/agent/llm/anthropic/anthropic.ts";
import type { ModelEvent } from "../../../../src/agent/model.ts";
import { toolCalls } from "../../../../src/agent/messages.ts";
import type { AssistantMessage, Message } from "../../../../src/agent/messages.ts";
import type { FakeReply } from "../../../fakes/anthropic.ts";
import { ask, call, limits, result, says, setUp } from "./setup.ts";

function joined(events: ModelEvent[], type: "text" | "thinking"): string {
  return events.map((event) => (event.type === type && "delta" in event ? event.delta : "")).join("");
}

describe("a conversation", () => {
  test("streams thinking and text, and counts tokens and cost", async () => {
    const usage = { input: 100, output: 20, cacheRead: 1_000, cacheWrite: 200 };
    const content = [
      { type: "thinking" as const, thinking: "She greets me." },
      { type: "text" as const, text: "Hello Ada, how are you? 🙂" },
    ];
    const { model } = await setUp([{ content, usage }]);
    const { events, message, usage: counted } = await call(model, ask([says("hi")]));
    expect(joined(events, "thinking")).toBe("She greets me.");
    expect(joined(events, "text")).toBe("Hello Ada, how are you? 🙂");
    expect(message).toMatchObject({ role: "assistant", model: "anthropic/claude-sonnet-5-5", stop: "end" });
    expect(message.parts.map(({ type }) => type)).toEqual(["thinking", "text"]);
    expect(counted).toEqual({ ...usage, calls: 1, cost: (200 + 200 + 200 + 500) / 1_000_000 });
  });

  test("says that a reply has begun of which nothing is shown", async () => {
    const { model } = await setUp([{ content: [{ type: "tool_use", id: "c1", name: "bash", input: {} }] }]);
    const { events } = await call(model, ask([says("hi")]));
    expect(events.map(({ type }) => type)).toEqual(["begun", "done"]);
  });

  test("goes on over several steps with thinking, parallel calls and failed results", async () => {
    const { service, model } = await setUp([
      {
        content: [
          { type: "thinking", thinking: "Two things at once." },
          { type: "redacted_thinking" },
          { type: "text", text: "I look." },
          { type: "tool_use", name: "bash", input: { command: "ls — ünï 🧵" } },
          { type: "tool_use", name: "read_file" },
        ],
      },
      {
        content: [
          { type: "thinking", thinking: "" },
          { type: "tool_use", name: "bash", input: { command: "pwd" } },
        ],
      },
      { content: [{ type: "text", text: "Done." }] },
    ]);
    const history: Message[] = [says("look around")];

    const first = (await call(model, ask(history))).message;
    const [a, b] = toolCalls(first);
    expect(a?.input).toEqual({ command: "ls — ünï 🧵" });
    expect(b?.input).toEqual({});
    expect(first.stop).toBe("tool-calls");
    history.push(
      first,
      result(a?.id ?? "", "x.py"),
      result(b?.id ?? "", "no such file", { status: "error" }),
    );
    history.push(says("and hurry"));

    const second = (await call(model, ask(history))).message;
    history.push(second, result(toolCalls(second)[0]?.id ?? "", ""));
    const third = await call(model, ask(history));
    expect(third.message.parts).toEqual([{ type: "text", text: "Done." }]);

    const sent = service.bodies[2]?.messages ?? [];
    expect(sent.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant", "user"]);
    expect(sent[2]?.content).toEqual([
      { type: "tool_result", tool_use_id: a?.id, content: [{ type: "text", text: "x.py" }] },
      {
        type: "tool_result",
        tool_use_id: b?.id,
        content: [{ type: "text", text: "no such file" }],
        is_error: true,
      },
      { type: "text", text: "[Ada] and hurry", cache_control: { type: "ephemeral" } },
    ]);
  });

  test("asks for summarised adaptive thinking only where the model takes it", async () => {
    const hello: FakeReply = { content: [{ type: "text", text: "Hello." }] };
    const { service, model } = await setUp([hello, hello]);
    await call(model, ask([says("hi")]));
    const older = createAnthropicModel({
      model: "claude-haiku-4-5",
      apiKey: "test-key",
      baseUrl: service.url,
      limits: { ...limits, maxOutputTokens: 64_000 },
    });
    await call(older, ask([says("hi")]));
    expect(service.bodies.map(({ thinking }) => thinking)).toEqual([
      { type: "adaptive", display: "summarized" },
      undefined,
    ]);
  });

  test("forbids tools without taking them from the request", async () => {
    const { service, model } = await setUp([{ content: [{ type: "text", text: "So far: nothing." }] }]);
    await call(model, ask([says("sum up")], { toolChoice: "none", maxOutputTokens: 500 }));
    expect(service.bodies[0]).toMatchObject({
      tool_choice: { type: "none" },
      max_tokens: 500,
      tools: [{ name: "bash" }, {}],
    });
  });

  test("keeps each request a continuation of the one before, and marks what may be cached", async () => {
    const step: FakeReply = { content: [{ type: "tool_use", name: "bash", input: {} }] };
    const { service, model } = await setUp([step, step, step]);
    const history: Message[] = [says("go")];
    for (let index = 0; index < 3; index += 1) {
      const { message } = await call(model, ask(history));
      history.push(message, result(toolCalls(message)[0]?.id ?? "", `result ${index}`));
    }
    const unmarked = service.requests.map(({ rawBody }) =>
      rawBody.replaceAll(',"cache_control":{"type":"ephemeral"}', ""),
    );
    for (const [index, body] of unmarked.slice(1).entries()) {
      expect(body.startsWith((unmarked[index] ?? "").slice(0, -2))).toBe(true);
    }
    const marks = service.requests.map(({ rawBody }) => rawBody.split("cache_control").length - 1);
    expect(marks).toEqual([3, 4, 4]);
  });

  test("thinking goes back only to the model that thought it", async () => {
    const { service, model } = await setUp([
      {
        content: [
          { type: "thinking", thinking: "Hm." },
          { type: "text", text: "Yes." },
        ],
      },
      { content: [{ type: "text", text: "No." }] },
    ]);
    const { message } = await call(model, ask([says("well?")]));
    const other: AssistantMessage = { ...message, model: "anthropic/claude-opus-5-5" };
    await call(model, ask([says("well?"), other, says("sure?")]));
    expect(service.bodies[1]?.messages[1]?.content).toEqual([{ type: "text", text: "Yes." }]);
  });

  test("goes on without the old thinking when the service refuses it, and forgets only that", async () => {
    const thought = (text: string): FakeReply => ({
      content: [
        { type: "thinking", thinking: `about ${text}` },
        { type: "text", text },
      ],
    });
    const { service, model } = await setUp([thought("one"), thought("two"), thought("three")]);
    const one = (await call(model, ask([says("1")]))).message;

    const compacted: Message[] = [{ role: "summary", text: "They counted." }, one, says("2")];
    const { events, message: two } = await call(model, ask(compacted));
    expect(events.map(({ type }) => type)).not.toContain("retry");
    expect(service.requests).toHaveLength(3);

    await call(model, ask([...compacted, two, says("3")]));
    expect(service.requests).toHaveLength(4);
    const types = service.bodies[3]?.messages.map(
      ({ content }) => typeof content === "object" && content.map(({ type }) => type),
    );
    expect(types).toEqual([["text"], ["text"], ["text"], ["thinking", "text"], ["text"]]);
  });

  test("never sends a call without its result, nor a result without its call", async () => {
    const { service, model } = await setUp();
    const calling: AssistantMessage = {
      role: "assistant",
      id: "a",
      model: model.id,
      stop: "tool-calls",
      parts: [{ type: "tool-call", call: { id: "c1", name: "bash", input: {} } }],
    };
    const illegal: Message[][] = [
      [says("go"), calling],
      [says("go"), calling, says("wait"), result("c1", "late")],
      [says("go"), result("c1", "nothing asked")],
    ];
    for (const messages of illegal) {
      await expect(call(model, ask(messages))).rejects.toThrow(
        /The history has a tool (call|result) without its/,
      );
    }
    expect(service.requests).toHaveLength(0);
  });
});

describe("what the model says", () => {
  test.each([
    ["end_turn", "end"],
    ["stop_sequence", "end"],
    ["tool_use", "tool-calls"],
    ["max_tokens", "max-tokens"],
    ["pause_turn", "pause"],
    ["refusal", "refusal"],
    ["model_context_window_exceeded", "context-window"],
    ["something_new", "other"],
  ])("stop reason %s is %s", async (stop, expected) => {
    const { model } = await setUp([{ content: [{ type: "text", text: "…" }], stop }]);
    expect((await call(model, ask([says("hi")]))).message.stop).toBe(expected);
  });

  test.each(['{"command": ls}', '{"command": "l', "[1, 2]", '"text"', "true"])(
    "arguments that are no JSON object make a malformed call that can be answered: %s",
    async (json) => {
      const { model } = await setUp([
        { content: [{ type: "tool_use", name: "bash", json }] },
        { content: [{ type: "text", text: "I see." }] },
      ]);
      const { message } = await call(model, ask([says("go")]));
      const [malformed] = toolCalls(message);
      expect(malformed).toMatchObject({ name: "bash", input: {}, malformed: json });
      const error = result(malformed?.id ?? "", "The arguments are not JSON.", { status: "error" });
      const { message: next } = await call(model, ask([says("go"), message, error]));
      expect(next.stop).toBe("end");
    },
  );

  test("a call that the output limit cut in half is malformed", async () => {
    const { model } = await setUp([
      {
        content: [
          { type: "text", text: "I write." },
          { type: "tool_use", name: "bash", json: '{"command": "cat > x' },
        ],
        stop: "max_tokens",
      },
    ]);
    const { message } = await call(model, ask([says("go")]));
    expect(message.stop).toBe("max-tokens");
    expect(toolCalls(message)).toMatchObject([{ malformed: '{"command": "cat > x' }]);
  });

  test("a call that was cut before its arguments is left out", async () => {
    const content = [
      { type: "text" as const, text: "I write." },
      { type: "tool_use" as const, name: "bash", json: "" },
    ];
    const { model } = await setUp([{ content, stop: "max_tokens" }, { content }]);
    expect((await call(model, ask([says("go")]))).message.parts).toEqual([
      { type: "text", text: "I write." },
    ]);
    expect(toolCalls((await call(model, ask([says("go")]))).message)).toMatchObject([
      { name: "bash", input: {} },
    ]);
  });

  test("a thought that was cut before its signature is left out", async () => {
    const { model } = await setUp([
      { content: [{ type: "thinking", thinking: "Let me", signature: "" }], stop: "max_tokens" },
    ]);
    expect((await call(model, ask([says("go")]))).message.parts).toEqual([]);
  });

  test("a declined answer asks for nothing", async () => {
    const { model } = await setUp([
      {
        content: [
          { type: "text", text: "I" },
          { type: "tool_use", name: "bash", json: '{"command": "rm' },
        ],
        stop: "refusal",
      },
    ]);
    const { message } = await call(model, ask([says("go")]));
    expect(message).toMatchObject({ stop: "refusal", parts: [{ type: "text", text: "I" }] });
  });

  test("an empty answer ends without parts", async () => {
    const { model } = await setUp([{ content: [] }, { content: [{ type: "text", text: "\n\n" }] }]);
    expect((await call(model, ask([says("hi")]))).message.parts).toEqual([]);
    expect((await call(model, ask([says("hi")]))).message.parts).toEqual([]);
  });

  test("calls without ids of their own get some", async () => {
    const bash = { type: "tool_use" as const, id: "own", name: "bash", input: {} };
    const { model } = await setUp([{ content: [bash, { ...bash, id: "" }, { ...bash, id: "" }] }]);
    const ids = toolCalls((await call(model, ask([says("go")]))).message).map(({ id }) => id);
    expect(ids[0]).toBe("own");
    expect(new Set(ids).size).toBe(3);
    expect(ids).not.toContain("");
  });
});
