import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { askAnthropic } from "../../../src/agent/llm/anthropic-client.ts";
import { resolveLimits } from "../../../src/agent/llm/catalogue.ts";
import { callUsage } from "../../../src/agent/llm/cost.ts";
import { startFakeAnthropic } from "../../fakes/anthropic.ts";
import type { FakeModelServer } from "../../fakes/anthropic.ts";
import { startWireServer } from "../../fakes/wire.ts";

let service: FakeModelServer;
beforeAll(async () => {
  const models = {
    "claude-sonnet-5-5": { contextTokens: 500_000, maxOutputTokens: 32_000, adaptiveThinking: true },
    "claude-new": { contextTokens: 2_000_000, maxOutputTokens: 256_000, adaptiveThinking: true },
  };
  service = await startFakeAnthropic({ models });
});
afterAll(() => service.close());

const ask = (model: string) => askAnthropic(model, { apiKey: "test-key", baseUrl: service.url });

describe("resolveLimits", () => {
  test("knows the default models of every provider", async () => {
    for (const id of ["anthropic/claude-sonnet-5-5", "openai/gpt-6-astra", "minimax/MiniMax-M2.5"]) {
      const { contextTokens, price } = await resolveLimits(id);
      expect(contextTokens, id).toBeGreaterThan(200_000);
      expect(price, id).toBeDefined();
    }
  });

  test("knows a dated model by its plain name", async () => {
    expect(await resolveLimits("anthropic/claude-haiku-4-5-20251001")).toEqual(
      await resolveLimits("anthropic/claude-haiku-4-5"),
    );
  });

  test("takes a small window and no price for a model that nobody knows", async () => {
    expect(await resolveLimits("openai/some-local-model")).toEqual({
      contextTokens: 128_000,
      maxOutputTokens: 8_192,
      images: false,
      adaptiveThinking: false,
    });
  });

  test("believes the service about its own model, and keeps the catalogue's price", async () => {
    const facts = await resolveLimits("anthropic/claude-sonnet-5-5", ask("claude-sonnet-5-5"));
    expect(facts).toMatchObject({
      contextTokens: 500_000,
      maxOutputTokens: 32_000,
      images: true,
      adaptiveThinking: true,
    });
    expect(facts.price).toMatchObject({ input: 2, output: 10 });
  });

  test("asks the service once", async () => {
    const before = service.requests.length;
    await resolveLimits("anthropic/claude-new", ask("claude-new"));
    const again = await resolveLimits("anthropic/claude-new", ask("claude-new"));
    expect(again.contextTokens).toBe(2_000_000);
    expect(service.requests.length - before).toBe(1);
  });

  test("falls back to the catalogue when the service has no such endpoint, and asks again later", async () => {
    const before = service.requests.length;
    const facts = await resolveLimits("anthropic/claude-opus-5-5", ask("claude-opus-5-5"));
    await resolveLimits("anthropic/claude-opus-5-5", ask("claude-opus-5-5"));
    expect(facts.contextTokens).toBe(1_000_000);
    expect(service.requests.length - before).toBe(2);
  });

  test("does not wait for a service that is silent", async () => {
    const silent = await startWireServer(() => new Promise(() => {}));
    const asking = askAnthropic("claude-opus-5", { apiKey: "k", baseUrl: silent.url });
    const facts = await resolveLimits("anthropic/claude-opus-5", asking, 20);
    expect(facts.contextTokens).toBe(1_000_000);
    await silent.close();
  });
});

describe("callUsage", () => {
  const tokens = { input: 1_000_000, output: 100_000, cacheRead: 2_000_000, cacheWrite: 400_000 };

  test("adds up each kind of token at its rate", () => {
    const price = { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 };
    expect(callUsage(tokens, price)).toEqual({ ...tokens, calls: 1, cost: 2 + 1 + 0.4 + 1 });
  });

  test("charges the whole call at the other rate when its prompt is long", () => {
    const low = { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 };
    const price = { ...low, longPrompt: { above: 100, input: 5, output: 5, cacheRead: 5, cacheWrite: 5 } };
    const short = { input: 40, output: 1_000, cacheRead: 40, cacheWrite: 20 };
    expect(callUsage(short, price).cost).toBeCloseTo(1_100 / 1e6);
    expect(callUsage({ ...short, cacheRead: 41 }, price).cost).toBeCloseTo((5 * 1_101) / 1e6);
  });

  test("costs nothing when the price is unknown", () => {
    expect(callUsage(tokens, undefined).cost).toBe(0);
  });
});
