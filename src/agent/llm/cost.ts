import type { ModelLimits, Usage } from "../model.ts";
import { dearestPrice } from "./catalogue.ts";

/** The tokens of one model call. `input` excludes those read from or written to a cache. */
export type CallTokens = Pick<Usage, "input" | "output" | "cacheRead" | "cacheWrite">;

/**
 * The usage of one model call with its cost at `price`; an unknown price counts as the dearest known one.
 *
 * @param other what the call costs beside its tokens, in US dollars
 */
export function computeCallUsage(tokens: CallTokens, price: ModelLimits["price"], other = 0): Usage {
  const usage = { ...tokens, cost: computeCost(tokens, price ?? dearestPrice) + other, calls: 1 };
  return price ? usage : { ...usage, priceUnknown: true };
}

/** What a call costs in which the service has searched so often. */
export function computeSearchCost(searches: number, { webSearch }: Pick<ModelLimits, "webSearch">): number {
  return searches * (webSearch?.price ?? 0);
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
