import { expect, test } from "vitest";
import { findPromptProblem, readPromptChoice } from "../../src/chat/prompt-choice.ts";

test.each([
  ["tickets/triage", { server: "tickets", name: "triage" }, ""],
  ["tickets/triage the oldest first", { server: "tickets", name: "triage" }, "the oldest first"],
  [
    'tickets/triage project=heddle since="last week" of=“a b” look, x=1',
    { server: "tickets", name: "triage", arguments: { project: "heddle", since: "last week", of: "a b" } },
    "look, x=1",
  ],
  ["tickets/triage project=\nwhy", { server: "tickets", name: "triage", arguments: { project: "" } }, "why"],
])("%j is read as a prompt", (text, choice, rest) => {
  expect(readPromptChoice(text)).toEqual({ choice, rest });
});

test.each(["triage", "the tickets/triage", "tickets/", "tickets/tri?age", `${"x".repeat(70)}/a`])(
  "%j names no prompt",
  (text) => {
    expect(readPromptChoice(text)).toBeUndefined();
  },
);

const offered = [
  {
    ...{ server: "tickets", name: "triage", description: "" },
    arguments: [
      { name: "project", required: true },
      { name: "since", required: false },
    ],
  },
];

test("What is wrong with a choice is said with what to write", () => {
  const problem = (given: Record<string, string>, name = "triage") =>
    findPromptProblem({ server: "tickets", name, arguments: given }, offered);
  expect(problem({ project: "heddle" })).toBeUndefined();
  expect(problem({})).toBe("The prompt tickets/triage needs project: write `tickets/triage project=…`.");
  expect(problem({ project: "heddle", when: "now" })).toBe(
    "The prompt tickets/triage has no when; it takes project, since.",
  );
  expect(problem({}, "other")).toBe(
    "The prompt tickets/other cannot be chosen here: choose one of `tickets/triage project=…`.",
  );
  expect(findPromptProblem({ server: "a", name: "b" }, [])).toContain("no prompts are known so far");
});
