/** What the tests of the Anthropic protocol share: a service, a model that talks to it, and a conversation. */
import { afterEach } from "vitest";
import { createAnthropicModel } from "../../../../src/agent/llm/anthropic/anthropic.ts";
import type { AnthropicOptions } from "../../../../src/agent/llm/anthropic/anthropic.ts";
import type { LanguageModel, ModelEvent, ModelRequest } from "../../../../src/agent/model.ts";
import type { Message, ToolMessage, UserMessage } from "../../../../src/agent/messages.ts";
import { startFakeAnthropic } from "../../../fakes/anthropic.ts";
import type { FakeAnthropicOptions, FakeModelServer } from "../../../fakes/anthropic.ts";

/** What a test has opened; closed after it. */
export const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

export const retry = { maxRetries: 2, baseMs: 1, capMs: 2, deadlineMs: 5_000, idleMs: 2_000 };
export const limits = {
  contextTokens: 1_000_000,
  maxOutputTokens: 128_000,
  images: true,
  price: { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 },
};
const tools = [
  {
    name: "bash",
    description: "Runs a command.",
    schema: { type: "object", properties: { command: { type: "string" } } },
  },
  { name: "read_file", description: "Reads a file.", schema: { type: "object", properties: {} } },
];

/** A service with these replies, and a model that talks to it. */
export async function setUp(
  replies: FakeAnthropicOptions["replies"] = [],
  options: Partial<AnthropicOptions> = {},
): Promise<{ service: FakeModelServer; model: LanguageModel }> {
  const service = await startFakeAnthropic({ replies });
  closing.push(() => service.close());
  const model = createAnthropicModel({
    model: "claude-sonnet-5-5",
    apiKey: "test-key",
    baseUrl: service.url,
    limits,
    adaptiveThinking: true,
    retry,
    ...options,
  });
  return { service, model };
}

const never = new AbortController().signal;

export function ask(messages: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest {
  return { system: "You are Heddle.", messages, tools, ...more };
}

export function says(text: string): UserMessage {
  return { role: "user", id: `u${text}`, author: { id: "U1", name: "Ada" }, text, at: 0 };
}

export function result(callId: string, text: string, more: Partial<ToolMessage> = {}): ToolMessage {
  return { role: "tool", callId, name: "bash", status: "ok", text, ...more };
}

export async function call(model: LanguageModel, request: ModelRequest, signal = never) {
  const events: ModelEvent[] = [];
  for await (const event of model.stream(request, signal)) events.push(event);
  const last = events.at(-1);
  if (last?.type !== "done") throw new Error("the model was not done");
  return { events, message: last.message, usage: last.usage };
}

export async function failure(model: LanguageModel, request = ask([says("hi")])) {
  const events: ModelEvent[] = [];
  try {
    for await (const event of model.stream(request, never)) events.push(event);
  } catch (error) {
    return { events, error };
  }
  throw new Error("the call did not fail");
}
