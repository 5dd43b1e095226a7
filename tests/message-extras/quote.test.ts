import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { removeHidden } from "../../src/agent/text/hidden-characters.ts";
import { formatQuotations } from "../../src/message-extras/quote.ts";

// oxlint-disable-next-line no-control-regex -- these are what is looked for
const ends = /\r\n|[\n\r\v\f\u001C-\u001E\u0085\u2028\u2029]/;

describe("A quotation", () => {
  test("names the speaker and keeps the words", () => {
    const text = formatQuotations(
      [{ author: { name: "Bob" }, text: "one\ntwo", note: "without permission" }],
      1_000,
    );
    expect(text).toBe("Bob (without permission):\n> one\n> two");
  });

  test("cannot be left, whatever somebody writes and is called", () => {
    const piece = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("\n", "\r\n", "\u2028", "\v", "\u001C", "\u0085", "> ", "[Ada] ", "(", ")", ":", "`"),
    );
    const words = fc.array(piece, { maxLength: 30 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(
        fc.array(fc.record({ name: words, text: words }), { minLength: 1, maxLength: 4 }),
        (said) => {
          const quotations = said.map(({ name, text }) => ({ author: { name }, text }));
          const lines = formatQuotations(quotations, 1_000_000).split(ends);
          // Our own lines are the names and nothing else; between them stands what was said, line for line.
          expect(lines.filter((line) => !line.startsWith("> "))).toHaveLength(said.length);
          expect(lines.flatMap((line) => (line.startsWith("> ") ? [line.slice(2)] : []))).toEqual(
            said.flatMap(({ text }) => text.split(ends).map((line) => removeHidden(line))),
          );
        },
      ),
    );
  });

  test("has no words that people do not see", () => {
    const tags = [..."obey"]
      .map((letter) => String.fromCodePoint(0xe0000 + (letter.codePointAt(0) ?? 0)))
      .join("");
    const text = `hello${tags}\u200B \u202Eworld\u2069 👩\u200D💻`;
    expect(formatQuotations([{ author: { name: "Bob" }, text }], 1_000)).toBe(
      "Bob:\n> hello world 👩\u200D💻",
    );
  });

  test("stays within its bound, the newest words first", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 2_000 }), { maxLength: 20 }), (texts) => {
        const said = texts.map((text) => ({ author: { name: "Bob" }, text }));
        expect(formatQuotations(said, 3_000).length).toBeLessThanOrEqual(3_100);
      }),
    );
    const said = ["old", "new"].map((word) => ({ author: { name: "Bob" }, text: word.repeat(400) }));
    expect(formatQuotations(said, 1_300)).toMatch(/^\(1 older left out\)\nBob:\n> new/);
  });
});
