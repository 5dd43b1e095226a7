import type { ModelLimits, Usage } from "../model.ts";
import { dearestPrice } from "./catalogue.ts";

/** The tokens of one model call. `input` excludes those read from or written to a cache. */
export type CallTokens = Pick<Usage, "input" | "output" | "cacheRead" | "cacheWrite">;

/** The usage of one model call with its cost at `price`; an unknown price counts as the dearest known one. */
export function computeCallUsage(tokens: CallTokens, price: ModelLimits["price"]): Usage {
  const usage = { ...tokens, cost: computeCost(tokens, price ?? dearestPrice), calls: 1 };
  return price ? usage : { ...usage, priceUnknown: true };
}

function computeCost(tokens: CallTokens, price: NonNullable<ModelLimits["price"]>): number {
  const prompt = tokens.input + tokens.cacheRead + tokens.cacheWrite;
  const rate = price.longPrompt && prompt > price.longPrompt.above ? price.longPrompt : price;
  const perMillion =
    tokens.input * rate.input +
    tokens.output * rate.output +
    tokens.cacheRead * rate.cacheRead +
    tokens.cacheWrite * rate.cacheWrite;
  return perMillion / 1_000_000;
}
