import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { truncate } from "../../../../src/agent/context/truncate.ts";
import { numberLines } from "../../../../src/agent/tools/files/numbered-lines.ts";

test("each line gets its number, also the empty one at the end", () => {
  expect(numberLines("a\n\nb\n", 999_998, 1_000)).toEqual({
    text: "999998|a\n999999|\n1000000|b\n1000001|",
  });
});

describe("of a text that is too long", () => {
  test("only the ends are numbered, however many lines it has", () => {
    const { text, gap } = numberLines("\n".repeat(4 << 20), 1, 1_000);
    expect(text.length).toBeLessThan(3_000);
    expect(text.split("\n").length + (gap?.lines ?? 0)).toBe((4 << 20) + 1);
  });

  test("the same is shown, and said of what is left out, as if all of it were numbered", () => {
    const line = fc.oneof(fc.constantFrom("", "é😀", "\r"), fc.string({ maxLength: 60 }));
    const firstLine = fc.constantFrom(1, 95, 999_970);
    fc.assert(
      fc.property(fc.array(line, { maxLength: 80 }), firstLine, fc.nat(300), (lines, first, size) => {
        const limits = { lines: 1_000, size: size + 60 };
        const show = (maxChars: number) => {
          const { text, gap } = numberLines(lines.join("\n"), first, maxChars);
          return truncate(text, limits, { keep: "both", firstLine: first, ...(gap && { gap }) });
        };
        expect(show(limits.size)).toBe(show(Number.MAX_SAFE_INTEGER));
      }),
      { numRuns: 500 },
    );
  });
});
