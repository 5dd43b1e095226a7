import { expect, test } from "vitest";
import { describeForPeople, readScheduleCommand } from "../../../src/intake/text-commands/schedules.ts";

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

test("the hour of what comes once is told by the clock of 24 hours", () => {
  const schedule = { id: "s1", task: "look", by: "Ada", next: Date.UTC(2026, 10, 23, 20, 0) };
  expect(describeForPeople({ ...schedule, when: { kind: "once", at: schedule.next } })).toContain("20:00");
});

const at = Date.UTC(2026, 10, 23, 8, 0);
test.each([
  ["0 9 * * 1-5", "Europe/Berlin", "weekdays at 09:00 (Europe/Berlin), next Mon 23 Nov 09:00"],
  ["30 8 * * *", "UTC", "every day at 08:30 (UTC), next Mon 23 Nov 08:00"],
  ["0 21 * * sat,sun", "UTC", "weekends at 21:00 (UTC), next Mon 23 Nov 08:00"],
  ["5 * * * *", "UTC", "every hour at :05 (UTC), next Mon 23 Nov 08:00"],
  ["0 18 * * 1,5", "UTC", "Mondays, Fridays at 18:00 (UTC), next Mon 23 Nov 08:00"],
  ["*/5 9 1 * *", "UTC", "cron `*/5 9 1 * *` (UTC), next Mon 23 Nov 08:00"],
])("the schedule %s is told in words", (pattern, timeZone, words) => {
  const schedule = { id: "s1", task: "look at\nthe builds", by: "Ada", next: at };
  expect(describeForPeople({ ...schedule, when: { kind: "cron", pattern, timeZone } })).toBe(
    `${words} · \`s1\` by Ada: look at the builds`,
  );
  expect(describeForPeople({ ...schedule, when: { kind: "once", at } })).toMatch(
    /^once, Mon 23 Nov 08:00 \(UTC\)/,
  );
});
