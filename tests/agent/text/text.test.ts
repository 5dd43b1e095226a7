import fc from "fast-check";
import { expect, test } from "vitest";
import { cutText, toWellFormed } from "../../../src/agent/text/text.ts";

test("A value is the same without halves of surrogate pairs, wherever they are", () => {
  expect(toWellFormed({ "a\ud83d": ["b\udc40", 1, null, { c: "👀" }] })).toEqual({
    "a\ufffd": ["b\ufffd", 1, null, { c: "👀" }],
  });
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(toWellFormed(value)).toEqual(value);
    }),
  );
});

test("The beginning of a text is never longer than asked for, and no pair is cut", () => {
  expect(cutText("👀👀👀", 4)).toBe("👀…");
  expect(cutText("one two", 5)).toBe("one…");
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 1, max: 20 }), (text, characters) => {
      const begun = cutText(text, characters);
      expect(begun.length).toBeLessThanOrEqual(characters);
      expect(begun.isWellFormed()).toBe(true);
      expect(begun === text).toBe(text.length <= characters);
    }),
  );
});
