import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { countLines, fits, truncate, type TruncateMode } from "../../../src/agent/context/truncate.ts";

const lines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join("");

describe("a text within the limits", () => {
  test("stays as it is", () => {
    expect(truncate("a\nb", { lines: 2, size: 3 }, { keep: "both" })).toBe("a\nb");
  });
});

describe("a text with too many lines", () => {
  test("keeps its first lines with head, and says what is missing and where it is", () => {
    const cut = truncate(lines(20), { lines: 10, size: 10_000 }, { keep: "head", more: "See out.txt." });
    expect(cut).toBe(`${lines(10)}[left out: lines 11 to 20, 80 bytes. See out.txt.]`);
  });

  test("keeps its last lines with tail", () => {
    const cut = truncate(lines(20), { lines: 1, size: 10_000 }, { keep: "tail" });
    expect(cut).toBe("[left out: lines 1 to 19, 143 bytes.]\nline 20\n");
  });

  test("is numbered from where it begins in a larger one", () => {
    const cut = truncate(lines(20), { lines: 1, size: 10_000 }, { keep: "head", firstLine: 101 });
    expect(cut).toBe("line 1\n[left out: lines 102 to 120, 144 bytes.]");
  });

  test("keeps both ends around the notice with both", () => {
    const cut = truncate(lines(20), { lines: 3, size: 10_000 }, { keep: "both" });
    expect(cut).toBe("line 1\nline 2\n[left out: lines 3 to 19, 129 bytes.]\nline 20\n");
  });
});

describe("a text that is too large", () => {
  test("is cut at line ends where whole lines fit", () => {
    const cut = truncate(lines(20_000), { lines: 2_000, size: 1_000 }, { keep: "both" });
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(1_000);
    const kept = cut.split("\n").filter((line) => line !== "" && !line.startsWith("[left out"));
    expect(kept.every((line) => /^line \d+$/.test(line))).toBe(true);
  });

  test("of one long line is cut inside it and is still valid UTF-8", () => {
    const cut = truncate("é😀".repeat(1_000), { lines: 2_000, size: 100 }, { keep: "head" });
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(100);
    expect(cut.isWellFormed()).toBe(true);
    expect(cut).toMatch(/^[é😀]+\n\[left out: \d+ of 6000 bytes\.\]$/u);
  });

  test("has its tokens measured, not guessed from its bytes", () => {
    const words = (text: string) => text.split(/\s+/).filter(Boolean).length;
    const uneven = `${"x".repeat(5_000)}\n${"a b c d e f g h\n".repeat(500)}`;
    const cut = truncate(uneven, { lines: 10_000, size: 100, measure: words }, { keep: "both" });
    expect(words(cut)).toBeLessThanOrEqual(100);
    expect(words(cut)).toBeGreaterThan(80);
  });
});

test("whatever the text and the limits, the result fits, is valid, and is made of the text's own ends", () => {
  const part = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.constantFrom("\n", "\r\n", "word ", "😀", "我们"),
  );
  const limits = fc.record({ lines: fc.nat(10), size: fc.nat(300) });
  const keep = fc.constantFrom<TruncateMode>("head", "tail", "both");
  fc.assert(
    fc.property(fc.array(part, { maxLength: 80 }), limits, keep, (parts, limit, side) => {
      const text = parts.join("");
      const cut = truncate(text, limit, { keep: side, more: "See out.txt." });
      expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(limit.size);
      expect(cut.isWellFormed()).toBe(text.isWellFormed());
      if (fits(text, limit)) expect(cut).toBe(text);
      const [head, tail] = cut.split(/\[left out: .* See out\.txt\.\]\n?/);
      if (fits(text, limit) || head === undefined || tail === undefined) return;
      expect(text.startsWith(head) || text.startsWith(head.slice(0, -1))).toBe(true);
      expect(text.endsWith(tail)).toBe(true);
      expect(countLines(head) + countLines(tail)).toBeLessThanOrEqual(limit.lines + 1);
    }),
    { numRuns: 1_000 },
  );
});

test.each(["x", "\n"])("a megabyte of %j takes no more than a moment", (character) => {
  const limits = { lines: 2_000, size: 51_200 };
  const text = truncate(character.repeat(1 << 20), limits, { keep: "both" });
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limits.size);
});
