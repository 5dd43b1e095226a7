import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { z } from "zod";
import { createPromptCache } from "./prompt-cache.ts";
import type { Look, WeekTurn } from "./week.ts";
import { windowTokens } from "./window.ts";
import { closeServer, listen } from "../../tests/fakes/listen.ts";

/** What one library's week has cost. */
export interface WeekCosts {
  requests: number;
  /** Requests without tools: summaries of the conversation. */
  summaries: number;
  promptTokens: number;
  cachedTokens: number;
  outputTokens: number;
  largestPrompt: number;
  /** Requests that were refused because the prompt was larger than the window. */
  refused: number;
}

/** A chat completions service that plays the model of a week and keeps account of what it was sent. */
export interface WeekService {
  baseUrl: string;
  costs: Readonly<WeekCosts>;
  /** Begins a turn: the time moves on by its pause. */
  begin(turn: WeekTurn): void;
  close(): Promise<void>;
}

/** What a request takes by the clock of the week. */
const secondsARequest = 6;

const requestBody = z.object({
  messages: z.array(z.looseObject({ role: z.string() })),
  tools: z.array(z.unknown()).optional(),
});

const summary = `The team works on a service. ${"Its build was looked at, what failed was found, and what is left to do was agreed. ".repeat(20)}`;

export async function startWeekService(count: (text: string) => number): Promise<WeekService> {
  const costs: WeekCosts = {
    ...{ requests: 0, summaries: 0, promptTokens: 0, cachedTokens: 0 },
    ...{ outputTokens: 0, largestPrompt: 0, refused: 0 },
  };
  const cache = createPromptCache(count);
  let minutes = 0;
  let looks: readonly Look[] = [];
  let looked = 0;
  let answer = "";

  async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { messages, tools = [] } = requestBody.parse(JSON.parse(await bodyOf(request)));
    minutes += secondsARequest / 60;
    const { tokens, cached } = cache.read(
      [JSON.stringify(tools), ...messages.map((m) => JSON.stringify(m))],
      minutes,
    );
    if (tokens > windowTokens) {
      costs.refused += 1;
      return refuse(response, tokens);
    }
    costs.requests += 1;
    costs.promptTokens += tokens;
    costs.cachedTokens += cached;
    costs.largestPrompt = Math.max(costs.largestPrompt, tokens);
    const isSummary = tools.length === 0;
    if (isSummary) costs.summaries += 1;
    const look = isSummary ? undefined : looks[looked];
    if (look) looked += 1;
    const text = isSummary ? summary : look ? `I look at ${look.file}.` : answer;
    const output = count(text) + (look ? count(JSON.stringify(look)) : 0);
    costs.outputTokens += output;
    const usage = {
      prompt_tokens: tokens,
      completion_tokens: output,
      total_tokens: tokens + output,
      prompt_tokens_details: { cached_tokens: cached },
    };
    response.writeHead(200, { "content-type": "text/event-stream" }).end(writeEvents(text, look, usage));
  }

  const server = createServer((request, response) => {
    reply(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  const port = await listen(server);
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    costs,
    begin(turn) {
      minutes += turn.pauseMinutes;
      ({ looks, answer } = turn);
      looked = 0;
    },
    async close() {
      await closeServer(server);
    },
  };
}

/** As OpenAI words it; libraries tell such a refusal from others by its code or its words. */
function refuse(response: ServerResponse, tokens: number): void {
  const message = `This model's maximum context length is ${windowTokens} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`;
  const error = {
    message,
    type: "invalid_request_error",
    param: "messages",
    code: "context_length_exceeded",
  };
  response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify({ error }));
}

function writeEvents(text: string, look: Look | undefined, usage: object): string {
  const frame = {
    id: `chatcmpl-${randomUUID()}`,
    object: "chat.completion.chunk",
    created: 1,
    model: "week",
  };
  const call = look && {
    index: 0,
    id: `call_${randomUUID()}`,
    type: "function",
    function: { name: "look", arguments: JSON.stringify(look) },
  };
  const choices: { delta: object; finish_reason: string | null }[] = [
    { delta: { role: "assistant", content: text }, finish_reason: null },
    ...(call ? [{ delta: { tool_calls: [call] }, finish_reason: null }] : []),
    { delta: {}, finish_reason: call ? "tool_calls" : "stop" },
  ];
  const chunks = [
    ...choices.map((choice) => ({ ...frame, choices: [{ index: 0, ...choice }] })),
    { ...frame, choices: [], usage },
  ];
  return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
