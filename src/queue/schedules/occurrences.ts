import { CronExpressionParser } from "cron-parser";

const minuteMs = 60_000;

/**
 * When a cron pattern comes next in a time zone, ms. What falls into a time that the clock leaves out there comes as much
 * later as the clock is put forward; of a time that comes twice the first counts.
 *
 * @throws for a pattern that is none
 */
export function findNextOccurrence(pattern: string, timeZone: string, after: number): number {
  const before = offsetAt(timeZone, after);
  const findUnchanged = () => parseNext(pattern, toFixedZone(before), after);
  let next: number;
  try {
    next = parseNext(pattern, timeZone, after);
  } catch {
    // The parser gives up where the clock is put back by less than an hour.
    const about = findUnchanged();
    return parseNext(pattern, toFixedZone(offsetAt(timeZone, about)), about - 1);
  }
  const aheadMs = (offsetAt(timeZone, next) - before) * minuteMs;
  if (aheadMs <= 0) return next;
  // It passes over the whole day where it is midnight, or less than an hour, that the clock leaves out.
  const unchanged = findUnchanged();
  const isLeftOut = unchanged < next && offsetAt(timeZone, unchanged - aheadMs) === before;
  return isLeftOut ? unchanged : next;
}

function parseNext(pattern: string, tz: string, after: number): number {
  return CronExpressionParser.parse(pattern, { currentDate: after, tz }).next().getTime();
}

/** How far the zone is ahead of UTC at that time, minutes. */
function offsetAt(timeZone: string, at: number): number {
  const format = new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "longOffset" });
  const [, sign, hours, minutes] = /GMT([+-])(\d+):(\d+)/.exec(format.format(at)) ?? [];
  return (sign === "-" ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0));
}

/** As the parser reads it. */
function toFixedZone(offset: number): string {
  const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60];
  return `UTC${offset < 0 ? "-" : "+"}${hours}:${String(minutes).padStart(2, "0")}`;
}
