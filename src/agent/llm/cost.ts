import type { ModelLimits, Usage } from "./model.ts";

/** The tokens of one model call. `input` excludes those read from or written to a cache. */
export type CallTokens = Pick<Usage, "input" | "output" | "cacheRead" | "cacheWrite">;

/** The usage of one model call with its cost at `price`; the cost is 0 when the price is unknown. */
export function callUsage(tokens: CallTokens, price: ModelLimits["price"]): Usage {
  return { ...tokens, cost: costOf(tokens, price), calls: 1 };
}

function costOf(tokens: CallTokens, price: ModelLimits["price"]): number {
  if (!price) return 0;
  const prompt = tokens.input + tokens.cacheRead + tokens.cacheWrite;
  const rate = price.longPrompt && prompt > price.longPrompt.above ? price.longPrompt : price;
  const perMillion =
    tokens.input * rate.input +
    tokens.output * rate.output +
    tokens.cacheRead * rate.cacheRead +
    tokens.cacheWrite * rate.cacheWrite;
  return perMillion / 1_000_000;
}
