/** What the tests of the two OpenAI protocols share: a model in front of the fake, and a way to call it. */
import { onTestFinished } from "vitest";
import type { RetryPolicy } from "../../../../src/agent/llm/retry.ts";
import type { LanguageModel, ModelEvent, ModelLimits, ModelRequest } from "../../../../src/agent/model.ts";
import { createOpenAIChatModel } from "../../../../src/agent/llm/openai/chat.ts";
import { createOpenAIResponsesModel } from "../../../../src/agent/llm/openai/responses.ts";
import type { OpenAIModelOptions } from "../../../../src/agent/llm/openai/service.ts";
import { type AssistantMessage, type Message, toolCalls } from "../../../../src/agent/messages.ts";
import { type FakeOpenAI, type FakeOpenAIOptions, startFakeOpenAI } from "../../../fakes/openai.ts";

export const limits: ModelLimits = {
  contextTokens: 100_000,
  maxOutputTokens: 1_000,
  images: true,
  price: { input: 1, output: 10, cacheRead: 0.1, cacheWrite: 2 },
};

export const retry: RetryPolicy = { maxRetries: 2, baseMs: 1, capMs: 2, deadlineMs: 5_000, idleMs: 5_000 };

const tools = [
  { name: "bash", description: "Runs a command.", schema: { type: "object", properties: {} } },
  { name: "read_file", description: "Reads a file.", schema: { type: "object", properties: {} } },
];

type ProtocolName = "chat" | "responses";

/** A fake that ends with the test. */
export async function fake(options?: FakeOpenAIOptions): Promise<FakeOpenAI> {
  const server = await startFakeOpenAI(options);
  onTestFinished(() => server.close());
  return server;
}

export function model(
  protocol: ProtocolName,
  server: FakeOpenAI,
  options: Partial<OpenAIModelOptions> = {},
): LanguageModel {
  const create = protocol === "chat" ? createOpenAIChatModel : createOpenAIResponsesModel;
  return create({ model: "m-1", apiKey: server.apiKey, baseUrl: server.baseUrl, limits, retry, ...options });
}

/** A `fetch` that brings requests for any host to the fake, so that the rules for well-known hosts can be tested. */
export function redirectedTo(server: FakeOpenAI): typeof fetch {
  return (input, init) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    return fetch(server.url + pathname, init);
  };
}

export function user(text: string): Message {
  return { role: "user", id: `user-${text}`, author: { id: "U1", name: "Ada" }, text, at: 0 };
}

interface Said {
  /** What was streamed and is not void. */
  text: string;
  thinking: string;
  retries: Extract<ModelEvent, { type: "retry" }>[];
  message: AssistantMessage;
  usage: Extract<ModelEvent, { type: "done" }>["usage"];
}

export async function ask(
  asked: LanguageModel,
  messages: readonly Message[],
  request: Partial<ModelRequest> = {},
  signal = new AbortController().signal,
): Promise<Said> {
  const said = { text: "", thinking: "", retries: [] as Said["retries"] };
  for await (const event of asked.stream({ system: "Be brief.", messages, tools, ...request }, signal)) {
    switch (event.type) {
      case "begun":
        break;
      case "text":
        said.text += event.delta;
        break;
      case "thinking":
        said.thinking += event.delta;
        break;
      case "fallback":
        throw new Error("There is no other model to fall back on.");
      case "retry":
        said.text = said.thinking = "";
        said.retries.push(event);
        break;
      case "done":
        return { ...said, message: event.message, usage: event.usage };
    }
  }
  throw new Error("the stream had no final event");
}

/** A message and the result of each of its calls. */
export function answered(message: AssistantMessage): Message[] {
  return [
    message,
    ...toolCalls(message).map(({ id, name }): Message => {
      return { role: "tool", callId: id, name, status: "ok", text: `ran ${name}` };
    }),
  ];
}

/** Chunks as a server sends them that has its own ways. */
export function chunks(...deltas: object[]) {
  return {
    chunks: [
      ...deltas.map((delta) => ({ choices: [{ index: 0, delta }] })),
      { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    ],
  };
}

/** A delta with one tool call. */
export function called(name: string, args: string, rest: object = {}) {
  return { tool_calls: [{ ...rest, function: { name, arguments: args } }] };
}
