import { describe, expect, test } from "vitest";
import { lookUpModel } from "../../../src/agent/llm/catalogue.ts";
import { computeCallUsage } from "../../../src/agent/llm/cost.ts";
import { addUsage, noUsage } from "../../../src/agent/model.ts";

describe("The catalogue", () => {
  test.each(["anthropic/claude-sonnet-5-5", "openai/gpt-6-astra", "minimax/MiniMax-M2.5"])(
    "knows the default model %s with its price",
    (id) => {
      const { contextTokens, price } = lookUpModel(id);
      expect(contextTokens).toBeGreaterThan(200_000);
      expect(price).toBeDefined();
    },
  );

  test("knows a dated model by its plain name", () => {
    expect(lookUpModel("anthropic/claude-haiku-4-5-20251001")).toEqual(
      lookUpModel("anthropic/claude-haiku-4-5"),
    );
  });

  test("takes a small window and no price for a model that nobody knows", () => {
    expect(lookUpModel("openai/some-local-model")).toEqual({
      contextTokens: 128_000,
      maxOutputTokens: 8_192,
      images: false,
      adaptiveThinking: false,
    });
  });
});

describe("computeCallUsage", () => {
  const tokens = { input: 1_000_000, output: 100_000, cacheRead: 2_000_000, cacheWrite: 400_000 };

  test("adds up each kind of token at its rate", () => {
    const price = { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 };
    expect(computeCallUsage(tokens, price)).toEqual({ ...tokens, calls: 1, cost: 2 + 1 + 0.4 + 1 });
  });

  test("charges the whole call at the other rate when its prompt is long", () => {
    const low = { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 };
    const price = { ...low, longPrompt: { above: 100, input: 5, output: 5, cacheRead: 5, cacheWrite: 5 } };
    const short = { input: 40, output: 1_000, cacheRead: 40, cacheWrite: 20 };
    expect(computeCallUsage(short, price).cost).toBeCloseTo(1_100 / 1e6);
    expect(computeCallUsage({ ...short, cacheRead: 41 }, price).cost).toBeCloseTo((5 * 1_101) / 1e6);
  });

  test("counts the dearest known price when the price is unknown, and says so", () => {
    const dearest = computeCallUsage(tokens, undefined);
    expect(dearest.cost).toBeGreaterThanOrEqual(
      computeCallUsage(tokens, lookUpModel("openai/gpt-6-astra").price).cost,
    );
    expect(addUsage(noUsage, dearest).priceUnknown).toBe(true);
  });
});
