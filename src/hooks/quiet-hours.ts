import type { QuietHours } from "../config/trigger-limits.ts";

const minuteMs = 60_000;
const dayMinutes = 1_440;

/**
 * When the quiet hours end that it is within, ms; undefined outside of them. A time that the clock leaves out on that day
 * comes an hour later, as with schedules.
 * @param now ms
 */
export function findQuietEnd({ from, to, timeZone }: QuietHours, now: number): number | undefined {
  const [start, end] = [toMinutes(from), toMinutes(to)];
  const isQuiet = (minute: number) =>
    start < end ? start <= minute && minute < end : start <= minute || minute < end;
  const minute = minuteOfDay(timeZone, now);
  if (!isQuiet(minute)) return undefined;
  const unchanged = Math.floor(now / minuteMs) * minuteMs + minutesFrom(minute, end) * minuteMs;
  // Where the clock is put forward or back before that.
  const ahead = minutesFrom(end, minuteOfDay(timeZone, unchanged));
  const exact = unchanged - (ahead > dayMinutes / 2 ? ahead - dayMinutes : ahead) * minuteMs;
  return isQuiet(minuteOfDay(timeZone, exact)) ? unchanged : exact;
}

function minutesFrom(minute: number, other: number): number {
  return (other - minute + dayMinutes) % dayMinutes;
}

function toMinutes(time: string): number {
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  return hours * 60 + minutes;
}

function minuteOfDay(timeZone: string, at: number): number {
  // Britain writes the time of day this way.
  const format = new Intl.DateTimeFormat("en-GB", {
    ...({ timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const),
  });
  return toMinutes(format.format(at));
}
