import type { QuietHours } from "../config/trigger-limits.ts";

const minuteMs = 60_000;
const dayMinutes = 1_440;

/**
 * When the quiet hours end that it is within, ms; undefined outside of them. On a day that the clocks change it may be
 * an hour off: whoever waits for it asks again then.
 * @param now ms
 */
export function findQuietEnd({ from, to, timeZone }: QuietHours, now: number): number | undefined {
  const [start, end, minute] = [toMinutes(from), toMinutes(to), minuteOfDay(timeZone, now)];
  const isQuiet = start < end ? start <= minute && minute < end : start <= minute || minute < end;
  if (!isQuiet) return undefined;
  const left = (end - minute + dayMinutes) % dayMinutes;
  return Math.floor(now / minuteMs) * minuteMs + left * minuteMs;
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
