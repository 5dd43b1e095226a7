import { describe, expect, test } from "vitest";
import { chatChunk, ChatReply } from "../../../../src/agent/llm/openai/chat-reply.ts";
import { readResponse } from "../../../../src/agent/llm/openai/responses-reply.ts";
import { ping } from "../../../../src/agent/llm/retry.ts";
import { ModelError } from "../../../../src/agent/model.ts";
import type { FakeReply } from "../../../fakes/openai.ts";
import { startWireServer } from "../../../fakes/wire.ts";
import { ask, fake, model, retry, user } from "./run.ts";

const protocols = ["chat", "responses"] as const;

async function failure(run: Promise<unknown>): Promise<ModelError> {
  const error: unknown = await run.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof ModelError) return error;
  throw new Error("no ModelError was thrown", { cause: error });
}

function refused(status: number, code: string | null, message: string): FakeReply {
  return { status, type: "invalid_request_error", code, message };
}

describe.each(protocols)("a %s request", (protocol) => {
  test.each<[string, FakeReply]>([
    ["quota", refused(429, "insufficient_quota", "You exceeded your current quota, please check your plan.")],
    ["auth", refused(403, "unsupported_country_region_territory", "Country not supported.")],
    ["not-found", refused(404, "model_not_found", "The model `m-1` does not exist.")],
    [
      "overflow",
      refused(400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
    ],
    ["content-filter", refused(400, "content_filter", "The response was filtered.")],
    ["invalid-request", refused(400, null, "Something else.")],
  ])("that is refused for %s is not tried again", async (kind, reply) => {
    const server = await fake({ replies: [reply] });
    const error = await failure(ask(model(protocol, server), [user("x")]));
    expect([error.kind, error.attempts]).toEqual([kind, 1]);
    expect(server.requests).toHaveLength(1);
  });

  test("with a wrong key says so, without the key", async () => {
    const server = await fake();
    const error = await failure(ask(model(protocol, server, { apiKey: "sk-very-secret" }), [user("x")]));
    expect(error.kind).toBe("auth");
    expect(error.detail).toContain("Incorrect API key provided: [key]");
    expect(`${error.message} ${error.stack} ${JSON.stringify(error)}`).not.toContain("sk-very-secret");
  });

  test.each([408, 409, 429, 500, 503])(
    "that fails with %i is tried again, and the SDK adds no attempts",
    async (status) => {
      const server = await fake({ replies: [refused(status, null, "later"), { text: "now" }] });
      const said = await ask(model(protocol, server), [user("x")]);
      expect([said.text, said.retries.length]).toEqual(["now", 1]);
      expect(server.requests).toHaveLength(2);
    },
  );

  test("is given up after the last attempt", async () => {
    const server = await fake({ replies: () => refused(503, null, "busy") });
    const error = await failure(ask(model(protocol, server), [user("x")]));
    expect([error.kind, error.attempts]).toEqual(["transient", 3]);
    expect(server.requests).toHaveLength(3);
  });

  test("waits as long as the service asks", async () => {
    const slow = { ...refused(429, "rate_limit_exceeded", "slow down"), headers: { "retry-after-ms": "40" } };
    const server = await fake({ replies: [slow, { text: "now" }] });
    expect((await ask(model(protocol, server), [user("x")])).retries).toMatchObject([
      { attempt: 2, delayMs: 40 },
    ]);
  });

  test("to a service that is not there is a failed connection", async () => {
    const server = await fake();
    await server.close();
    const error = await failure(
      ask(model(protocol, server, { retry: { ...retry, maxRetries: 0 } }), [user("x")]),
    );
    expect(error.kind).toBe("transient");
    expect(error.message).toContain("ECONNREFUSED");
    expect(error.message).not.toContain("127.0.0.1");
  });

  test("to a web page asks for the base URL to be checked", async () => {
    const server = await fake({ replies: [{ document: "<html>", contentType: "text/html" }] });
    const error = await failure(ask(model(protocol, server), [user("x")]));
    expect([error.kind, error.message]).toEqual(["elsewhere", expect.stringContaining("base URL")]);
  });
});

describe.each(protocols)("a %s stream", (protocol) => {
  const text = "A rather long sentence to be cut somewhere.";

  test.each<["cut" | "end"]>([["cut"], ["end"]])(
    "with an early %s starts again, and what it said is void",
    async (how) => {
      const server = await fake({ replies: [{ text, breaks: { after: 4, how } }, { text }] });
      const said = await ask(model(protocol, server), [user("x")]);
      expect([said.text, said.retries.length]).toEqual([text, 1]);
    },
  );

  test("that stalls is given up after the idle time", async () => {
    let replies = 0;
    const server = await fake({
      replies: () => (replies++ === 0 ? { text, breaks: { after: 4, how: "stall" } } : { text }),
    });
    // A busy machine may be silent for so long by itself.
    const patience = { ...retry, idleMs: 250, maxRetries: 20, deadlineMs: 60_000 };
    const said = await ask(model(protocol, server, { retry: patience }), [user("x")]);
    expect(said.text).toBe(text);
    expect(said.retries).not.toHaveLength(0);
    await server.requests[0]?.aborted;
  });

  test.each<[string, Record<string, unknown>]>([
    ["transient", { code: "server_error", message: "oops" }],
    ["transient", { code: 502, message: "upstream" }],
    ["transient", { code: "rate_limit_exceeded", message: "slow down" }],
    ["quota", { code: "insufficient_quota", message: "no credit" }],
    ["overflow", { code: "context_length_exceeded", message: "too long" }],
    ["invalid-request", { type: "invalid_request_error", message: "no" }],
  ])("with an error event is %s: %j", async (kind, how) => {
    const server = await fake({ replies: [{ text, breaks: { after: 3, how } }] });
    const error = await failure(
      ask(model(protocol, server, { retry: { ...retry, maxRetries: 0 } }), [user("x")]),
    );
    expect(error.kind).toBe(kind);
  });

  test("of something else cannot be read, and is tried again", async () => {
    const server = await fake({ replies: [{ chunks: [{ type: 7, choices: "?" }] }, { text }] });
    expect((await ask(model(protocol, server), [user("x")])).retries).toMatchObject([
      { reason: expect.stringContaining("cannot be read") },
    ]);
  });

  test("of broken JSON cannot be read either", async () => {
    const answers = [{ data: "{" }, { data: "[" }];
    const server = await startWireServer(() => ({ type: "stream", events: answers.splice(0, 1) }));
    try {
      const broken = model(protocol, Object.assign(await fake(), { baseUrl: `${server.url}/v1` }), {
        retry: { ...retry, maxRetries: 0 },
      });
      expect((await failure(ask(broken, [user("x")]))).message).toContain("cannot be read");
    } finally {
      await server.close();
    }
  });

  test("ends at once on an abort, with its reason, and the service sees the client leave", async () => {
    const server = await fake({ replies: [{ text, breaks: { after: 4, how: "stall" } }] });
    const abort = new AbortController();
    const run = ask(model(protocol, server), [user("x")], {}, abort.signal);
    const request = await server.request(1);
    abort.abort({ kind: "shutdown" });
    await expect(run).rejects.toEqual({ kind: "shutdown" });
    await request.aborted;
  });
});

describe("an error that MiniMax reports with HTTP 200", () => {
  const base = (status_code: number, status_msg: string) => ({ base_resp: { status_code, status_msg } });

  test.each<[string, number]>([
    ["auth", 1004],
    ["auth", 2049],
    ["quota", 1008],
    ["content-filter", 1027],
    ["transient", 1002],
    ["transient", 1000],
    ["invalid-request", 2013],
  ])("is %s for code %i, as a document and in the stream", async (kind, code) => {
    const server = await fake({
      replies: [{ document: base(code, "words") }, { chunks: [{ choices: [], ...base(code, "words") }] }],
    });
    for (const form of ["document", "stream"]) {
      const error = await failure(
        ask(model("chat", server, { retry: { ...retry, maxRetries: 0 } }), [user("x")]),
      );
      expect([form, error.kind, error.detail]).toEqual([form, kind, `${code} words`]);
    }
  });

  test("is an overflow when it says so", async () => {
    const server = await fake({
      replies: [{ document: base(2013, "invalid params, context window exceeds limit") }],
    });
    expect((await failure(ask(model("chat", server), [user("x")]))).kind).toBe("overflow");
  });

  test("is none with code 0", async () => {
    const end = { choices: [{ delta: { content: "hi" }, finish_reason: "stop" }], ...base(0, "") };
    const server = await fake({ replies: [{ chunks: [end] }] });
    expect((await ask(model("chat", server), [user("x")])).text).toBe("hi");
  });
});

describe("what only proves life", () => {
  test("is told apart from what is of an answer in a chat", () => {
    const signs = (delta: object, more = {}) => {
      const reply = new ChatReply({ snapshots: false, calls: true });
      return [...reply.push(chatChunk.parse({ choices: [{ delta, ...more }] }))].map(
        (event) => event === ping,
      );
    };
    for (const delta of [{}, { role: "assistant", content: "" }, { content: null, reasoning_content: "" }])
      expect(signs(delta)).toEqual([false, true]);
    expect(signs({ tool_calls: [{ index: 0, function: { arguments: "{" } }] })).toEqual([false, false]);
    expect(signs({ reasoning_details: [{ type: "reasoning.encrypted", data: "x" }] })).toEqual([
      false,
      false,
    ]);
    expect(signs({}, { finish_reason: "stop" })).toEqual([false, false]);
  });

  test("is told apart from what is of an answer in responses", async () => {
    const signs = async (type: string) => {
      async function* sent() {
        yield { type };
      }
      return (await Array.fromAsync(readResponse(sent(), "m"))).map((event) => event === ping);
    };
    for (const type of ["keepalive", "response.in_progress", "response.queued"])
      expect(await signs(type)).toEqual([true]);
    for (const type of ["response.created", "response.function_call_arguments.delta"])
      expect(await signs(type)).toEqual([false]);
  });
});
