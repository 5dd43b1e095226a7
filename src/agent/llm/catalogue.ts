import { findOpenWeights } from "./open-weights.ts";
import type { Effort, ModelLimits, TokenPrice } from "../model.ts";

/** What must be known about a model before the first call. */
export interface ModelFacts extends ModelLimits {
  /** Whether it takes `thinking: {type: "adaptive"}` (Anthropic protocol only). */
  adaptiveThinking: boolean;
}

/** What is known about the model `id` (`provider/model`) without a request; for an unknown model, only defaults. */
export function lookUpModel(id: string): ModelFacts {
  const model = id.slice(id.indexOf("/") + 1).replace(/-\d{8}$/, "");
  // Routers put the vendor before the name (`anthropic/claude-opus-5`), Bedrock too (`us.anthropic.claude-opus-5`).
  const bare = model.replace(/^.*\//, "").replace(/^(?:\w+\.)?anthropic\./, "");
  return catalogue.get(model) ?? catalogue.get(bare) ?? { ...unknownModel, ...findOpenWeights(model) };
}

/** Small enough for nearly every model that can use tools; a wrong guess costs no more than an early compaction. */
const unknownModel: ModelFacts = {
  contextTokens: 128_000,
  maxOutputTokens: 8_192,
  images: false,
  adaptiveThinking: false,
};

/** The list price of a Claude model: a cache write costs 1.25 and a read 0.1 of the input unless said otherwise. */
function claudePrice(input: number, output: number, cacheRead = input / 10): TokenPrice {
  return { input, output, cacheRead, cacheWrite: input * 1.25 };
}

/** Of `output_config.effort`, `xhigh` came with 4.7 and `max` with 4.6 (platform.claude.com, “Effort”). */
const effortsOf46: readonly Effort[] = ["low", "medium", "high", "max"];
const effortsOf47: readonly Effort[] = ["low", "medium", "high", "xhigh", "max"];

/** The Claude models from 4.7 on. */
const claude = {
  contextTokens: 1_000_000,
  maxOutputTokens: 128_000,
  images: true,
  adaptiveThinking: true,
  efforts: effortsOf47,
};
/** The Claude models before 4.6, which only support thinking with a fixed budget. */
const claude45 = {
  contextTokens: 200_000,
  maxOutputTokens: 64_000,
  images: true,
  adaptiveThinking: false,
  efforts: [],
};

/** OpenAI charges a whole request at twice the input and 1.5 times the output rate beyond 272,000 tokens of prompt. */
function gpt(input: number, output: number, cacheRead: number): ModelFacts {
  const price = { input, output, cacheRead, cacheWrite: input * 1.25 };
  const longPrompt = {
    above: 272_000,
    input: input * 2,
    output: output * 1.5,
    cacheRead: cacheRead * 2,
    cacheWrite: input * 2.5,
  };
  return {
    contextTokens: 1_050_000,
    maxOutputTokens: 128_000,
    images: true,
    adaptiveThinking: false,
    price: { ...price, longPrompt },
  };
}

/** MiniMax's own figures; other hosts of the same weights publish other windows. */
function miniMax(input: number, output: number): ModelFacts {
  return {
    contextTokens: 204_800,
    maxOutputTokens: 65_536,
    images: false,
    adaptiveThinking: false,
    price: { input, output, cacheRead: input / 10, cacheWrite: input * 1.25 },
  };
}

/** Limits and list prices as published in November 2026 (platform.claude.com, developers.openai.com, MiniMax). */
const catalogue = new Map<string, ModelFacts>([
  ["claude-fable-5-2", { ...claude, price: claudePrice(10, 50) }],
  ["claude-fable-5-1", { ...claude, price: claudePrice(10, 50) }],
  ["claude-fable-5", { ...claude, price: claudePrice(10, 50) }],
  ["claude-opus-5-5", { ...claude, price: claudePrice(4, 20, 0.2) }],
  ["claude-opus-5", { ...claude, price: claudePrice(5, 25) }],
  ["claude-opus-4-8", { ...claude, price: claudePrice(5, 25) }],
  ["claude-opus-4-7", { ...claude, price: claudePrice(5, 25) }],
  ["claude-opus-4-6", { ...claude, efforts: effortsOf46, price: claudePrice(5, 25) }],
  ["claude-sonnet-5-5", { ...claude, price: claudePrice(2, 10) }],
  ["claude-sonnet-5", { ...claude, price: claudePrice(2, 10) }],
  [
    "claude-sonnet-4-6",
    { ...claude, efforts: effortsOf46, maxOutputTokens: 64_000, price: claudePrice(3, 15) },
  ],
  [
    "claude-haiku-5-5",
    {
      ...claude,
      price: { ...claudePrice(0.1, 0.5), longPrompt: { ...claudePrice(0.5, 2.5), above: 100_000 } },
    },
  ],
  ["claude-opus-4-5", { ...claude45, efforts: ["low", "medium", "high"], price: claudePrice(5, 25) }],
  ["claude-haiku-4-5", { ...claude45, price: claudePrice(1, 5) }],
  ["claude-sonnet-4-5", { ...claude45, price: claudePrice(3, 15) }],

  ["gpt-6-astra", gpt(10, 50, 1)],
  ["gpt-6.1-sol", gpt(2, 10, 0.1)],
  ["gpt-5.6-terra", gpt(2, 12, 0.2)],

  ["MiniMax-M2.5", miniMax(0.3, 1.2)],
  ["MiniMax-M2.5-highspeed", miniMax(0.6, 2.4)],
  ["MiniMax-M2.7", miniMax(0.3, 1.2)],
  ["MiniMax-M2.7-highspeed", miniMax(0.6, 2.4)],
  ["MiniMax-M2.1", miniMax(0.3, 1.2)],
  ["MiniMax-M2", miniMax(0.3, 1.2)],
]);

const prices = [...catalogue.values()].flatMap(({ price = [] }) => price);
const longPrompts = prices.flatMap(({ longPrompt = [] }) => longPrompt);

/** The highest price among the models above, for a model whose price is unknown. */
export const dearestPrice: NonNullable<ModelLimits["price"]> = {
  ...findDearest(prices),
  longPrompt: { ...findDearest(longPrompts), above: Math.min(...longPrompts.map(({ above }) => above)) },
};

function findDearest(some: readonly TokenPrice[]): TokenPrice {
  const most = (kind: keyof TokenPrice) => Math.max(...some.map((price) => price[kind]));
  return {
    input: most("input"),
    output: most("output"),
    cacheRead: most("cacheRead"),
    cacheWrite: most("cacheWrite"),
  };
}
