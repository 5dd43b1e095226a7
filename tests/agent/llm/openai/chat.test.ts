import { describe, expect, onTestFinished, test, vi } from "vitest";
import { withUniqueCallIds } from "../../../../src/agent/loop/calls/unique-call-ids.ts";
import { type Message, textOf, toolCalls } from "../../../../src/agent/messages.ts";
import type { FakeAnswer } from "../../../fakes/openai.ts";
import { answered, ask, called, chunks, fake, limits, model, redirectedTo, user } from "./run.ts";

describe("the request", () => {
  test("goes to a compatible server with what every one of them knows", async () => {
    const server = await fake({ replies: [{ text: "hi" }] });
    await ask(model("chat", server), [user("hello")], { maxOutputTokens: 50 });
    expect(server.requests[0]?.body).toEqual({
      model: "m-1",
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 50,
      tools: expect.arrayContaining([]),
      tool_choice: "auto",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "[Ada] hello" },
      ],
    });
  });

  test("goes to OpenAI with the new name of the output limit, and to nobody who only looks like it", async () => {
    const server = await fake({ dialect: "openai", replies: [{ text: "hi" }] });
    const own = model("chat", server, { baseUrl: "https://api.openai.com/v1/", fetch: redirectedTo(server) });
    await ask(own, [user("hello")]);
    expect(server.chats[0]).toMatchObject({ max_completion_tokens: limits.maxOutputTokens });

    const other = await fake({ replies: [{ text: "hi" }] });
    const alike = { baseUrl: "https://api.openai.com.example.org/v1", fetch: redirectedTo(other) };
    await ask(model("chat", other, alike), [user("hello")]);
    expect(other.chats[0]).toMatchObject({ max_tokens: limits.maxOutputTokens });
  });

  test("asks MiniMax, and only MiniMax, to split off the thinking", async () => {
    const server = await fake({ dialect: "minimax", replies: [{ text: "hi" }] });
    const minimax = { baseUrl: "https://api.minimax.io", provider: "minimax", fetch: redirectedTo(server) };
    const { message } = await ask(model("chat", server, minimax), [user("hello")]);
    expect(message.model).toBe("minimax/m-1");
    expect(server.chats[0]).toMatchObject({ reasoning_split: true });
    expect(server.requests[0]?.path).toBe("/v1/chat/completions");

    const other = await fake({ replies: [{ text: "hi" }] });
    const alike = { baseUrl: "https://api.minimax.io.example.org/v1", fetch: redirectedTo(other) };
    await ask(model("chat", other, alike), [user("hello")]);
    expect(other.chats).toHaveLength(1);
  });

  test("carries nothing of the environment to the service", async () => {
    const server = await fake({ replies: [{ text: "hi" }] });
    onTestFinished(() => void vi.unstubAllEnvs());
    for (const name of ["OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"])
      vi.stubEnv(name, "from-env");
    await ask(model("chat", server), [user("hello")]);
    expect(JSON.stringify(server.requests[0]?.headers)).not.toContain("from-env");
  });

  test("without tools names neither tools nor a choice", async () => {
    const server = await fake({ replies: [{ text: "hi" }] });
    await ask(model("chat", server), [user("hello")], { tools: [], toolChoice: "none" });
    expect(server.requests[0]?.body).not.toHaveProperty("tools");
    expect(server.requests[0]?.body).not.toHaveProperty("tool_choice");
  });

  test("is the beginning of the next one, but for its end", async () => {
    const server = await fake({ replies: [{ thinking: "t", calls: [{ name: "bash" }] }, { text: "done" }] });
    const m = model("chat", server);
    const first = await ask(m, [user("go")]);
    await ask(m, [user("go"), ...answered(first.message)]);
    const [a = "", b = ""] = server.requests.map(({ rawBody }) => rawBody);
    expect(b.startsWith(a.slice(0, -"]}".length))).toBe(true);
  });

  test("shows images to a model that sees, those of tools after the last result of their step", async () => {
    const image = { mediaType: "image/png" as const, data: "iVBORw0KGgo=" };
    const server = await fake({
      replies: [{ calls: [{ name: "bash" }, { name: "read_file" }] }, { text: "seen" }],
    });
    const m = model("chat", server);
    const question: Message = {
      role: "user",
      id: "1",
      author: { id: "U1", name: "Ada" },
      text: "look",
      images: [image],
      at: 0,
    };
    const first = await ask(m, [question]);
    const results = answered(first.message).map((message) =>
      message.role === "tool" && message.name === "bash" ? { ...message, images: [image] } : message,
    );
    await ask(m, [question, ...results, user("well?")]);
    const part = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
    expect(server.chats[1]?.messages.slice(1)).toMatchObject([
      { role: "user", content: [{ type: "text", text: "[Ada] look" }, part] },
      { role: "assistant" },
      { role: "tool", content: "ran bash" },
      { role: "tool", content: "ran read_file" },
      { role: "user", content: [{ type: "text", text: "From the result of bash:" }, part] },
      { role: "user", content: "[Ada] well?" },
    ]);
  });

  test("tells a model without eyes that there was an image", async () => {
    const image = { mediaType: "image/png" as const, data: "iVBORw0KGgo=" };
    const server = await fake({ replies: [{ text: "?" }] });
    const question: Message = {
      role: "user",
      id: "1",
      author: { id: "U1", name: "Ada" },
      text: "look",
      images: [image],
      at: 0,
    };
    await ask(model("chat", server, { limits: { ...limits, images: false } }), [question]);
    expect(server.requests[0]?.rawBody).not.toContain("iVBOR");
    expect(server.chats[0]?.messages[1]?.content).toContain("cannot see images");
  });

  test("gives a summary as tagged text", async () => {
    const server = await fake({ replies: [{ text: "ok" }] });
    await ask(model("chat", server), [{ role: "summary", text: "they built a boat" }, user("and now?")]);
    expect(server.chats[0]?.messages[1]).toEqual({
      role: "user",
      content: '<summary of="earlier conversation">\nthey built a boat\n</summary>',
    });
  });

  test.each<[string, Message[]]>([
    [
      "a call without its result",
      [
        {
          role: "assistant",
          id: "a",
          model: "x/y",
          stop: "tool-calls",
          parts: [{ type: "tool-call", call: { id: "c1", name: "bash", input: {} } }],
        },
      ],
    ],
    ["a result without its call", [{ role: "tool", callId: "c1", name: "bash", status: "ok", text: "" }]],
  ])("with %s is never sent", async (_case, history) => {
    const server = await fake();
    await expect(ask(model("chat", server), [user("x"), ...history])).rejects.toThrow(
      /^The history has a tool .* c1\.$/,
    );
    await expect(ask(model("responses", server), [user("x"), ...history])).rejects.toThrow(/c1/);
    expect(server.requests).toHaveLength(0);
  });
});

describe("the reply", () => {
  test("is streamed, and its usage is counted with its cost", async () => {
    const usage = { input: 1_000, cached: 600, written: 100, output: 50 };
    const server = await fake({ replies: [{ text: "Hello, dear people.", usage }] });
    const said = await ask(model("chat", server), [user("hi")]);
    expect(said.text).toBe("Hello, dear people.");
    expect(said.message).toMatchObject({
      model: "openai/m-1",
      stop: "end",
      parts: [{ type: "text", text: said.text }],
    });
    expect(said.usage).toEqual({
      input: 300,
      cacheRead: 600,
      cacheWrite: 100,
      output: 50,
      calls: 1,
      cost: (300 + 60 + 200 + 500) / 1e6,
    });
  });

  test.each<[FakeAnswer["stop"], string]>([
    ["stop", "end"],
    ["length", "max-tokens"],
    ["content_filter", "refusal"],
  ])("that ends with %s stops as %s", async (stop, expected) => {
    const server = await fake({ replies: [{ text: "so", ...(stop && { stop }) }] });
    expect((await ask(model("chat", server), [user("x")])).message.stop).toBe(expected);
  });

  /** Events of the answer "42": its role, the text, why it ended, and its usage. */
  const [withoutUsage, withUsage] = [3, 4];

  test.each<[string, string, NonNullable<FakeAnswer["breaks"]>]>([
    ["its usage", "stays open", { after: withUsage, how: "stall" }],
    ["its end", "stays open", { after: withoutUsage, how: "stall" }],
    ["its usage", "breaks", { after: withUsage, how: "cut" }],
    ["its end", "breaks", { after: withoutUsage, how: "cut" }],
  ])("is complete with %s, although the stream %s there", async (_end, _how, breaks) => {
    const usage = { input: 20, output: 10 };
    const server = await fake({ replies: [{ text: "42", usage, breaks }] });
    const said = await ask(model("chat", server), [user("x")]);
    expect(said.retries).toEqual([]);
    expect(textOf(said.message)).toBe("42");
    expect(said.usage).toMatchObject(breaks.after === withUsage ? usage : { input: 0, output: 0 });
  });

  test("whose service reports an error after its end is none", async () => {
    const how = { code: "server_error", message: "oops" };
    const server = await fake({
      replies: [{ text: "42", breaks: { after: withoutUsage, how } }, { text: "43" }],
    });
    const said = await ask(model("chat", server), [user("x")]);
    expect([textOf(said.message), said.retries.length]).toEqual(["43", 1]);
  });

  test("that declines is a refusal with its words", async () => {
    const server = await fake({ replies: [{ refusal: "I will not." }] });
    const { message, text } = await ask(model("chat", server), [user("x")]);
    expect([message.stop, textOf(message), text]).toEqual(["refusal", "I will not.", "I will not."]);
  });

  test("with calls keeps their order, ids and arguments", async () => {
    const calls = [
      { id: "functions.bash:0", name: "bash", input: { command: 'echo "ü\n"' } },
      { id: "call_2", name: "read_file", input: { path: "a" } },
    ];
    const server = await fake({ replies: [{ text: "I look.", calls, deltaSize: 1 }] });
    const { message } = await ask(model("chat", server), [user("x")]);
    expect(message.stop).toBe("tool-calls");
    expect(toolCalls(message)).toEqual(calls);
  });

  test("whose arguments are no JSON object is malformed, and goes back as an empty object", async () => {
    const calls = [
      { name: "bash", json: '{"command": ' },
      { name: "bash", json: '["ls"]' },
      { name: "bash", json: "" },
    ];
    const server = await fake({ replies: [{ calls }, { text: "ok" }] });
    const m = model("chat", server);
    const { message } = await ask(m, [user("x")]);
    expect(toolCalls(message)).toMatchObject([
      { input: {}, malformed: '{"command": ' },
      { input: {}, malformed: '["ls"]' },
      { input: {} },
    ]);
    await ask(m, [user("x"), ...answered(message)]);
    expect(server.chats[1]?.messages[2]).toMatchObject({
      tool_calls: calls.map(() => ({ function: { arguments: "{}" } })),
    });
  });

  test("that was cut within a call keeps it as malformed, and before its arguments leaves it out", async () => {
    const server = await fake({
      replies: [
        { calls: [{ name: "bash", json: '{"comm' }], stop: "length" },
        { text: "x", calls: [{ name: "bash", json: "" }], stop: "length" },
      ],
    });
    const m = model("chat", server);
    expect(toolCalls((await ask(m, [user("x")])).message)).toMatchObject([{ malformed: '{"comm' }]);
    const { message } = await ask(m, [user("x")]);
    expect([toolCalls(message), message.stop]).toEqual([[], "max-tokens"]);
  });

  test("of a model that calls although it must not has no calls", async () => {
    const server = await fake({ replies: [{ text: "Summary.", calls: [{ name: "bash" }] }] });
    const { message } = await ask(model("chat", server), [user("x")], { toolChoice: "none" });
    expect([textOf(message), toolCalls(message)]).toEqual(["Summary.", []]);
  });

  test("that calls a name nobody may send goes back with a legal one", async () => {
    const server = await fake({
      replies: [{ calls: [{ name: "functions.bash<|x|>" }, { name: "" }] }, { text: "ok" }],
    });
    const m = model("chat", server);
    const { message } = await ask(m, [user("x")]);
    expect(toolCalls(message).map(({ name }) => name)).toEqual(["functions.bash<|x|>", ""]);
    await ask(m, [user("x"), ...answered(message)]);
    expect(server.chats).toHaveLength(2);
  });

  test.each<[string, FakeAnswer]>([
    ["nothing", {}],
    ["white space", { text: " \n" }],
    ["an empty thought", { thinking: "", text: "" }],
  ])("of %s has no parts", async (_case, answer) => {
    const server = await fake({ replies: [answer] });
    expect((await ask(model("chat", server), [user("x")])).message.parts).toEqual([]);
  });
});

describe("servers with their own ways", () => {
  test.each<[string, object[]]>([
    ["send whole calls without index or id", [called("bash", '{"a":1}'), called("read_file", "{}")]],
    [
      "send all calls in one chunk",
      [{ tool_calls: [...called("bash", '{"a":1}').tool_calls, ...called("read_file", "{}").tool_calls] }],
    ],
    [
      "number every call 0",
      [called("bash", '{"a":1}', { index: 0, id: "a" }), called("read_file", "{}", { index: 0, id: "b" })],
    ],
    [
      "send arguments as objects",
      [
        { tool_calls: [{ index: 0, id: "a", function: { name: "bash", arguments: { a: 1 } } }] },
        called("read_file", "", { index: 1, id: "b" }),
      ],
    ],
    [
      "repeat id and name in every piece",
      [
        called("bash", '{"a"', { index: 0, id: "a" }),
        called("bash", ":1}", { index: 0, id: "a" }),
        called("read_file", "null", { index: 1, id: "b" }),
      ],
    ],
    [
      "leave the index out after the first piece",
      [
        called("bash", '{"a"', { id: "a" }),
        { tool_calls: [{ function: { arguments: ":1}" } }] },
        called("read_file", "{}", { id: "b" }),
      ],
    ],
  ])("%s", async (_case, deltas) => {
    const server = await fake({ replies: [chunks(...deltas), { text: "ok" }] });
    const m = model("chat", server);
    const { message } = await ask(m, [user("x")]);
    expect(message.stop).toBe("tool-calls");
    expect(toolCalls(message)).toMatchObject([
      { name: "bash", input: { a: 1 } },
      { name: "read_file", input: {} },
    ]);
    expect(textOf((await ask(m, [user("x"), ...answered(message)])).message)).toBe("ok");
  });

  test("that give out no ids, or one that they have used before, are taken back with ids of their own", async () => {
    const reply = { calls: [{ id: "call_0", name: "bash" }] };
    const withoutIds = chunks(...[0, 1].map((index) => called("bash", "{}", { index })));
    const server = await fake({ replies: [reply, reply, withoutIds, { text: "ok" }] });
    const m = model("chat", server);
    const history: Message[] = [user("x")];
    for (let step = 0; step < 3; step += 1) {
      const { message } = await ask(m, history);
      history.push(...answered(withUniqueCallIds(message, history)));
    }
    const ids = history.flatMap((message) =>
      message.role === "assistant" ? toolCalls(message).map(({ id }) => id) : [],
    );
    expect(ids[0]).toBe("call_0");
    expect(new Set(ids).size).toBe(4);
    expect(textOf((await ask(m, history)).message)).toBe("ok");
  });

  test.each([
    [400, "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."],
    // llama.cpp, of the model's template.
    [500, "Tool call IDs should be alphanumeric strings with length 9!"],
  ])("that take ids of Mistral's form only get others in that form (HTTP %d)", async (status, message) => {
    const before = await fake({ replies: [{ calls: [{ name: "bash" }, { name: "read_file" }] }] });
    const foreign = await ask(model("chat", before, { model: "old" }), [user("x")]);
    const server = await fake({
      replies: [
        { status, type: "invalid_request_error", message },
        { calls: [{ id: "aB3dE6gH9", name: "bash" }] },
        { text: "done" },
      ],
    });
    const m = model("chat", server);
    const messages = [user("x"), ...answered(foreign.message)];
    messages.push(...answered((await ask(m, messages)).message));
    expect(textOf((await ask(m, messages)).message)).toBe("done");
    const sent = server.chats.at(-1)?.messages ?? [];
    const calls = sent.flatMap((one) => (one.role === "assistant" ? (one.tool_calls ?? []) : []));
    expect(calls.at(-1)?.id).toBe("aB3dE6gH9");
    expect(calls.filter(({ id }) => !/^[a-zA-Z0-9]{9}$/.test(id))).toEqual([]);
    expect(sent.flatMap((one) => (one.role === "tool" ? one.tool_call_id : []))).toEqual(
      calls.map(({ id }) => id),
    );
    // One refusal has taught it.
    expect(server.requests).toHaveLength(3);
  });

  test("that want people and model to speak in turn get it so", async () => {
    const server = await fake({
      dialect: "devstral",
      replies: [{ calls: [{ id: "c1", name: "read_file" }] }, { text: "done" }, { text: "again" }],
    });
    const m = model("chat", server);
    const messages = [user("x"), user("y")];
    const [reply, result] = answered((await ask(m, messages)).message);
    if (!reply || result?.role !== "tool") throw new Error("no call");
    const images = [{ mediaType: "image/png" as const, data: "aGk=" }];
    messages.push(reply, { ...result, images }, user("z"));
    const { message } = await ask(m, messages);
    expect(textOf(message)).toBe("done");
    expect(textOf((await ask(m, [...messages, message, user("q")])).message)).toBe("again");
    const sent = server.chats.at(-1)?.messages.slice(1) ?? [];
    expect(sent.map(({ role }) => role).join(" ")).toBe("user assistant tool assistant user assistant user");
    expect(sent[0]?.content).toBe("[Ada] x\n\n[Ada] y");
    expect(JSON.stringify(sent[4]?.content)).toMatch(/From the result.*image_url.*\[Ada\] z/);
    // One refusal has taught it.
    expect(server.requests).toHaveLength(4);
  });

  test("that give two calls one id are understood by their indexes", async () => {
    const deltas = [
      called("bash", '{"a"', { index: 0, id: "a" }),
      called("read_file", '{"b"', { index: 1, id: "a" }),
      { tool_calls: [{ index: 0, function: { arguments: ":1}" } }] },
      { tool_calls: [{ index: 1, id: "a", function: { arguments: ":2}" } }] },
    ];
    const server = await fake({ replies: [chunks(...deltas), { text: "ok" }] });
    const m = model("chat", server);
    const message = withUniqueCallIds((await ask(m, [user("x")])).message, []);
    expect(toolCalls(message)).toMatchObject([
      { name: "bash", input: { a: 1 } },
      { name: "read_file", input: { b: 2 } },
    ]);
    expect(textOf((await ask(m, [user("x"), ...answered(message)])).message)).toBe("ok");
  });

  test("that report no usage cost nothing", async () => {
    const server = await fake({ replies: [chunks({ content: "hi" })] });
    expect((await ask(model("chat", server), [user("x")])).usage).toMatchObject({
      input: 0,
      output: 0,
      cost: 0,
      calls: 1,
    });
  });
});
