import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { createAnthropicModel } from "../../../src/agent/llm/anthropic/anthropic.ts";
import type { LanguageModel } from "../../../src/agent/model.ts";
import { createOpenAIChatModel } from "../../../src/agent/llm/openai/chat.ts";
import { createOpenAIResponsesModel } from "../../../src/agent/llm/openai/responses.ts";
import { startFakeAnthropic } from "../../fakes/anthropic.ts";
import { startFakeOpenAI } from "../../fakes/openai.ts";
import { listenForTest } from "../../fakes/listen-for-test.ts";
import { limits } from "./openai/run.ts";

const answers = Array.from({ length: 5 }, () => ({ content: [{ type: "text" as const, text: "Yes." }] }));
const words = Array.from({ length: 5 }, () => ({ text: "Yes." }));

/** Hands everything on to the service, but holds back the end of each response, as services do, until it is asked for. */
async function startFront(service: string) {
  let connections = 0;
  let held: ServerResponse | undefined;
  const handOn = async (request: IncomingMessage, response: ServerResponse) => {
    const answer = await fetch(`${service}${request.url}`, {
      method: "POST",
      headers: Object.entries(request.headersDistinct).flatMap(([name, values = []]) =>
        name === "connection" || name === "content-length" || name === "host"
          ? []
          : values.map((value): [string, string] => [name, value]),
      ),
      body: await text(request),
    });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
    response.write(await answer.text());
    held = response;
  };
  const front = createServer((request, response) => {
    handOn(request, response).catch((error: unknown) => response.destroy(new Error(String(error))));
  });
  front.on("connection", () => (connections += 1));
  const url = await listenForTest(front);
  return {
    url,
    connections: () => connections,
    async end() {
      const closed = held && once(held, "close");
      held?.end();
      await closed;
    },
    /** Resolves when the client has closed the connection of the response that is held back. */
    left: async () => held && once(held, "close"),
  };
}

const account = { model: "claude-sonnet-5-5", limits };
type Protocol = [string, (apiKey: string, baseUrl: string) => LanguageModel];
const protocols: Protocol[] = [
  ["messages", (apiKey, baseUrl) => createAnthropicModel({ ...account, apiKey, baseUrl })],
  ["chat", (apiKey, baseUrl) => createOpenAIChatModel({ ...account, apiKey, baseUrl: `${baseUrl}/v1` })],
  [
    "responses",
    (apiKey, baseUrl) => createOpenAIResponsesModel({ ...account, apiKey, baseUrl: `${baseUrl}/v1` }),
  ],
];

async function openBehindFront([protocol, open]: Protocol) {
  const service =
    protocol === "messages"
      ? await startFakeAnthropic({ replies: answers })
      : await startFakeOpenAI({ replies: words });
  onTestFinished(() => service.close());
  const front = await startFront(service.url);
  return { front, model: open(service.apiKey, front.url) };
}

async function call(model: LanguageModel, number: number): Promise<void> {
  const events: string[] = [];
  const author = { id: "u", name: "Ada" };
  const asked = { role: "user" as const, id: `m${number}`, at: 1, author, text: "Yes?" };
  const request = { system: "Say yes.", messages: [asked], tools: [] };
  for await (const { type } of model.stream(request, new AbortController().signal)) events.push(type);
  expect(events.at(-1)).toBe("done");
}

test.each(protocols)(
  "Calls over %s share connections, although a response ends after its last event",
  async (...protocol) => {
    const { front, model } = await openBehindFront(protocol);
    for (const number of [1, 2, 3, 4, 5]) {
      await call(model, number);
      await front.end();
    }
    // One, and a second when the end of a response was not read yet.
    expect(front.connections()).toBeLessThan(3);
  },
);

test("A connection whose response does not end is given up after a second", async () => {
  const leave = async (protocol: Protocol) => {
    const { front, model } = await openBehindFront(protocol);
    await call(model, 1);
    await front.left();
  };
  await Promise.all(protocols.map(leave));
});

test.each([
  ["our own request", undefined],
  ["the request of Node", fetch],
])("Comments that keep the stream open do not keep back a complete answer, over %s", async (_, by) => {
  const front = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    const end = { choices: [{ index: 0, delta: { content: "Yes." }, finish_reason: "stop" }] };
    response.write(`data: ${JSON.stringify(end)}\n\n`);
    const alive = setInterval(() => response.write(": alive\n\n"), 100);
    response.on("close", () => clearInterval(alive));
  });
  const url = await listenForTest(front);
  const retry = { maxRetries: 0, idleMs: 20_000 };
  await call(createOpenAIChatModel({ ...account, baseUrl: url, retry, ...(by && { fetch: by }) }), 1);
});
