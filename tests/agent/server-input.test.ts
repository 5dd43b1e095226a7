import { expect, test } from "vitest";
import {
  findDefaultOptions,
  type InputField,
  parseForm,
  readFields,
  type WrittenFields,
} from "../../src/agent/server-input.ts";

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
  [field("a", "text", { format: "email" }), "ada@example.com", "ada@example.com"],
  [field("a", "text", { format: "email" }), "ada", "a: expected an e-mail address."],
  [field("a", "text", { format: "uri" }), "https://example.com/x", "https://example.com/x"],
  [field("a", "text", { format: "uri" }), "here", "a: expected an address, such as https://example.com."],
  [field("a", "text", { format: "date" }), "2026-02-28", "2026-02-28"],
  [field("a", "text", { format: "date" }), "2026-02-30", "a: expected a date, such as 2026-12-31."],
  [field("a", "text", { format: "date-time" }), "2026-02-28T10:00:00+01:00", "2026-02-28T10:00:00+01:00"],
  [
    field("a", "text", { format: "date-time" }),
    "2026-02-28",
    "a: expected a day and time, such as 2026-12-31T14:30:00Z.",
  ],
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

test.each<[InputField, WrittenFields[string] | undefined, unknown]>([
  [field("a", "text"), " x: y ", "x: y"],
  [field("a", "integer", { least: 1 }), "0", "a: expected a whole number of at least 1."],
  [field("a", "yes-no"), [1], false],
  [field("a", "yes-no"), [0, 1], "a: expected yes or no."],
  [field("a", "one", { options }), [1], "b"],
  [field("a", "one", { options }), [2], "a: expected one of Red, Blue."],
  [
    field("a", "one", {
      options: [
        { value: "Blue", title: "Red" },
        { value: "x", title: "Blue" },
      ],
    }),
    [1],
    "x",
  ],
  [
    field("a", "many", { options, least: 2 }),
    [0],
    "a: expected some of Red, Blue, with commas between them.",
  ],
  [field("a", "many", { options }), [0, 1], ["r", "b"]],
  [field("a", "many", { options }), [], "a: expected some of Red, Blue, with commas between them."],
  [field("a", "one", { options, required: false, default: "Red" }), [], undefined],
  [field("a", "text", { required: false, default: "x" }), undefined, undefined],
  // As programs give them.
  [field("a", "integer", { most: 9 }), 7, 7],
  [field("a", "integer", { most: 9 }), 10, "a: expected a whole number of at most 9."],
  [field("a", "integer"), 0.5, "a: expected a whole number."],
  [field("a", "text"), 7, "a: expected a text."],
  [field("a", "yes-no"), false, false],
  [field("a", "text"), true, "a: expected a text."],
  [field("a", "one", { options }), "b", "b"],
  [field("a", "many", { options }), ["b", "r"], ["b", "r"]],
  [field("a", "many", { options }), ["b", "x"], "a: expected some of Red, Blue, with commas between them."],
])("of the input %o, %j is read as %j", (one, put, expected) => {
  const read = readFields([one], put === undefined ? {} : { a: put });
  expect("problem" in read ? read.problem : read.content["a"]).toEqual(expected);
});

test("Defaults are chosen beforehand", () => {
  expect(findDefaultOptions(field("a", "many", { options, default: "Red, Blue" }))).toEqual([0, 1]);
  expect(findDefaultOptions(field("a", "yes-no", { default: "no" }))).toEqual([1]);
  expect(findDefaultOptions(field("a", "one", { options }))).toEqual([]);
});
