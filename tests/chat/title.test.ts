import fc from "fast-check";
import { expect, test } from "vitest";
import { makeTitle } from "../../src/chat/title.ts";

test.each([
  ["## **Tests** of `loom_io`", "Tests of loom_io"],
  ["> - [ ] _really_ ***soon***", "really soon"],
  ["-# small print", "small print"],
  ["see [the *plan*](https://a.example/x_(y)), ![a cat](cat.png)", "see the plan, a cat"],
  [
    "ask <@123> and <@!4> in <#56> about <https://a.example/b_c_d>",
    "ask @123 and @4 in #56 about https://a.example/b_c_d",
  ],
  ["**~~old~~ and ||hidden||**", "old and hidden"],
  ["`**literally**` and **`x_y`**", "**literally** and x_y"],
  ["\n---\n```python\nprint(1)\n```", "print(1)"],
  ["  \n\n", ""],
  ["```", ""],
])("The title of %j is %j", (markdown, title) => {
  expect(makeTitle(markdown, 80)).toBe(title);
});

test.each([
  "2 * 3 * 4",
  "2*3*4",
  "**/*.ts and *.js",
  "snake_case_name",
  "fix __init__.py",
  "a || b",
  "#general: go",
  "C# or F#",
  "arr[0] (x)",
  "1. that",
])("%j is plain already", (text) => expect(makeTitle(text, 80)).toBe(text));

test("A title is cut with an ellipsis and never within a character", () => {
  expect(makeTitle("one two three", 9)).toBe("one two…");
  expect(makeTitle("ab🧵cd", 4)).toBe("ab…");
  const character = fc.constantFrom("a", " ", "*", "\n", "🧵", "\uD83E", "\uDDF5");
  fc.assert(
    fc.property(fc.array(character, { maxLength: 30 }), fc.integer({ min: 2, max: 20 }), (text, chars) => {
      const title = makeTitle(text.join(""), chars);
      expect(title.length).toBeLessThanOrEqual(chars);
      expect(title.isWellFormed()).toBe(true);
      expect(title).not.toContain("\n");
    }),
  );
});

test("A hostile text holds nobody up", () => {
  const parts = fc.constantFrom("**", "*", "__", "`", "[", "](", ")", "||", " ", "a", "> ", "<");
  fc.assert(
    fc.property(parts, parts, (one, other) => {
      makeTitle(`${one}${other}`.repeat(1_000), 80);
      makeTitle(one.repeat(400) + other.repeat(400), 80);
    }),
  );
});
