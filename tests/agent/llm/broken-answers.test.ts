import { createServer, type ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { createAnthropicModel } from "../../../src/agent/llm/anthropic/anthropic.ts";
import { answerBytes, replyBytes } from "../../../src/agent/llm/server-sent-events.ts";
import { createOpenAIChatModel } from "../../../src/agent/llm/openai/chat.ts";
import { createOpenAIResponsesModel } from "../../../src/agent/llm/openai/responses.ts";
import { streamFetch } from "../../../src/agent/llm/stream-fetch.ts";
import { ModelError } from "../../../src/agent/model.ts";
import { listenForTest } from "../../fakes/listen-for-test.ts";
import { limits } from "./openai/run.ts";

/** Rule: whatever a model service does is a failure of its attempt, and takes a bounded amount of memory. */

const retry = { maxRetries: 1, baseMs: 1, capMs: 1, deadlineMs: 60_000, idleMs: 60_000 };
const models = {
  chat: createOpenAIChatModel,
  responses: createOpenAIResponsesModel,
  anthropic: createAnthropicModel,
};
const fetches = { streamFetch, fetch };

/** What becomes of a call whose every attempt is answered in this way, and how often and with how much it was. */
async function ask(
  protocol: keyof typeof models,
  answer: (response: ServerResponse) => void,
  fetching: keyof typeof fetches = "streamFetch",
) {
  const answers: ServerResponse[] = [];
  const sent: Promise<number>[] = [];
  const server = createServer((request, response) => {
    request.resume();
    answers.push(response);
    sent.push(new Promise((resolve) => response.once("close", () => resolve(request.socket.bytesWritten))));
    answer(response);
  });
  const options = { model: "m", apiKey: "key", baseUrl: await listenForTest(server), limits, retry };
  const model = models[protocol]({ ...options, fetch: fetches[fetching] });
  const message = { role: "user", id: "u", author: { id: "U1", name: "Ada" }, text: "hi", at: 0 } as const;
  const request = { system: "", messages: [message], tools: [] };
  const error = await Array.fromAsync(model.stream(request, new AbortController().signal)).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ModelError);
  return { error, attempts: answers.length, sent: await Promise.all(sent) };
}

/** Repeats a text for as long as anybody reads. */
function sendForEver(response: ServerResponse, text: string): void {
  const piece = text.repeat(Math.ceil(65_536 / text.length));
  const more = () => {
    while (!response.destroyed && response.write(piece));
  };
  response.on("drain", more);
  response.on("error", () => undefined);
  more();
}

const streams = { "content-type": "text/event-stream" };
const json = { "content-type": "application/json" };
const page = "\n<!doctype html><title>Welcome to our network</title><p>Please sign in.\n";

describe.each(["chat", "responses", "anthropic"] as const)("Over the protocol %s", (protocol) => {
  test("an answer without a body is asked for again", async () => {
    const { error, attempts } = await ask(protocol, (response) => response.writeHead(204).end());
    expect([error, attempts]).toMatchObject([{ kind: "transient" }, 2]);
  });

  test.each([
    ["of the type of one", { "content-type": "text/html; charset=utf-8" }, 200],
    ["without a type", {}, 200],
    ["as text", { "content-type": "text/plain" }, 200],
    ["as JSON", json, 200],
    ["as a stream", streams, 200],
    ["that refuses", { "content-type": "text/html" }, 403],
    ["that wants a sign-in at the proxy", { "content-type": "text/html" }, 407],
  ])(
    "a web page %s is told as one, with what to check, and is not asked for again",
    async (_, type, status) => {
      const { error, attempts } = await ask(protocol, (response) =>
        response.writeHead(status, type).end(page),
      );
      const http = status === 200 ? "" : ` (HTTP ${status})`;
      expect([error, attempts]).toMatchObject([
        {
          kind: "elsewhere",
          message: `A web page came in place of the model's reply${http}, as from a proxy, a network that wants a sign-in first, or a wrong base URL; the administrator must check these.`,
        },
        1,
      ]);
    },
  );

  test.each([
    ["a line", streams, 200, "data: "],
    ["lines of one event", streams, 200, "data: 1\n"],
    ["comments", streams, 200, ": wait\n\n"],
    ["lines of an untyped event", {}, 200, "data: 1\n"],
    ["the words of a failure", json, 500, '{"error": '],
  ])(
    "%s without an end are given up at 16 MiB, and the connection is closed",
    async (_, headers, status, text) => {
      const { error, attempts, sent } = await ask(protocol, (response) => {
        response.writeHead(status, headers);
        sendForEver(response, text);
      });
      expect([error, attempts]).toMatchObject([{ kind: "transient" }, 2]);
      // Besides what is read, what lies in the buffers between.
      for (const bytes of sent) expect(bytes).toBeLessThan(3 * answerBytes);
    },
  );
});

describe.each(["chat", "responses"] as const)("Over the protocol %s", (protocol) => {
  test.each(["streamFetch", "fetch"] as const)(
    "JSON that breaks off is a failed connection to %s",
    async (how) => {
      const breakOff = (response: ServerResponse) => {
        response.writeHead(200, { ...json, "content-length": "1000" });
        response.write('{"error": ', () => response.destroy());
      };
      const { error, attempts } = await ask(protocol, breakOff, how);
      expect([error, attempts]).toMatchObject([
        { kind: "transient", message: expect.stringContaining("UND_ERR_SOCKET") },
        2,
      ]);
    },
  );

  test("JSON without an end is given up at 16 MiB", async () => {
    const { error, attempts } = await ask(protocol, (response) => {
      response.writeHead(200, json);
      sendForEver(response, '{"error": ');
    });
    expect([error, attempts]).toMatchObject([
      { kind: "transient", message: expect.stringContaining("cannot be read") },
      2,
    ]);
  });
});

test("A reply that goes on for ever in ordinary events is given up at 64 MiB, and the connection is closed", async () => {
  const chunk = JSON.stringify({ choices: [{ index: 0, delta: { content: "again ".repeat(1_000) } }] });
  const { error, attempts, sent } = await ask("chat", (response) => {
    response.writeHead(200, streams);
    sendForEver(response, `data: ${chunk}\n\n`);
  });
  expect([error, attempts]).toMatchObject([
    { kind: "transient", detail: expect.stringContaining("65536 KiB in one reply") },
    2,
  ]);
  for (const bytes of sent) expect(bytes).toBeLessThan(1.5 * replyBytes);
});

test("A stream whose events are ordinary may be longer than 16 MiB", async () => {
  const chunk = JSON.stringify({ choices: [{ index: 0, delta: { content: "x".repeat(60_000) } }] });
  const last = JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
  const events = Array.from({ length: 300 }, () => `data: ${chunk}\n\n`).join("");
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, streams).end(`${events}data: ${last}\n\ndata: [DONE]\n\n`);
  });
  const model = createOpenAIChatModel({ model: "m", baseUrl: await listenForTest(server), limits, retry });
  const request = { system: "", messages: [], tools: [] };
  const told = await Array.fromAsync(model.stream(request, new AbortController().signal));
  expect(events.length).toBeGreaterThan(answerBytes);
  expect(told.at(-1)).toMatchObject({ type: "done", message: { stop: "end" } });
});
