import { expect, test } from "vitest";
import { readScheduleCommand } from "../../../src/intake/text-commands/schedules.ts";

test.each([
  ["/schedules", { do: "list" }],
  [" Schedules\n", { do: "list" }],
  ["!schedules", { do: "list" }],
  ["!unschedule s1f", { do: "cancel", id: "s1f" }],
  ["/unschedule s1f", { do: "cancel", id: "s1f" }],
  ["unschedule  `s1f` ", { do: "cancel", id: "s1f" }],
  ["which schedules are there?", undefined],
  ["unschedule all of them", undefined],
  ["/unschedule", undefined],
])("%j is read as %j", (text, words) => {
  expect(readScheduleCommand(text)).toEqual(words);
});
