import { describe, expect, onTestFinished, test } from "vitest";
import { openModel, type ModelAccount } from "../../../src/agent/llm/open.ts";
import type { RequestSettings } from "../../../src/agent/llm/request-settings.ts";
import type { Message } from "../../../src/agent/messages.ts";
import type { LanguageModel, ModelRequest } from "../../../src/agent/model.ts";
import { startFakeAnthropic } from "../../fakes/anthropic.ts";
import { startFakeOpenAI } from "../../fakes/openai.ts";

const asked: Message = { role: "user", id: "u1", author: { id: "U1", name: "Ada" }, text: "Hello", at: 0 };

async function call(model: LanguageModel, more: Partial<ModelRequest> = {}) {
  const request = { system: "", messages: [asked], tools: [], ...more };
  for await (const _ of model.stream(request, new AbortController().signal));
}

/** The body and the headers of one request to a service, which has to accept it. */
async function send(
  protocol: "anthropic" | "openai" | "responses",
  model: string,
  settings: RequestSettings,
  more: Partial<ModelRequest> = {},
) {
  const service =
    protocol === "anthropic"
      ? await startFakeAnthropic({ replies: [{ content: [{ type: "text", text: "Hi." }] }] })
      : await startFakeOpenAI({ replies: [{ text: "Hi." }] });
  onTestFinished(() => service.close());
  const baseUrl = "baseUrl" in service ? service.baseUrl : service.url;
  const account: ModelAccount = {
    ...{ provider: protocol === "anthropic" ? "anthropic" : "openai", model, apiKey: "test-key", baseUrl },
    ...(protocol === "responses" && { protocol: "openai-responses" }),
  };
  await call(await openModel(account, { settings }), more);
  const request = service.requests.at(-1);
  return { body: request?.body, headers: request?.headers };
}

describe("What the operator sets for a model", () => {
  test("is in each request of Anthropic's protocol", async () => {
    const settings: RequestSettings = {
      ...{ effort: "low", serviceTier: "standard_only", headers: { "x-team": "looms" }, body: { top_k: 5 } },
    };
    const { body, headers } = await send("anthropic", "claude-sonnet-5-5", settings);
    expect(body).toMatchObject({
      ...{ output_config: { effort: "low" }, service_tier: "standard_only", top_k: 5 },
      thinking: { type: "adaptive" },
    });
    expect(headers).toMatchObject({ "x-team": "looms", "x-api-key": "test-key" });
  });

  test("may be a budget of thinking or a temperature, for a Claude model before 4.6", async () => {
    const thinking = await send("anthropic", "claude-haiku-4-5", { thinkingTokens: 2_048 });
    expect(thinking.body).toMatchObject({ thinking: { type: "enabled", budget_tokens: 2_048 } });
    const warm = await send("anthropic", "claude-haiku-4-5", { temperature: 0.3 });
    expect(warm.body).toMatchObject({ temperature: 0.3 });
    expect(warm.body).not.toHaveProperty("thinking");
  });

  test("is no budget of thinking where the service would refuse it: in a short reply, or behind another model's call", async () => {
    const short = await send(
      "anthropic",
      "claude-haiku-4-5",
      { thinkingTokens: 2_048 },
      { maxOutputTokens: 500 },
    );
    expect(short.body).not.toHaveProperty("thinking");
    const messages: Message[] = [
      asked,
      {
        ...{ role: "assistant", id: "a1", model: "openai/other", stop: "tool-calls" },
        parts: [{ type: "tool-call", call: { id: "c1", name: "bash", input: {} } }],
      },
      { role: "tool", callId: "c1", name: "bash", status: "ok", text: "done" },
    ];
    const behind = await send("anthropic", "claude-haiku-4-5", { thinkingTokens: 2_048 }, { messages });
    expect(behind.body).not.toHaveProperty("thinking");
  });

  test("is in each request of Chat Completions", async () => {
    const settings: RequestSettings = {
      ...{ effort: "high", temperature: 0.3, serviceTier: "flex", headers: { "x-team": "looms" } },
      body: { top_k: 5 },
    };
    const { body, headers } = await send("openai", "local", settings);
    expect(body).toMatchObject({
      ...{ reasoning_effort: "high", temperature: 0.3, service_tier: "flex", top_k: 5 },
    });
    expect(headers).toMatchObject({ "x-team": "looms", authorization: "Bearer test-key" });
  });

  test("is in each request of Responses, beside the key that the service caches by", async () => {
    const settings: RequestSettings = {
      ...{ effort: "high", serviceTier: "flex", headers: { "x-team": "looms" } },
      body: { metadata: { team: "looms" } },
    };
    const { body, headers } = await send("responses", "gpt-6.1-sol", settings);
    expect(body).toMatchObject({
      ...{ reasoning: { effort: "high" }, service_tier: "flex", metadata: { team: "looms" }, store: false },
      prompt_cache_key: expect.any(String),
    });
    expect(headers).toMatchObject({ "x-team": "looms", authorization: "Bearer test-key" });
  });

  test("is absent where nothing is set", async () => {
    const known = ["max_tokens", "messages", "model", "stream"];
    const { body } = await send("anthropic", "claude-haiku-4-5", {});
    expect(Object.keys(body ?? {}).toSorted()).toEqual(known);
    const chat = await send("openai", "local", {});
    expect(Object.keys(chat.body ?? {}).toSorted()).toEqual([...known, "stream_options"].toSorted());
    const responses = await send("responses", "local", {});
    const ofResponses = [
      "include",
      "input",
      "max_output_tokens",
      "model",
      "prompt_cache_key",
      "store",
      "stream",
    ];
    expect(Object.keys(responses.body ?? {}).toSorted()).toEqual(ofResponses);
  });

  test("gives way to the effort of a single request, if the model takes that", async () => {
    const model = "claude-sonnet-5-5";
    const max = await send("anthropic", model, { effort: "low" }, { effort: "max" });
    expect(max.body).toMatchObject({ output_config: { effort: "max" } });
    const none = await send("anthropic", model, { effort: "low" }, { effort: "none" });
    expect(none.body).toMatchObject({ output_config: { effort: "low" } });
    const haiku = await send("anthropic", "claude-haiku-4-5", {}, { effort: "high" });
    expect(haiku.body).not.toHaveProperty("output_config");
  });
});

const claude = { provider: "anthropic" as const, model: "claude-opus-5-5" };
const haiku = { provider: "anthropic" as const, model: "claude-haiku-4-5" };
const gpt = { provider: "openai" as const, model: "gpt-6.1-sol" };

test.each<[string, Partial<ModelAccount>, RequestSettings, RegExp]>([
  ["a temperature with thinking", claude, { temperature: 0.2 }, /takes no temperature from a model that thi/],
  [
    "a temperature with a budget of thinking",
    haiku,
    { temperature: 0.2, thinkingTokens: 2_000 },
    /no temperature/,
  ],
  ["a temperature above 1 at Anthropic", haiku, { temperature: 1.5 }, /from 0 to 1/],
  ["a budget of thinking for a model without one", claude, { thinkingTokens: 2_000 }, /set effort instead/],
  ["a budget above the longest reply", haiku, { thinkingTokens: 64_000 }, /less than the 64000 tokens/],
  ["an effort that the model does not take", claude, { effort: "minimal" }, /choose one of low, medium, hi/],
  ["an effort for a model without", haiku, { effort: "low" }, /takes no effort: take it out/],
  ["another service's tier", claude, { serviceTier: "flex" }, /choose one of auto, standard_only/],
  ["a budget of thinking at OpenAI", gpt, { thinkingTokens: 2_000 }, /set effort instead/],
  ["a temperature for a model that reasons", gpt, { temperature: 0 }, /from a model that reasons/],
  ["an effort for one that does not", { ...gpt, model: "gpt-4.1" }, { effort: "low" }, /does not reason/],
  ["another body", claude, { body: { messages: [] } }, /body\.messages is Heddle's own field/],
])("%s is refused at start in one sentence", async (_what, account, settings, sentence) => {
  const silent = { apiKey: "k", baseUrl: undefined, ...account } as ModelAccount;
  const opened = openModel(silent, { settings, askMs: 0 });
  await expect(opened).rejects.toThrow(sentence);
  await expect(opened).rejects.toThrow(/^models\.\S+: [^.]+(\.[^ ][^.]*)*\.$/);
});
