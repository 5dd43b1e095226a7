import { describe, expect, test } from "vitest";
import { withUniqueCallIds } from "../../../../src/agent/loop/calls/unique-call-ids.ts";
import { type Message, textOf, toolCalls } from "../../../../src/agent/messages.ts";
import type { FakeAnswer } from "../../../fakes/openai.ts";
import { answered, ask, fake, limits, model, user } from "./run.ts";

describe("the request", () => {
  test("stores nothing at the service and asks for the encrypted reasoning", async () => {
    const server = await fake({ replies: [{ text: "hi" }] });
    await ask(model("responses", server), [{ role: "summary", text: "a boat" }, user("hello")], {
      maxOutputTokens: 50,
    });
    expect(server.requests[0]?.body).toEqual({
      model: "m-1",
      stream: true,
      store: false,
      include: ["reasoning.encrypted_content"],
      max_output_tokens: 50,
      instructions: "Be brief.",
      prompt_cache_key: expect.stringMatching(/^[0-9a-f]{32}$/),
      tools: [
        expect.objectContaining({ type: "function", name: "bash", strict: false }),
        expect.objectContaining({ name: "read_file" }),
      ],
      tool_choice: "auto",
      input: [
        { role: "user", content: '<summary of="earlier conversation">\na boat\n</summary>' },
        { role: "user", content: "[Ada] hello" },
      ],
    });
  });

  test.each(["gpt-4.1", "gpt-4o-mini", "gpt-5-chat-latest"])(
    "asks %s for no reasoning, as it has none",
    async (name) => {
      const server = await fake({ replies: [{ text: "hi" }] });
      await ask(model("responses", server, { model: name }), [user("hello")]);
      expect(server.requests[0]?.body).not.toHaveProperty("include");
    },
  );

  test("is the beginning of the next one, but for its end", async () => {
    const server = await fake({ replies: [{ thinking: "t", calls: [{ name: "bash" }] }, { text: "done" }] });
    const m = model("responses", server);
    const first = await ask(m, [user("go")]);
    await ask(m, [user("go"), ...answered(first.message)]);
    const [a = "", b = ""] = server.requests.map(({ rawBody }) => rawBody);
    expect(b.startsWith(a.slice(0, -"]}".length))).toBe(true);
  });

  test("shows a result's images within the result, and to a model without eyes that there were some", async () => {
    const image = { mediaType: "image/webp" as const, data: "UklGRg==" };
    const call = { type: "tool-call" as const, call: { id: "c1", name: "bash", input: {} } };
    const history: Message[] = [
      user("look"),
      { role: "assistant", id: "a", model: "x/y", stop: "tool-calls", parts: [call] },
      { role: "tool", callId: "c1", name: "bash", status: "ok", text: "", images: [image] },
    ];
    const server = await fake({ replies: [{ text: "a" }, { text: "b" }] });
    await ask(model("responses", server), history);
    await ask(model("responses", server, { limits: { ...limits, images: false } }), history);
    expect(server.responses.map(({ input }) => input.at(-1))).toMatchObject([
      { output: [{ text: "(no output)" }, { image_url: "data:image/webp;base64,UklGRg==" }] },
      { output: expect.stringContaining("cannot see images") },
    ]);
  });
});

describe("the reply", () => {
  test("is streamed, and its usage is counted with its cost", async () => {
    const usage = { input: 1_000, cached: 600, written: 100, output: 50 };
    const server = await fake({ replies: [{ thinking: "Hm, hm, hm.", text: "Hello, dear people.", usage }] });
    const said = await ask(model("responses", server), [user("hi")]);
    expect([said.thinking, said.text, textOf(said.message)]).toEqual([
      "Hm, hm, hm.",
      "Hello, dear people.",
      said.text,
    ]);
    expect(said.message.stop).toBe("end");
    expect(said.usage).toMatchObject({ input: 300, cacheRead: 600, cacheWrite: 100, output: 50, calls: 1 });
    expect(said.usage.cost).toBeCloseTo(0.00106, 10);
  });

  test("goes back item by item, in order and to the byte", async () => {
    const reply = {
      thinking: "I look 🙂",
      text: "Looking.",
      calls: [{ name: "bash", input: { command: "ls" } }, { name: "read_file" }],
    };
    const server = await fake({
      replies: [reply, { thinking: "", calls: [{ name: "bash" }] }, { text: "done" }],
    });
    const m = model("responses", server);
    const messages = [user("x")];
    for (let step = 0; step < 3; step += 1) messages.push(...answered((await ask(m, messages)).message));
    expect(server.responses[2]?.input).toMatchObject([
      { role: "user" },
      { type: "reasoning", summary: [{ text: "I look 🙂" }] },
      { type: "message", phase: "commentary" },
      { type: "function_call", name: "bash", arguments: '{"command":"ls"}' },
      { type: "function_call", name: "read_file" },
      { type: "function_call_output", output: "ran bash" },
      { type: "function_call_output", output: "ran read_file" },
      { type: "reasoning", summary: [] },
      { type: "function_call", name: "bash" },
      { type: "function_call_output" },
    ]);
  });

  test("of two messages is two paragraphs", async () => {
    const message = (index: number, text: string) => [
      { type: "response.output_text.delta", output_index: index, delta: text },
      {
        type: "response.output_item.done",
        output_index: index,
        item: { type: "message", content: [{ type: "output_text", text }] },
      },
    ];
    const end = { type: "response.completed", response: { output: [] } };
    const server = await fake({ replies: [{ chunks: [...message(0, "One."), ...message(1, "Two."), end] }] });
    const said = await ask(model("responses", server), [user("x")]);
    expect([said.text, textOf(said.message)]).toEqual(["One.\n\nTwo.", "One.\n\nTwo."]);
  });

  test("that a server only tells at its end is understood", async () => {
    const item = { type: "message", content: [{ type: "output_text", text: "late" }] };
    const server = await fake({
      replies: [{ chunks: [{ type: "response.completed", response: { output: [item] } }] }],
    });
    expect(textOf((await ask(model("responses", server), [user("x")])).message)).toBe("late");
  });

  test.each<[FakeAnswer, string]>([
    [{ text: "so", stop: "length" }, "max-tokens"],
    [{ text: "so", stop: "content_filter" }, "refusal"],
    [{ refusal: "no" }, "refusal"],
    [{ calls: [{ name: "bash" }] }, "tool-calls"],
  ])("to %j stops as %s", async (answer, expected) => {
    const server = await fake({ replies: [answer] });
    expect((await ask(model("responses", server), [user("x")])).message.stop).toBe(expected);
  });

  test("with broken arguments, an illegal name or an id used before goes back with that changed and nothing else", async () => {
    const calls = [
      { id: "c0", name: "a.b", json: '{"x": ' },
      { id: "c0", name: "bash", json: '{ "a" : 1 }' },
    ];
    const server = await fake({ replies: [{ thinking: "t", calls }, { text: "ok" }] });
    const m = model("responses", server);
    const message = withUniqueCallIds((await ask(m, [user("x")])).message, []);
    expect(toolCalls(message)).toMatchObject([
      { id: "c0", name: "a.b", malformed: '{"x": ' },
      { name: "bash", input: { a: 1 } },
    ]);
    await ask(m, [user("x"), ...answered(message)]);
    expect(server.responses[1]?.input.slice(2, 4)).toMatchObject([
      {
        id: expect.stringContaining("fc_"),
        call_id: "c0",
        name: "a_b",
        arguments: "{}",
        status: "completed",
      },
      { call_id: toolCalls(message)[1]?.id, arguments: '{ "a" : 1 }' },
    ]);
  });

  test("whose call has a long id, or its arguments as a text, goes back with one that is legal", async () => {
    const id = `call_${"x".repeat(100)}`;
    const calls = [{ id, name: "bash", json: JSON.stringify('{"a":1}') }];
    const server = await fake({ replies: [{ calls }, { text: "ok" }] });
    const m = model("responses", server);
    const { message } = await ask(m, [user("x")]);
    expect(toolCalls(message)).toMatchObject([{ id, input: { a: 1 } }]);
    await ask(m, [user("x"), ...answered(message)]);
    const [call, output] = server.responses[1]?.input.slice(-2) ?? [];
    expect(call).toMatchObject({ type: "function_call", arguments: '{"a":1}' });
    expect(output).toMatchObject({ type: "function_call_output" });
    const ids = [call, output].map((item) => (item && "call_id" in item ? item.call_id : ""));
    expect(ids[0]).toMatch(/^[\w-]{1,64}$/);
    expect(ids[1]).toBe(ids[0]);
  });

  test("keeps items that nobody asked for, to send them back", async () => {
    const odd = { type: "server_whim", id: "w1", mood: { blue: true } };
    const item = { type: "message", content: [{ type: "output_text", text: "hi" }] };
    const server = await fake({
      replies: [{ chunks: [{ type: "response.completed", response: { output: [odd, item] } }] }],
    });
    const { message } = await ask(model("responses", server), [user("x")]);
    expect(message.parts).toMatchObject([{ raw: odd }, { raw: item }, { type: "text", text: "hi" }]);
  });

  test("that failed says why", async () => {
    const failures = [
      { type: "response.failed", response: { error: { code: "server_error", message: "oops" } } },
      { type: "error", code: "rate_limit_exceeded", message: "slow down" },
    ];
    const server = await fake({
      replies: [...failures.map((event) => ({ chunks: [event] })), { text: "ok" }],
    });
    const said = await ask(model("responses", server), [user("x")]);
    const [first, second] = said.retries.map(({ reason }) => reason);
    expect([first, second]).toEqual([
      expect.stringContaining("HTTP 500"),
      expect.stringContaining("HTTP 429"),
    ]);
  });

  test("that is only hidden reasoning has no parts, and a cut thought does not go back", async () => {
    const server = await fake({
      replies: [{ thinking: "" }, { thinking: "Let me", stop: "length" }, { text: "ok" }],
    });
    const m = model("responses", server);
    expect((await ask(m, [user("x")])).message.parts).toEqual([]);
    const cut = await ask(m, [user("x")]);
    expect(cut.message.parts).toMatchObject([{ type: "thinking", text: "Let me" }]);
    await ask(m, [user("x"), cut.message, user("go on")]);
    expect(server.responses[2]?.input).toHaveLength(2);
  });

  test("of another model goes on as plain text and calls", async () => {
    const server = await fake({
      replies: [{ thinking: "t", text: "I do.", calls: [{ id: "c1", name: "bash" }] }, { text: "ok" }],
    });
    const { message } = await ask(model("responses", server, { model: "old" }), [user("x")]);
    await ask(model("responses", server), [user("x"), ...answered(message)]);
    expect(server.responses[1]?.input.slice(1)).toEqual([
      { role: "assistant", content: "I do." },
      { type: "function_call", call_id: "c1", name: "bash", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "ran bash" },
    ]);
  });

  test("whose encrypted reasoning is refused once is never sent again", async () => {
    const server = await fake({
      replies: [{ thinking: "t", calls: [{ name: "bash" }] }, { text: "one" }, { text: "two" }],
    });
    const m = model("responses", server);
    const { message } = await ask(m, [user("x")]);
    server.forgetKeys();
    const history = [user("x"), ...answered(message)];
    expect(textOf((await ask(m, history)).message)).toBe("one");
    expect(textOf((await ask(m, [...history, user("y")])).message)).toBe("two");
    expect(server.requests).toHaveLength(4);
  });
});
