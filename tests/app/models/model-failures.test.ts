import { expect, test } from "vitest";
import { createModelFailures } from "../../../src/app/models/model-failures.ts";

const refused = (message: string, detail: string) => ({ message, detail });

test("The last failed calls are kept, one of each model and message, with how often and what was said last", () => {
  let now = 0;
  const failures = createModelFailures(() => ++now);
  for (const detail of ["effort", "effort", "tools"]) failures.note("a/b", refused("Invalid.", detail));
  failures.note("c/d", refused("Invalid.", ""));
  expect(failures.list()).toEqual([
    { model: "c/d", message: "Invalid.", detail: "", at: 4, times: 1 },
    { model: "a/b", message: "Invalid.", detail: "tools", at: 3, times: 3 },
  ]);
  failures.note("a/b", refused("Invalid.", "effort"));
  expect(failures.list()[0]).toMatchObject({ model: "a/b", at: 5, times: 4 });
  for (let kind = 0; kind < 9; kind += 1) failures.note("e/f", refused(`No ${kind}.`, ""));
  expect(failures.list().map(({ message }) => message)).toEqual([
    "No 8.",
    "No 7.",
    "No 6.",
    "No 5.",
    "No 4.",
  ]);
});
