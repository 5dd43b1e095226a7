import { expect, test } from "vitest";
import { isBarePlan, readPlanTask } from "../../../src/intake/text-commands/plan.ts";

test.each([
  ["!plan move the report", "move the report"],
  ["/PLAN: move\nthe report", "move\nthe report"],
  [" !plan :move", "move"],
  ["!plan", undefined],
  ["!plan:  ", undefined],
  ["!planet of the apes", undefined],
  ["please !plan this", undefined],
])("of %j the task to plan is %j", (text, task) => {
  expect(readPlanTask(text)).toBe(task);
});

test.each([
  ["!plan", true],
  [" /Plan:\n", true],
  ["!plan it", false],
  ["plan", false],
  ["what is !plan", false],
])("whether %j lacks its task: %j", (text, isBare) => {
  expect(isBarePlan(text)).toBe(isBare);
});
