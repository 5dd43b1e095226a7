import { z } from "zod";
import {
  describeSchedule,
  formatInstant,
  type ScheduleStore,
  type When,
} from "../contracts/schedule-store.ts";
import { defineTool, type ToolResult } from "./tool.ts";

const minuteMs = 60_000;

const input = z.object({
  action: z.enum(["create", "list", "cancel"]),
  task: z
    .string()
    .trim()
    .min(1)
    .max(2_000)
    .optional()
    .describe("create: what is to be done then, understandable on its own"),
  in_minutes: z.number().positive().optional().describe("create: once, so many minutes from now"),
  at: z.iso
    .datetime({ offset: true })
    .optional()
    .describe("create: once, at this moment, e.g. 2026-11-05T09:00:00+01:00"),
  cron: z
    .string()
    .max(100)
    .optional()
    .describe("create: again and again: minute, hour, day of month, month, day of week; 0 9 * * 1-5"),
  time_zone: z
    .string()
    .max(64)
    .default("UTC")
    .describe("create: the time zone of cron by its IANA name, e.g. Europe/Berlin"),
  id: z.string().max(64).optional().describe("cancel: as list shows it"),
});

/** A turn that begins by itself: a reminder, a regular report, or the agent's own second look at something. */
export const schedule = defineTool({
  name: "schedule",
  description:
    "Plan a task of this thread for later: once, or again and again. When it is due, a turn begins here with the " +
    "task as its message, in the name of the person who speaks now. Also lists and cancels what is planned here. " +
    "Plan only what people have asked for, or a second look at what you are waiting for.",
  input: input.refine(isComplete, {
    message: "create needs task and exactly one of in_minutes, at and cron; cancel needs id",
  }),
  effect: "write",
  async run({ action, task = "", id = "", ...time }, { schedules, now }) {
    if (!schedules) return { status: "error", text: "Nothing can be planned in this installation." };
    switch (action) {
      case "create":
        return create(schedules, task, describeTime(time, now()), now());
      case "list": {
        const planned = (await schedules.list()).map(describeSchedule);
        const none = ["Nothing is planned in this thread."];
        return {
          status: "ok",
          text: [`It is ${formatInstant(now())}.`, ...(planned.length > 0 ? planned : none)].join("\n"),
        };
      }
      case "cancel":
        return (await schedules.cancel(id))
          ? { status: "ok", text: `Schedule ${id} is cancelled.` }
          : { status: "error", text: `There is no schedule "${id}" in this thread; list shows the ids.` };
    }
  },
});

type Input = z.infer<typeof input>;

function isComplete({ action, task, id, in_minutes, at, cron }: Input): boolean {
  switch (action) {
    case "create":
      return task !== undefined && [in_minutes, at, cron].filter((time) => time !== undefined).length === 1;
    case "list":
      return true;
    case "cancel":
      return id !== undefined;
  }
}

function describeTime({ in_minutes = 0, at, cron, time_zone }: Partial<Input>, now: number): When {
  if (cron !== undefined) return { kind: "cron", pattern: cron, timeZone: time_zone ?? "UTC" };
  return { kind: "once", at: at === undefined ? now + in_minutes * minuteMs : Date.parse(at) };
}

async function create(schedules: ScheduleStore, task: string, when: When, now: number): Promise<ToolResult> {
  const added = await schedules.add({ task, when });
  if ("refused" in added) {
    return { status: "error", text: `Nothing was planned: ${added.refused} It is ${formatInstant(now)}.` };
  }
  return { status: "ok", text: `Planned. ${describeSchedule(added.schedule)}` };
}
