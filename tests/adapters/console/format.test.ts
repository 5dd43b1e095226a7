/** Figures in words, as the console's page writes them. */
import { expect, test } from "vitest";
import { formatDuration, formatShort } from "../../../src/adapters/console/page/format.ts";

test("a duration has no sixtieth second and no thousandth millisecond", () => {
  const durations = [0, 420, 999.4, 999.6, 1_450, 59_949, 59_970, 119_400, 119_700, 3_599_800, 3_660_000];
  expect(durations.map(formatDuration)).toEqual([
    ...["0 ms", "420 ms", "999 ms", "1.0 s", "1.4 s", "59.9 s"],
    ...["1 min 0 s", "1 min 59 s", "2 min 0 s", "1 h 0 min", "1 h 1 min"],
  ]);
});

test("a thousand is a small k in narrow places", () => {
  expect([999, 12_345, 6_200_000].map(formatShort)).toEqual(["999", "12.3k", "6.2M"]);
});
