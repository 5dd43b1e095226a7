import { describe, expect, onTestFinished, test } from "vitest";
import { lookUpModel } from "../../../src/agent/llm/catalogue.ts";
import { computeCallUsage } from "../../../src/agent/llm/cost.ts";
import { isLocal } from "../../../src/agent/llm/endpoints.ts";
import { openModel } from "../../../src/agent/llm/open.ts";
import { startFakeAnthropic } from "../../fakes/anthropic.ts";
import { startWireServer, type WireReply } from "../../fakes/wire.ts";

/** The limits of a model of a local service that answers so, by method and path. */
async function limitsOf(model: string, answers: Record<string, unknown>) {
  const service = await startWireServer(({ method, path }): WireReply => {
    const body = answers[`${method} ${path}`];
    return body
      ? { type: "json", status: 200, body }
      : { type: "json", status: 404, body: { error: { message: "404 page not found" } } };
  });
  onTestFinished(() => service.close());
  const account = {
    provider: "local",
    model,
    protocol: "openai-chat" as const,
    baseUrl: `${service.url}/v1`,
  };
  return (await openModel(account)).limits;
}

describe("What a service tells of a model is believed", () => {
  test("by OpenRouter: window, longest reply, images and prices", async () => {
    const entry = {
      ...{
        id: "vendor/model",
        context_length: 262_144,
        architecture: { input_modalities: ["text", "image"] },
      },
      pricing: { prompt: "0.0000006", completion: "0.0000025", input_cache_read: "0.00000015", image: "0" },
      top_provider: { context_length: 163_840, max_completion_tokens: 32_768 },
    };
    expect(await limitsOf("vendor/model", { "GET /v1/models": { data: [{ id: "x" }, entry] } })).toEqual({
      ...{ contextTokens: 163_840, maxOutputTokens: 32_768, images: true },
      price: { input: 0.6, output: 2.5, cacheRead: 0.15, cacheWrite: 0.6 },
    });
  });

  test("by vLLM: the window it was started with, of which a reply takes a quarter at most", async () => {
    const entry = { id: "Qwen/Qwen3-Coder", object: "model", max_model_len: 16_384 };
    expect(await limitsOf("Qwen/Qwen3-Coder", { "GET /v1/models": { data: [entry] } })).toMatchObject({
      ...{ contextTokens: 16_384, maxOutputTokens: 4_096 },
    });
  });

  test.each([
    ["num_ctx of the model", { parameters: "temperature 0.7\nnum_ctx 16384" }, 32_768, 16_384],
    ["the window of the running one", {}, 32_768, 32_768],
    ["what the weights can do", {}, undefined, 262_144],
  ])("by Ollama: %s", async (_what, more, running, expected) => {
    const details = {
      ...{ model_info: { "qwen3.context_length": 262_144 }, capabilities: ["tools", "vision"] },
      ...more,
    };
    const models = running ? [{ model: "own:30b", context_length: running }] : [];
    const limits = await limitsOf("own:30b", {
      "GET /v1/models": { data: [{ id: "own:30b", owned_by: "library" }] },
      "POST /api/show": details,
      "GET /api/ps": { models },
    });
    expect(limits).toMatchObject({ contextTokens: expected, images: true });
  });

  test("and nonsense is not: the rest counts, and a price that depends is unknown", async () => {
    const entry = { id: "m", context_length: "many", max_model_len: 50_000, pricing: { prompt: "-1" } };
    expect(await limitsOf("m", { "GET /v1/models": { data: [entry] } })).toMatchObject({
      contextTokens: 50_000,
    });
  });
});

test("a local model of unknown price costs nothing, so that no budget stops it; another one the most", async () => {
  const { price } = await limitsOf("own", { "GET /v1/models": { data: [{ id: "own" }] } });
  const tokens = { input: 1_000_000, output: 1_000_000, cacheRead: 0, cacheWrite: 0 };
  expect(computeCallUsage(tokens, price)).toEqual({ ...tokens, cost: 0, calls: 1 });
  expect(computeCallUsage(tokens, undefined)).toMatchObject({ priceUnknown: true });
});

test.each([
  ["http://127.0.0.1:11434/v1", true],
  ["http://[::1]:8000", true],
  ["http://10.1.2.3/v1", true],
  ["http://172.31.0.1/v1", true],
  ["http://192.168.1.2/v1", true],
  ["http://localhost:1234/v1", true],
  ["http://ollama:11434/v1", true],
  ["http://host.docker.internal:1/v1", true],
  ["https://api.openai.com/v1", false],
  ["http://172.32.0.1/v1", false],
  ["https://10.example.com/v1", false],
])("%s is local: %s", (address, expected) => {
  expect(isLocal(address)).toBe(expected);
});

test.each([
  ["vllm/Qwen/Qwen3-Coder-30B-A3B-Instruct", 262_144],
  ["ollama/qwen3:8b", 40_960],
  ["ollama/gpt-oss:20b", 131_072],
  ["groq/meta-llama/Llama-3.3-70B-Instruct", 131_072],
  ["router/z-ai/glm-4.6", 200_000],
  ["bedrock/us.anthropic.claude-opus-5", 1_000_000],
  ["router/anthropic/claude-opus-5", 1_000_000],
  ["router/nobody/knows", 128_000],
])("the window of %s is known without its service: %i", (name, contextTokens) => {
  expect(lookUpModel(name).contextTokens).toBe(contextTokens);
});

test("a cache of one hour is on the wire at each mark, and its writes cost twice the input", async () => {
  const usage = { input: 0, output: 0, cacheWrite: 1_000_000 };
  const service = await startFakeAnthropic({
    replies: [{ content: [{ type: "text", text: "Hi." }], usage }],
  });
  onTestFinished(() => service.close());
  const account = {
    provider: "anthropic",
    model: "claude-sonnet-5-5",
    apiKey: "test-key",
    baseUrl: service.url,
  };
  const model = await openModel(account, { settings: { cacheTtl: "1h" } });
  const message = { role: "user", id: "u", author: { id: "U", name: "Ada" }, text: "Hello", at: 0 } as const;
  const tools = [{ name: "bash", description: "Runs.", schema: { type: "object" } }];
  for await (const event of model.stream(
    { system: "Be brief.", messages: [message], tools },
    new AbortController().signal,
  ))
    if (event.type === "done") expect(event.usage.cost).toBe(4);
  const marks = [...JSON.stringify(service.bodies).matchAll(/"cache_control":(\{[^}]*\})/g)].map(
    ([, m]) => m,
  );
  expect(marks).toEqual(Array.from({ length: 3 }, () => '{"type":"ephemeral","ttl":"1h"}'));
});
