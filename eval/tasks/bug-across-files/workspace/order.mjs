import { rateOf } from "./discounts.mjs";
import { discounted } from "./price.mjs";

export function totalOf(items, code) {
  const cents = items.reduce((sum, { price, count }) => sum + price * count, 0);
  return discounted(cents, rateOf(code));
}
