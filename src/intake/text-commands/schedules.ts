import type { Redis } from "ioredis";
import type { Schedule } from "../../agent/contracts/schedule-store.ts";
import { escapeMarkdown } from "../../chat/escape-markdown.ts";
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
      ? { markdown: `Schedule \`${id}\` is cancelled.`, cancelled: id }
      : { markdown: `There is no schedule \`${id}\` in this thread; \`!schedules\` lists them.` };
  }
  const list = planned.map((schedule) => `- ${describeForPeople(schedule)}`);
  // One to copy, as ids are hard to type on a phone.
  const [example] = planned;
  const what = planned.length === 1 ? "cancels it" : "cancels the first, and the others by their ids";
  return { markdown: [...list, "", `\`!unschedule ${example?.id}\` ${what}.`].join("\n") };
}

/** One line in the words of people, e.g. ``weekdays at 09:00 (Europe/Berlin), next Mon 23 Nov 09:00 · `s1` by Ada: …``. */
export function describeForPeople({ id, task, when, by, next }: Schedule): string {
  const timeZone = when.kind === "cron" ? when.timeZone : "UTC";
  const due = formatLocal(next, timeZone);
  const time =
    when.kind === "once" ? `once, ${due} (UTC)` : `${describeCron(when.pattern)} (${timeZone}), next ${due}`;
  const shown = escapeMarkdown(task.replace(/\s+/g, " ").trim());
  return `${time} · \`${id}\` by ${escapeMarkdown(by)}: ${shown}`;
}

/** To the minute in that time zone, e.g. `Mon 23 Nov 09:00`. */
function formatLocal(at: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat("en-GB", {
    ...{ weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" },
    ...{ hour12: false, timeZone },
  });
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? "";
  return `${part("weekday")} ${part("day")} ${part("month")} ${part("hour")}:${part("minute")}`;
}

const weekdays = ["Sundays", "Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays"];

/** The usual patterns in words, all others as they are. */
function describeCron(pattern: string): string {
  const [minute = "", hour = "", day, month, weekday = "", ...rest] = pattern.trim().split(/\s+/);
  const days = day === "*" && month === "*" && rest.length === 0 ? describeDays(weekday) : undefined;
  if (days === undefined || !/^\d{1,2}$/.test(minute)) return `cron \`${pattern}\``;
  const at = minute.padStart(2, "0");
  if (hour === "*") return days === "every day" ? `every hour at :${at}` : `${days}, every hour at :${at}`;
  return /^\d{1,2}$/.test(hour) ? `${days} at ${hour.padStart(2, "0")}:${at}` : `cron \`${pattern}\``;
}

function describeDays(weekday: string): string | undefined {
  if (weekday === "*") return "every day";
  if (/^(?:1-5|mon-fri)$/i.test(weekday)) return "weekdays";
  if (/^(?:0,6|6,0|6,7|sat,sun)$/i.test(weekday)) return "weekends";
  // 7 is Sunday too.
  return /^[0-7](?:,[0-7])*$/.test(weekday)
    ? weekday
        .split(",")
        .map((number) => weekdays[Number(number) % 7])
        .join(", ")
    : undefined;
}
