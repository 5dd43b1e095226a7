import { randomBytes } from "node:crypto";
import type { Redis } from "ioredis";
import { heddle, type Speaker, type UserMessage } from "../../agent/messages.ts";
import type { Schedule, ScheduleStore, When } from "../../agent/contracts/schedule-store.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import { readStored } from "../redis/unreadable.ts";
import type { ScheduleClock } from "./clock.ts";
import { findNextOccurrence } from "./occurrences.ts";
import { parseSchedule, type StoredSchedule } from "./stored-schedule.ts";

/** For the audit log. */
export interface ScheduleAuditEvent {
  action: "schedule-planned" | "schedule-fired" | "schedule-cancelled";
  thread: ThreadId;
  schedule: string;
  /** Who planned it, or who cancelled it. */
  by: Speaker;
}

export interface ScheduleLimits {
  perThread: number;
  /** The least time between two turns that nobody is there to ask for, ms. */
  shortestMs: number;
  /** A session that is silent for longer is forgotten, and its schedules with it, ms. */
  longestMs: number;
}

export interface ThreadSchedulesOptions {
  redis: Redis;
  clock: Pick<ScheduleClock, "set">;
  thread: ThreadId;
  limits: ScheduleLimits;
  /** The person's message that the turn works on, the last if there are several. */
  asked(): UserMessage | undefined;
  audit(event: ScheduleAuditEvent): void;
  now(): number;
}

/** The schedules of one thread, for the turn that runs there. */
export function createThreadSchedules(options: ThreadSchedulesOptions): ScheduleStore {
  const { redis, clock, thread, limits, audit, now } = options;
  return {
    async add({ task, when }) {
      const asked = options.asked();
      if (!asked) return { refused: "nobody has asked for it in this turn." };
      if ((await redis.hlen(keys.schedules(thread))) >= limits.perThread) {
        return { refused: `this thread has ${limits.perThread} schedules already; cancel one first.` };
      }
      const refused = fault(when, limits, now(), asked.scheduled === true);
      if (refused) return { refused };
      // A letter first: BullMQ takes no id of digits alone.
      const id = `s${randomBytes(4).toString("hex")}`;
      const stored: StoredSchedule = { id, task, when, author: asked.author };
      await clock.set(thread, stored);
      await redis.hset(keys.schedules(thread), id, JSON.stringify(stored));
      audit({ action: "schedule-planned", thread, schedule: id, by: asked.author });
      return { schedule: toSchedule(stored, now()) };
    },
    list: () => listSchedules(redis, thread, now()),
    async cancel(id) {
      const wasThere = await cancelSchedule(redis, thread, id);
      const by = options.asked()?.author ?? heddle;
      if (wasThere) audit({ action: "schedule-cancelled", thread, schedule: id, by });
      return wasThere;
    },
  };
}

/** What is planned in a thread, the next one first. */
export async function listSchedules(redis: Redis, thread: ThreadId, now: number): Promise<Schedule[]> {
  const stored = Object.entries(await redis.hgetall(keys.schedules(thread)));
  return stored
    .flatMap(([id, json]) => parse(redis, thread, id, json) ?? [])
    .map((schedule) => toSchedule(schedule, now))
    .toSorted((a, b) => a.next - b.next);
}

/** `unreadable`: it is there, for a Heddle that can read it. */
export async function readSchedule(
  redis: Redis,
  thread: ThreadId,
  id: string,
): Promise<StoredSchedule | "unreadable" | undefined> {
  const json = await redis.hget(keys.schedules(thread), id);
  return json === null ? undefined : (parse(redis, thread, id, json) ?? "unreadable");
}

/** False when there is no such schedule. */
export async function cancelSchedule(redis: Redis, thread: ThreadId, id: string): Promise<boolean> {
  return (await redis.hdel(keys.schedules(thread), id)) === 1;
}

function parse(redis: Redis, thread: ThreadId, id: string, json: string): StoredSchedule | undefined {
  return readStored(redis, parseSchedule, json, `Schedule ${id} of ${thread}`);
}

function toSchedule({ id, task, when, author }: StoredSchedule, now: number): Schedule {
  const next = when.kind === "once" ? when.at : (occurrences(when, now, 1)[0] ?? now);
  return { id, task, when, by: author.name, next };
}

/** So many occurrences of a pattern show how close together they come. */
const looked = 60;

/**
 * The parser fills in fields that lack, and chooses by chance what `H` stands for, another time whenever it is asked:
 * what people are told would not be when it ticks. It takes a sixth field, of seconds, at the beginning.
 */
const wholePattern = /^(?!.*(?<![A-Z])H(?![A-Z]))\s*\S+(?:\s+\S+){4,5}\s*$/i;

/** Why nothing can be planned so. @param alone the turn itself was scheduled, so that nobody is there */
function fault(when: When, limits: ScheduleLimits, now: number, alone: boolean): string | undefined {
  const { shortestMs, longestMs } = limits;
  const tooLong = `the thread would be forgotten before: plan it within ${longestMs / 86_400_000} days.`;
  const tooShort = `the shortest interval here is ${shortestMs / 60_000} minutes.`;
  if (when.kind === "once") {
    if (when.at <= now) return "that time is over.";
    if (alone && when.at < now + shortestMs) return tooShort;
    return when.at > now + longestMs ? tooLong : undefined;
  }
  if (!wholePattern.test(when.pattern))
    return `"${when.pattern}" is not of five fields: minute, hour, day of month, month, day of week.`;
  let times: number[];
  try {
    Intl.DateTimeFormat(undefined, { timeZone: when.timeZone });
    times = occurrences(when, now, looked);
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    return `"${when.pattern}" in ${when.timeZone} is no cron pattern in a time zone (${words}).`;
  }
  const gaps = times.map((time, index) => time - (times[index - 1] ?? now));
  if (gaps.slice(1).some((gap) => gap < shortestMs)) return tooShort;
  return gaps.some((gap) => gap > longestMs) ? tooLong : undefined;
}

/** @throws for a pattern that is none */
function occurrences(when: Extract<When, { kind: "cron" }>, after: number, count: number): number[] {
  let last = after;
  return Array.from({ length: count }, () => (last = findNextOccurrence(when.pattern, when.timeZone, last)));
}
