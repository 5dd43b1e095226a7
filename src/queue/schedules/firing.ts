import { escapeMarkdown } from "../../chat/escape-markdown.ts";
import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import { heddle, type Speaker, type UserMessage } from "../../agent/messages.ts";
import { formatInstant } from "../../agent/contracts/schedule-store.ts";
import { type ChatSurface, SurfaceError } from "../../chat/surface.ts";
import { parseThreadId, type ThreadId } from "../../chat/threads.ts";
import type { RateLimiter } from "../outbox/rate-limit.ts";
import { failpoint } from "../redis/failpoint.ts";
import { daySeconds, keys } from "../redis/keys.ts";
import { deliver } from "../session/mailbox/mailbox.ts";
import { rememberMessages } from "../session/mailbox/message-threads.ts";
import type { TurnQueue } from "../turns/wake-queue.ts";
import type { ScheduleTicksOptions } from "./clock.ts";
import { cancelSchedule, readSchedule, type ScheduleAuditEvent } from "./schedules.ts";
import type { StoredSchedule } from "./stored-schedule.ts";

export interface FiringOptions {
  redis: Redis;
  queue: Pick<TurnQueue, "wake">;
  output: RateLimiter;
  surface(platform: string): ChatSurface;
  /** Whether that person may still ask for work there. `why` is a sentence for the thread. */
  mayAsk(thread: ThreadId, author: Speaker): Promise<{ allowed: true } | { allowed: false; why: string }>;
  audit(event: ScheduleAuditEvent): void;
  now(): number;
  onProblem(problem: string, error: unknown): void;
}

/** What is due at once may tick before it is stored, which takes no longer than this, ms. */
const storedMs = 1_000;
/** From here on people are told how late it is, ms. */
const lateMs = 60_000;
/** What is announced later than this is of no use, ms. */
const announceMs = 60_000;

/**
 * Does what is due: the thread is told, the task is put into its mailbox as a message of the person who planned
 * it, and the thread is woken. Called again for the same moment it puts nothing there twice.
 */
export function createFiring(options: FiringOptions): ScheduleTicksOptions["fire"] {
  const { redis, audit } = options;
  return async ({ thread, id }, due, closing) => {
    let schedule = await readSchedule(redis, thread, id);
    if (!schedule) {
      await delay(storedMs, undefined, { signal: closing });
      schedule = await readSchedule(redis, thread, id);
    }
    if (!schedule) return "remove";
    if (schedule === "unreadable") return "keep";
    const remove = async () => {
      await cancelSchedule(redis, thread, id);
      return "remove" as const;
    };
    const cancel = () => {
      audit({ action: "schedule-cancelled", thread, schedule: id, by: heddle });
      return remove();
    };
    const firing = `schedule-${id}-${due}`;
    const late = options.now() - due;
    const lateness =
      late > lateMs ? `${Math.round(late / 60_000)} min late, since it could not begin before` : "";

    const announce = (text: string) => postOnce(thread, firing, text, options, closing);
    const permission = await options.mayAsk(thread, schedule.author);
    if (!permission.allowed) {
      await announce(`Schedule ${id} is cancelled. ${permission.why}`);
      return cancel();
    }
    if ((await announce(announcement(schedule, lateness))) === "gone") return cancel();

    const context = [`scheduled for ${formatInstant(due)}`, `id ${id}`, lateness].filter(Boolean).join(", ");
    const message: UserMessage = {
      role: "user",
      id: firing,
      author: schedule.author,
      text: `${schedule.task}\n\n(${context})`,
      at: options.now(),
      scheduled: true,
    };
    // What comes again and again may be left out where too much waits.
    const mayOverflow = schedule.when.kind === "once";
    const { kind } = await deliver(redis, thread, message, {
      ...{ onlyIfSession: true, mayOverflow, now: options.now() },
    });
    if (kind === "full")
      await postOnce(thread, `${firing}-full`, describeLeftOut(schedule), options, closing);
    if (kind === "accepted") audit({ action: "schedule-fired", thread, schedule: id, by: schedule.author });
    await options.queue.wake(thread);
    return schedule.when.kind === "once" ? remove() : "keep";
  };
}

function announcement({ id, task, author }: StoredSchedule, lateness: string): string {
  const quoted = task.split("\n").map((line) => `> ${line}`);
  return [
    `⏰ Scheduled by ${escapeMarkdown(author.name)} (${id}${lateness && `, ${lateness}`}):`,
    ...quoted,
  ].join("\n");
}

function describeLeftOut({ id, author }: StoredSchedule): string {
  const name = escapeMarkdown(author.name);
  return `${name}, schedule \`${id}\` was left out this time, since so many messages wait in this thread. It comes again at its next time.`;
}

/** Posted at most once a firing: it only says why something begins. `gone`: nobody can be told anything there. */
async function postOnce(
  thread: ThreadId,
  firing: string,
  markdown: string,
  { redis, output, surface: surfaceOf, onProblem }: FiringOptions,
  closing: AbortSignal,
): Promise<"told" | "gone"> {
  const isFirst = await redis.set(keys.announced(thread, firing), "1", "EX", daySeconds, "NX");
  if (!isFirst) return "told";
  const place = parseThreadId(thread);
  const surface = surfaceOf(place.platform);
  const signal = AbortSignal.any([AbortSignal.timeout(announceMs), closing]);
  try {
    const refs = await output.write(surface, place, "question", signal, () =>
      failpoint("reply", () => surface.post(place, { kind: "notice", markdown }, `announce:${firing}`)),
    );
    await rememberMessages(redis, thread, refs);
  } catch (error) {
    if (!signal.aborted && !(error instanceof SurfaceError)) throw error;
    onProblem(`A scheduled task could not be announced in ${thread}.`, error);
    const { kind } = error instanceof SurfaceError ? error : { kind: "uncertain" };
    if (kind === "gone" || kind === "forbidden") return "gone";
  }
  return "told";
}
