import fc from "fast-check";
import { expect, test } from "vitest";
import { cutText, cutWords, toWellFormed } from "../../../src/agent/text/text.ts";

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

test("What is masked later ends with a whole word, where there is one before it or another script", () => {
  expect(cutWords("one two", 7)).toBe("one two");
  expect(cutWords("the key ghp_abcdefgh and", 16)).toBe("the key …");
  expect(cutWords("鍵は、ghp_abcdefgh", 10)).toBe("鍵は、…");
  expect(cutWords("空白のない長い文章です", 8)).toBe("空白のない長い…");
  expect(cutWords("ghp_abcdefgh", 8)).toBe("ghp_abc…");
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
