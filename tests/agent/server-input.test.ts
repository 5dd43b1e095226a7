import { expect, test } from "vitest";
import { type InputField, parseForm } from "../../src/agent/server-input.ts";

const field = (name: string, kind: InputField["kind"], more: Partial<InputField> = {}): InputField => ({
  ...{ name, title: name, kind, required: true },
  ...more,
});
const options = [
  { value: "r", title: "Red" },
  { value: "b", title: "Blue" },
];

test.each<[InputField, string, unknown]>([
  [field("a", "text", { least: 2, most: 4 }), " abc ", "abc"],
  [field("a", "text", { most: 2 }), "abc", "a: expected a text of at most 2 characters."],
  [field("a", "integer", { least: 1, most: 9 }), "7", 7],
  [field("a", "integer"), "7.5", "a: expected a whole number."],
  [field("a", "number"), "-1.5e2", -150],
  [field("a", "number"), "0x10", "a: expected a number."],
  [field("a", "yes-no"), "Yes", true],
  [field("a", "yes-no"), "maybe", "a: expected yes or no."],
  [field("a", "one", { options }), "blue", "b"],
  [field("a", "one", { options }), "green", "a: expected one of Red, Blue."],
  [field("a", "many", { options }), "Red, b", ["r", "b"]],
  [field("a", "text", { required: false }), "", undefined],
  [field("a", "text"), "", "a: expected a text."],
])("of %o, %j is read as %j", (one, text, expected) => {
  const read = parseForm([one], text);
  expect("problem" in read ? read.problem : read.content["a"]).toEqual(expected);
});

test("A form of several fields takes a line for each, by name or title, in any order", () => {
  const fields = [
    field("subject", "text"),
    field("count", "integer", { title: "How many", required: false }),
  ];
  expect(parseForm(fields, "How many: 3\n\nSubject: A: b")).toEqual({
    content: { count: 3, subject: "A: b" },
  });
  expect(parseForm(fields, "subject: x")).toEqual({ content: { subject: "x" } });
  expect(parseForm(fields, "count: 3")).toEqual({ problem: "subject: expected a text." });
  expect(parseForm(fields, "subject x")).toMatchObject({ problem: expect.stringContaining("name: value") });
  expect(parseForm(fields, "__proto__: x")).toMatchObject({ problem: expect.any(String) });
});
