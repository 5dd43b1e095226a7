import { expect, test } from "vitest";
import { explainMistyped } from "../../../src/intake/text-commands/mistyped.ts";

test.each([
  ["!undo 0", "!undo 3"],
  ["!undo abc", "!undo 3"],
  ["!undo 100", "99 is the most"],
  ["/Undo  0 ", "!undo 3"],
  ["!redo 2", "!redo"],
  ["!fork x", "!fork 2"],
  ["!unschedule", "!schedules"],
  ["!unschedule all of them", "!schedules"],
  ["!queue remove 1", "!queue remove m7"],
  ["!notify maybe", "!notify on"],
  ["!approvals clear all", "!approvals clear"],
  ["!disconnect a b", "!disconnect <name>"],
  ["!model a b c", "!model <name>"],
  ["!skill a b", "!skill none"],
  ["!help undo", "`!help` is a command with nothing behind it."],
])("%j is answered with how it is written", (text, hint) => {
  expect(explainMistyped(text)).toContain(hint);
});

test.each([
  ["!hlep", "`!help`"],
  ["!HELO", "`!help`"],
  ["!stauts", "`!status`"],
  ["!udo", "`!undo`"],
  ["!undoo", "`!undo`"],
  ["!models", "`!model`"],
  ["!stpo", "`!stop`"],
  ["!contine", "`!continue`"],
  ["!rundo", "`!undo`"],
])("%j is answered with the command that was meant", (text, meant) => {
  expect(explainMistyped(text)).toContain(`did you mean ${meant}?`);
});

test.each([
  "!important: look at this",
  "!important",
  "!hlep me",
  "!deploy",
  "undo 0",
  "/etcp",
  "/hel",
  "!undo the last commit and push that to main",
  "!undo\n0",
  "!help me fix the build",
  "!status of the build",
  "!continue with the tests",
  "!stop the server",
  "!compact the css",
  "!continue",
  "!plan move the report",
  "!",
  "!!!",
  "please !undo 0",
])("%j stays a task", (text) => {
  expect(explainMistyped(text)).toBeUndefined();
});
