import { readFileSync } from "node:fs";

const codes = JSON.parse(readFileSync(new URL("discounts.json", import.meta.url), "utf8"));

/** The rate of a code as a share, 0 where it is unknown. */
export function rateOf(code) {
  return (codes[code] ?? 0) / 100;
}
