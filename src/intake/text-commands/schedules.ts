import type { Redis } from "ioredis";
import { describeSchedule, type Schedule } from "../../agent/schedule-store.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { cancelSchedule } from "../../queue/schedules/schedules.ts";

/** A text command about the schedules of a thread. */
export type ScheduleCommand = { do: "list" } | { do: "cancel"; id: string };

/** The whole message must be `schedules` or `unschedule <id>`, with a leading slash or, as Slack keeps that for itself, `!`. */
export function readScheduleCommand(text: string): ScheduleCommand | undefined {
  if (/^\s*[/!]?schedules\s*$/i.test(text)) return { do: "list" };
  const id = /^\s*[/!]?unschedule\s+`?(\w+)`?\s*$/i.exec(text)?.[1];
  return id === undefined ? undefined : { do: "cancel", id };
}

/** Runs the command: gives the reply and the id of the schedule that it cancelled. @param planned the thread's schedules */
export async function answerScheduleCommand(
  redis: Redis,
  thread: ThreadId,
  command: ScheduleCommand,
  planned: readonly Schedule[],
): Promise<{ markdown: string; cancelled?: string }> {
  if (planned.length === 0) return { markdown: "Nothing is planned in this thread." };
  if (command.do === "cancel") {
    const { id } = command;
    return (await cancelSchedule(redis, thread, id))
      ? { markdown: `Schedule ${id} is cancelled.`, cancelled: id }
      : { markdown: `There is no schedule ${id} in this thread; \`schedules\` lists them.` };
  }
  const list = planned.map((schedule) => `- ${describeSchedule(schedule)}`);
  return { markdown: [...list, "", "`unschedule <id>` cancels one."].join("\n") };
}
