import { describe, expect, test } from "vitest";
import { schedule } from "../../../src/agent/tools/schedule.ts";
import type { Schedule, When } from "../../../src/agent/contracts/schedule-store.ts";
import { dispatcherOf, memoryNotes, run } from "./services.ts";

const now = Date.parse("2026-05-04T12:00:00Z");

/** The tool with a store that keeps what it is given, or refuses it. */
function planner(refused?: string) {
  const planned: Schedule[] = [];
  const dispatcher = dispatcherOf({
    tools: [schedule],
    services: {
      notes: memoryNotes(),
      now: () => now,
      schedules: {
        async add({ task, when }: { task: string; when: When }) {
          if (refused) return { refused };
          const next = when.kind === "once" ? when.at : now;
          const added: Schedule = { id: `s${planned.length + 1}`, task, when, by: "Ada", next };
          planned.push(added);
          return { schedule: added };
        },
        list: async () => planned,
        cancel: async (id) => planned.some((one) => one.id === id),
      },
    },
  });
  return { planned, call: (input: object) => run(dispatcher, "schedule", input) };
}

describe("The schedule tool", () => {
  test.each([
    [{ in_minutes: 20 }, { kind: "once", at: now + 1_200_000 }],
    [{ at: "2026-05-05T09:00:00+02:00" }, { kind: "once", at: Date.parse("2026-05-05T07:00:00Z") }],
    [{ cron: "0 9 * * 1-5" }, { kind: "cron", pattern: "0 9 * * 1-5", timeZone: "UTC" }],
    [
      { cron: "0 9 * * 1-5", time_zone: "Europe/Berlin" },
      { kind: "cron", pattern: "0 9 * * 1-5", timeZone: "Europe/Berlin" },
    ],
  ])("plans a task for %j", async (time, when) => {
    const { planned, call } = planner();
    expect((await call({ action: "create", task: "look at the build", ...time })).text).toMatch(
      /^Planned\. s1: .* by Ada: look at the build$/,
    );
    expect(planned).toMatchObject([{ task: "look at the build", when }]);
  });

  test("lists with the time of now, and cancels by the id", async () => {
    const { call } = planner();
    expect((await call({ action: "list" })).text).toBe(
      "It is 2026-05-04 12:00 UTC.\nNothing is planned in this thread.",
    );
    await call({ action: "create", task: "look\nclosely", in_minutes: 1 });
    expect((await call({ action: "list" })).text).toBe(
      "It is 2026-05-04 12:00 UTC.\ns1: once, 2026-05-04 12:01 UTC, by Ada: look closely",
    );
    expect((await call({ action: "cancel", id: "s1" })).text).toBe("Schedule s1 is cancelled.");
    expect((await call({ action: "cancel", id: "s2" })).status).toBe("error");
  });

  test("passes on why something cannot be planned", async () => {
    const { call } = planner("that time is over.");
    expect(await call({ action: "create", task: "look", in_minutes: 1 })).toMatchObject({
      status: "error",
      text: "Nothing was planned: that time is over. It is 2026-05-04 12:00 UTC.",
    });
  });

  test.each([
    { action: "create", task: "look" },
    { action: "create", in_minutes: 1 },
    { action: "create", task: "look", in_minutes: 1, cron: "0 9 * * *" },
    { action: "create", task: "look", at: "tomorrow" },
    { action: "create", task: "look", at: "2026-05-05T09:00:00" },
    { action: "create", task: "x".repeat(2_001), in_minutes: 1 },
    { action: "cancel" },
  ])("refuses %j", async (input) => {
    expect((await planner().call(input)).text).toMatch(/^INVALID_PARAM: /);
  });

  test("says so where nothing can be planned", async () => {
    expect((await run(dispatcherOf({ tools: [schedule] }), "schedule", { action: "list" })).status).toBe(
      "error",
    );
  });
});
