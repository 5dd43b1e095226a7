import { expect, test } from "vitest";
import { ChatReply } from "../../../../src/agent/llm/openai/chat-reply.ts";
import { fake, model, user } from "./run.ts";

interface Told {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens?: number;
  reasoning?: number;
}

/** As services report it: OpenAI's documentation, xAI's guide to reasoning, and what Gemini's own address sends. */
test.each<[string, Told, number]>([
  [
    "within the completion",
    { prompt_tokens: 32, completion_tokens: 103, total_tokens: 135, reasoning: 94 },
    103,
  ],
  ["beside it", { prompt_tokens: 32, completion_tokens: 9, total_tokens: 135, reasoning: 94 }, 103],
  ["in the total alone", { prompt_tokens: 32, completion_tokens: 9, total_tokens: 135 }, 103],
  ["not at all", { prompt_tokens: 32, completion_tokens: 9 }, 9],
  [
    "with something else in the total",
    { prompt_tokens: 32, completion_tokens: 9, total_tokens: 500, reasoning: 4 },
    13,
  ],
  ["with a total that is too small", { prompt_tokens: 32, completion_tokens: 9, total_tokens: 1 }, 9],
])("reasoning that a service counts %s is output that is paid", (_where, { reasoning, ...told }, output) => {
  const reply = new ChatReply({ snapshots: false, calls: true });
  const details =
    reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } };
  const chunk = { choices: [], usage: { ...told, ...details } };
  expect([...reply.push(chunk)]).not.toEqual([]);
  expect(reply.tokens()).toEqual({ input: 32, output, cacheRead: 0, cacheWrite: 0 });
});

test.each(["chat", "responses"] as const)(
  "a reply over %s of which nothing is shown says that it has begun, and a refused one does not",
  async (protocol) => {
    const refused = { status: 400, type: "invalid_request_error", message: "no" };
    const server = await fake({ replies: [{ calls: [{ name: "bash" }] }, refused] });
    const types: string[] = [];
    const request = { system: "", messages: [user("x")], tools: [] };
    const take = async () => {
      const { signal } = new AbortController();
      for await (const { type } of model(protocol, server).stream(request, signal)) types.push(type);
    };
    await take();
    expect([...new Set(types)]).toEqual(["begun", "done"]);
    types.length = 0;
    await expect(take()).rejects.toThrow("invalid");
    expect(types).toEqual([]);
  },
);
