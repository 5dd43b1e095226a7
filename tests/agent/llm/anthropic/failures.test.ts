import { describe, expect, test } from "vitest";
import { createAnthropicModel } from "../../../../src/agent/llm/anthropic/anthropic.ts";
import { readReply } from "../../../../src/agent/llm/anthropic/reply.ts";
import { heartbeat, ping } from "../../../../src/agent/llm/retry.ts";
import type { Image, Message } from "../../../../src/agent/messages.ts";
import type { ModelEvent } from "../../../../src/agent/model.ts";
import { type FakeReply, startFakeAnthropic } from "../../../fakes/anthropic.ts";
import { startWireServer } from "../../../fakes/wire.ts";
import { ask, call, closing, failure, limits, retry, says, setUp } from "./setup.ts";

describe("when the service fails", () => {
  const overloaded = { status: 529, type: "overloaded_error", message: "Overloaded" };

  test("it is asked again, and the last failure says how often", async () => {
    const { service, model } = await setUp([overloaded, overloaded, overloaded]);
    const { events, error } = await failure(model);
    expect(service.requests).toHaveLength(3);
    expect(events.map(({ type }) => type)).toEqual(["retry", "retry"]);
    expect(error).toMatchObject({
      kind: "transient",
      attempts: 3,
      detail: "Overloaded",
      message: "The model service is busy (HTTP 529) after 3 attempts; try again in a few minutes.",
    });
  });

  test("the wait that it asks for is announced", async () => {
    const limited = {
      status: 429,
      type: "rate_limit_error",
      message: "Slow down",
      headers: { "retry-after": "0.02" },
    };
    const { model } = await setUp([limited, { content: [{ type: "text", text: "Now." }] }]);
    const { events } = await call(model, ask([says("hi")]));
    expect(events[0]).toEqual({
      type: "retry",
      attempt: 2,
      delayMs: 20,
      reason: "The model service limits our requests (HTTP 429)",
    });
  });

  test.each([
    [{ status: 401, type: "authentication_error", message: "invalid x-api-key" }, "auth"],
    [{ status: 403, type: "permission_error", message: "not allowed" }, "auth"],
    [{ status: 402, type: "billing_error", message: "pay first" }, "quota"],
    [{ status: 400, type: "invalid_request_error", message: "Your credit balance is too low" }, "quota"],
    [
      { status: 400, type: "invalid_request_error", message: "prompt is too long: 2 tokens > 1 maximum" },
      "overflow",
    ],
    [{ status: 413, type: "request_too_large", message: "too large" }, "overflow"],
    [{ status: 404, type: "not_found_error", message: "model: x" }, "not-found"],
    [{ status: 400, type: "invalid_request_error", message: "messages: no" }, "invalid-request"],
  ] as const)("%j is of kind %s and is not asked again", async (reply, kind) => {
    const { service, model } = await setUp([reply]);
    const { error } = await failure(model);
    expect(service.requests).toHaveLength(1);
    expect(error).toMatchObject({ kind, attempts: 1, detail: reply.message });
  });

  test("a request that does not fit the window is an overflow", async () => {
    const service = await startFakeAnthropic({
      models: { tiny: { contextTokens: 50, maxOutputTokens: 10, adaptiveThinking: false } },
    });
    closing.push(() => service.close());
    const model = createAnthropicModel({
      model: "tiny",
      apiKey: "test-key",
      baseUrl: service.url,
      limits: { ...limits, maxOutputTokens: 10 },
    });
    expect((await failure(model, ask([says("x".repeat(1_000))]))).error).toMatchObject({ kind: "overflow" });
  });

  const png = (width: number, height: number): Image => {
    const head = Buffer.alloc(24);
    head.write("\x89PNG\r\n\x1a\n", "latin1");
    head.writeUInt32BE(width, 16);
    head.writeUInt32BE(height, 20);
    return { mediaType: "image/png", data: head.toString("base64") };
  };
  const yes = { content: [{ type: "text" as const, text: "Yes." }] };
  const imagesIn = (bodies: readonly { rawBody: string }[]) =>
    bodies.map(({ rawBody }) => [...rawBody.matchAll(/"data":"([^"]+)"/g)].map(([, data]) => data));

  test("an image that it names when it refuses one is left out from then on, and the others stay", async () => {
    const { service, model } = await setUp([yes, yes]);
    const broken: Image = { mediaType: "image/png", data: "AAA%" };
    const [good, other] = [png(10, 20), png(20, 10)];
    const seen: Message = {
      role: "tool",
      callId: "c1",
      name: "look",
      status: "ok",
      text: "",
      images: [broken],
    };
    const messages: Message[] = [
      { ...says("look"), images: [good] },
      {
        ...{ role: "assistant", id: "a1", model: "anthropic/m", stop: "tool-calls" },
        parts: [{ type: "tool-call", call: { id: "c1", name: "look", input: {} } }],
      },
      seen,
      { ...says("and this"), images: [other] },
    ];
    messages.push((await call(model, ask(messages))).message, says("and now?"));
    await call(model, ask(messages));
    const all = [good.data, broken.data, other.data];
    const kept = [good.data, other.data];
    expect(imagesIn(service.requests)).toEqual([all, kept, kept]);
    expect(service.requests[2]?.rawBody).toContain("(an image was left out: the model's service refused it)");
  });

  test("an image that is larger than it takes is not sent, and the model reads why", async () => {
    const { service, model } = await setUp([yes]);
    const good = png(8_000, 10);
    await call(model, ask([{ ...says("look"), images: [png(300, 9_000), good] }]));
    expect(imagesIn(service.requests)).toEqual([[good.data]]);
    expect(service.requests[0]?.rawBody).toContain(
      "it has 300 x 9000 pixels, and the model's service takes at",
    );
    // What it can do about it, and what people are to do where it can do nothing.
    expect(service.requests[0]?.rawBody).toMatch(/smaller copy.* tell the people so .*at most 8000 pixels/);
  });

  test("images that are larger than it says, among many, are left out", async () => {
    const message =
      "At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels";
    const { service, model } = await setUp([{ status: 400, type: "invalid_request_error", message }, yes]);
    const [small, large] = [png(2_000, 10), png(2_001, 10)];
    await call(model, ask([{ ...says("look"), images: [small, large] }]));
    expect(imagesIn(service.requests)).toEqual([[small.data, large.data], [small.data]]);
  });

  test("images that make a request too large are left out from then on", async () => {
    const { service, model } = await setUp([
      { status: 413, type: "request_too_large", message: "Request exceeds the maximum size" },
      { content: [{ type: "text", text: "Yes." }] },
    ]);
    const image = { mediaType: "image/png" as const, data: "AAAA" };
    await call(model, ask([{ ...says("look"), images: [image, image] }]));
    const sent = service.requests.map(({ rawBody }) => rawBody.split('"image/png"').length - 1);
    expect(sent).toEqual([2, 0]);
  });

  test("a tool whose schema it refuses is left out until that changes, and it is said once", async () => {
    const { service, model } = await setUp([yes, yes, yes]);
    const tool = (name: string, type: string) => ({
      ...{ name, description: name, optional: true as const },
      schema: { type: "object", properties: { x: { type } } },
    });
    const asks = (...tools: ReturnType<typeof tool>[]) => call(model, { ...ask([says("hi")]), tools });
    const first = await asks(tool("good", "string"), tool("crm", "any"));
    expect(first.events[0]).toMatchObject({ type: "retry", reason: expect.stringContaining("the tool crm") });
    expect((await asks(tool("good", "string"), tool("crm", "any"))).events[0]).not.toMatchObject({
      type: "retry",
    });
    await asks(tool("good", "string"), tool("crm", "string"));
    const sent = service.requests.map(({ rawBody }) => rawBody.includes('"crm"'));
    expect(sent).toEqual([true, false, false, true]);
  });

  test("a tool of ours that it refuses stays, and the refusal is told", async () => {
    const { service, model } = await setUp([{ content: [{ type: "text", text: "Yes." }] }]);
    const schema = { type: "object", properties: { x: { type: "any" } } };
    const own = { name: "read_file", description: "Reads a file.", schema };
    const { error } = await failure(model, { ...ask([says("hi")]), tools: [own] });
    expect(error).toMatchObject({ kind: "invalid-request", attempts: 1 });
    expect(service.requests.map(({ rawBody }) => rawBody.includes('"read_file"'))).toEqual([true]);
  });

  test("neither key, address nor body is in the message, and the key not in the detail", async () => {
    const key = "sk-ant-very-secret";
    const { service, model } = await setUp([], { apiKey: key });
    service.push({ status: 400, type: "invalid_request_error", message: `bad key ${key} in hello-body` });
    const { error } = await failure(model, ask([says("hello-body")]));
    expect(error).toMatchObject({
      message: "The model service refused the API key (HTTP 401); the administrator must check it.",
    });

    const echo = await startWireServer(() => ({
      type: "json",
      status: 400,
      body: { error: { type: "x", message: `bad ${key} at ${service.url}` } },
    }));
    closing.push(() => echo.close());
    const other = createAnthropicModel({ model: "m", apiKey: key, baseUrl: echo.url, limits });
    const refused = await failure(other);
    expect(JSON.stringify(refused.error)).not.toContain(key);
    expect(String(refused.error)).not.toContain(echo.url);
    expect(refused.error).toMatchObject({ detail: `bad [key] at ${service.url}` });
  });

  test.each(["cut", "end"] as const)("an answer that breaks off (%s) is asked for again", async (how) => {
    const content = [{ type: "text" as const, text: "Hello, this is a long answer." }];
    const { service, model } = await setUp([{ content, breaks: { after: 4, how } }, { content }]);
    const { events, message } = await call(model, ask([says("hi")]));
    expect(service.requests).toHaveLength(2);
    expect(events.map(({ type }) => type)).toContain("retry");
    expect(message.parts).toEqual(content);
  });

  test("an error in mid-stream is asked again when it may pass, and not when it stays", async () => {
    const content = [{ type: "text" as const, text: "Hello." }];
    const broken = (type: string): FakeReply => ({
      content,
      breaks: { after: 4, how: { type, message: "Sorry" } },
    });
    const { service, model } = await setUp([broken("overloaded_error"), broken("permission_error")]);
    const { events, error } = await failure(model);
    expect(service.requests).toHaveLength(2);
    expect(events).toContainEqual(
      expect.objectContaining({ type: "retry", reason: "The model service is busy (HTTP 529)" }),
    );
    expect(error).toMatchObject({ kind: "auth", attempts: 2, detail: "Sorry" });
  });

  test("an answer that stalls is given up, the request with it, and asked for again", async () => {
    const content = [{ type: "text" as const, text: "Hello." }];
    let replies = 0;
    const reply = (): FakeReply =>
      replies++ === 0 ? { content, breaks: { after: 4, how: "stall" } } : { content };
    // A busy machine may be silent for so long by itself.
    const { service, model } = await setUp(reply, { retry: { ...retry, idleMs: 300, maxRetries: 20 } });
    const { events, message } = await call(model, ask([says("hi")]));
    expect(events.find(({ type }) => type === "retry")).toMatchObject({
      reason: "The model service sent nothing for 0.3 s",
    });
    await service.requests[0]?.aborted;
    expect(message.parts).toEqual(content);
  });

  test("pings and tool arguments show nothing, and are signs of life all the same", async () => {
    const delta = { type: "input_json_delta", partial_json: "{" };
    const events = [
      { type: "ping" },
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "tool_use", id: "c", name: "bash", input: {} },
      },
      { type: "content_block_delta", index: 0, delta },
      { type: "something_new" },
    ];
    async function* data(): AsyncGenerator<string> {
      for (const event of events) yield JSON.stringify(event);
    }
    const shown: ModelEvent[] = [];
    for await (const event of readReply(data())) shown.push(event);
    expect(shown).toEqual(events.map(() => heartbeat));
    expect(shown.map((event) => event === ping)).toEqual([true, false, false, false]);
  });

  test("nobody answering is a transient failure that names no address", async () => {
    const gone = await startWireServer(() => ({ type: "json", status: 200, body: {} }));
    await gone.close();
    const model = createAnthropicModel({ model: "m", apiKey: "k", baseUrl: gone.url, limits, retry });
    const { error } = await failure(model);
    expect(error).toMatchObject({
      kind: "transient",
      attempts: 3,
      message:
        "The connection to the model service failed (ECONNREFUSED) after 3 attempts; try again in a few minutes.",
    });
  });

  test("an address that speaks something else is named as the fault", async () => {
    const website = await startWireServer(() => ({ type: "json", status: 200, body: { hello: "world" } }));
    closing.push(() => website.close());
    const model = createAnthropicModel({ model: "m", apiKey: "k", baseUrl: website.url, limits, retry });
    expect((await failure(model)).error).toMatchObject({
      kind: "elsewhere",
      attempts: 1,
      message: expect.stringContaining("base URL"),
    });
  });

  test("events that are not the protocol are a transient failure", async () => {
    const odd = await startWireServer(() => ({
      type: "stream",
      events: [{ event: "x", data: '{"type":"content_block_delta"}' }],
    }));
    closing.push(() => odd.close());
    const model = createAnthropicModel({ model: "m", apiKey: "k", baseUrl: odd.url, limits, retry });
    expect((await failure(model)).error).toMatchObject({ kind: "transient", attempts: 3 });
  });

  test("the SDK makes no retries of its own", async () => {
    const { service, model } = await setUp([overloaded], { retry: { ...retry, maxRetries: 0 } });
    expect((await failure(model)).error).toMatchObject({ attempts: 1 });
    expect(service.requests).toHaveLength(1);
  });
});

describe("an abort", () => {
  test("in mid-stream closes the connection and rethrows its reason", async () => {
    const content = [{ type: "text" as const, text: "Hello, this is a long answer." }];
    const { service, model } = await setUp([{ content, breaks: { after: 4, how: "stall" } }]);
    const stop = new AbortController();
    const reason = { kind: "stop" };
    const streaming = (async () => {
      for await (const event of model.stream(ask([says("hi")]), stop.signal)) {
        if (event.type === "text") stop.abort(reason);
      }
    })();
    await expect(streaming).rejects.toBe(reason);
    await service.requests[0]?.aborted;
    expect(service.requests).toHaveLength(1);
  });

  test("before the answer begins closes the connection, too", async () => {
    const { service, model } = await setUp(() => new Promise(() => {}));
    const stop = new AbortController();
    const streaming = call(model, ask([says("hi")]), stop.signal);
    const request = await service.request(1);
    stop.abort("stopped");
    await expect(streaming).rejects.toBe("stopped");
    await request.aborted;
  });
});

describe("headers", () => {
  test("a compatible service gets the version that it knows, and the key in both headers", async () => {
    const { service, model } = await setUp([{ content: [{ type: "text", text: "Hi." }] }]);
    await call(model, ask([says("hi")]));
    expect(service.requests[0]?.headers).toMatchObject({
      "x-api-key": "test-key",
      authorization: "Bearer test-key",
      "anthropic-version": "2023-06-01",
    });
  });

  test("Anthropic's own service gets what the SDK sends, and MiniMax its own path", async () => {
    const { service } = await setUp();
    const asked: string[] = [];
    const redirected: typeof fetch = async (input, init) => {
      asked.push(input instanceof Request ? input.url : input.toString());
      return await fetch(new URL("/v1/messages", service.url), init);
    };
    for (const baseUrl of [undefined, "https://api.minimax.io/v1"]) {
      service.push({ content: [{ type: "text", text: "Hi." }] });
      const model = createAnthropicModel({
        model: "claude-sonnet-5-5",
        apiKey: "test-key",
        baseUrl,
        limits,
        fetch: redirected,
      });
      await call(model, ask([says("hi")]));
    }
    expect(asked).toEqual([
      "https://api.anthropic.com/v1/messages",
      "https://api.minimax.io/anthropic/v1/messages",
    ]);
    const [own, miniMax] = service.requests;
    expect(own?.headers).toMatchObject({
      authorization: "Bearer test-key",
      "anthropic-version": "2026-10-21",
    });
    expect(own?.headers["x-api-key"]).toBeUndefined();
    expect(miniMax?.headers).toMatchObject({ "x-api-key": "test-key", "anthropic-version": "2023-06-01" });
  });
});
