import type { Redis } from "ioredis";
import { describeSchedule, type Schedule } from "../../agent/schedule-store.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { cancelSchedule } from "../../queue/schedules/schedules.ts";

/** What a person asks for about the schedules of a thread, without a model. */
export type ScheduleCommand = { do: "list" } | { do: "cancel"; id: string };

/** The whole message must be `schedules` or `unschedule <id>`: Slack keeps the leading slash that others have to itself. */
export function readScheduleCommand(text: string): ScheduleCommand | undefined {
  if (/^\s*[/!]?schedules\s*$/i.test(text)) return { do: "list" };
  const id = /^\s*[/!]?unschedule\s+`?(\w+)`?\s*$/i.exec(text)?.[1];
  return id === undefined ? undefined : { do: "cancel", id };
}

/** What the person reads about it, and the schedule that it has cancelled. @param planned the thread's schedules */
export async function answerScheduleCommand(
  redis: Redis,
  thread: ThreadId,
  words: ScheduleCommand,
  planned: readonly Schedule[],
): Promise<{ markdown: string; cancelled?: string }> {
  if (planned.length === 0) return { markdown: "Nothing is planned in this thread." };
  if (words.do === "cancel") {
    const { id } = words;
    return (await cancelSchedule(redis, thread, id))
      ? { markdown: `Schedule ${id} is cancelled.`, cancelled: id }
      : { markdown: `There is no schedule ${id} in this thread; \`schedules\` lists them.` };
  }
  const list = planned.map((schedule) => `- ${describeSchedule(schedule)}`);
  return { markdown: [...list, "", "`unschedule <id>` cancels one."].join("\n") };
}
