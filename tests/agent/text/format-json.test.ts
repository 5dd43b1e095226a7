import fc from "fast-check";
import { expect, test } from "vitest";
import { formatJson } from "../../../src/agent/text/format-json.ts";

test("A value is shown with each member on a line of its own, whatever is in it", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(1, 2), (value, indent) => {
      expect(formatJson(value, indent)).toBe(JSON.stringify(value, null, indent));
    }),
  );
  const brackets = { text: '\\"[[[{{{'.repeat(10_000) };
  expect(formatJson(brackets)).toBe(JSON.stringify(brackets, null, 2));
  expect(formatJson(undefined)).toBe("");
});

test("A large value of ordinary depth is indented", () => {
  const events = Array.from({ length: 5_000 }, (_, id) => ({ id, user: { name: "Ada", roles: ["a", "b"] } }));
  expect(formatJson({ events })).toBe(JSON.stringify({ events }, null, 2));
});

test.each([
  [60, 100_000],
  [2_000, 5_000],
  [100_000, 1],
])("One that is %d levels deep is never much longer than without indentation", (depth, members) => {
  const json = `{"a":${"[".repeat(depth)}${"1,".repeat(members)}1${"]".repeat(depth)}}`;
  expect(formatJson(JSON.parse(json))).toBe(json);
});
