import { readFileSync } from "node:fs";

const codes = JSON.parse(readFileSync(new URL("discounts.json", import.meta.url), "utf8"));

/** The rate of a code, 0 where it is unknown. */
export function rateOf(code) {
  return codes[code] ?? 0;
}
