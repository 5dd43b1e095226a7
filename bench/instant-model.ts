import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { z } from "zod";
import { closeServer, listen } from "../tests/fakes/listen.ts";

/**
 * A chat completions service that answers at once: it calls the tool `add` until a turn has `steps` model calls,
 * then says {@link lastWord}. It takes every request as it is (the fakes of the tests refuse what Heddle would not
 * send) and keeps none, so that long runs cost no memory.
 */
export interface InstantModel {
  /** What clients take as base URL. */
  baseUrl: string;
  /** Begins a turn of that many model calls; `times` fills with when each request had been read, in ms. */
  expect(steps: number): { times: readonly number[] };
  close(): Promise<void>;
}

export const lastWord = "That is all.";
export const instantModelName = "instant";

const requestBody = z.object({ messages: z.array(z.object({ role: z.string() })) });

export async function startInstantModel(): Promise<InstantModel> {
  let expected = { steps: 1, times: [] as number[] };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await bodyOf(request);
    expected.times.push(performance.now());
    const { messages } = requestBody.parse(JSON.parse(text));
    const done = messages.length - 1 - messages.findLastIndex(({ role }) => role === "user");
    // An assistant message and a result for each call so far.
    const call = done / 2 + 1;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(call < expected.steps ? callEvents(call) : answerEvents());
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  const port = await listen(server);
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    expect(steps) {
      expected = { steps, times: [] };
      return expected;
    },
    async close() {
      await closeServer(server);
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function callEvents(number: number): string {
  const json = JSON.stringify({ a: number, b: number });
  const call = { index: 0, id: `call_${number}`, type: "function", function: { name: "add", arguments: "" } };
  return events([
    { delta: { role: "assistant", content: "Adding." } },
    { delta: { tool_calls: [call] } },
    { delta: { tool_calls: [{ index: 0, function: { arguments: json } }] } },
    { delta: {}, finish_reason: "tool_calls" },
  ]);
}

function answerEvents(): string {
  return events([{ delta: { role: "assistant", content: lastWord } }, { delta: {}, finish_reason: "stop" }]);
}

function events(choices: readonly { delta: unknown; finish_reason?: string }[]): string {
  const frame = {
    id: `chatcmpl-${randomUUID()}`,
    object: "chat.completion.chunk",
    created: 1,
    model: instantModelName,
  };
  const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
  const chunks = [
    ...choices.map((choice) => ({ ...frame, choices: [{ index: 0, finish_reason: null, ...choice }] })),
    { ...frame, choices: [], usage },
  ];
  return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`;
}
