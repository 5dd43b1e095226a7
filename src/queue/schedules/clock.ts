import { type Job, Queue, type RepeatOptions, Worker } from "bullmq";
import type { Redis } from "ioredis";
import type { ThreadId } from "../../chat/threads.ts";
import { queuePrefix, scheduleQueueName } from "../redis/keys.ts";
import { isLostLock } from "../turns/lost-lock.ts";
import { eventStream } from "../turns/wake-queue.ts";
import { findNextOccurrence } from "./occurrences.ts";
import type { StoredSchedule } from "./stored-schedule.ts";

/** Which schedule a tick is for. */
export interface Tick {
  thread: ThreadId;
  id: string;
  /** Of one of a cron pattern that has failed: when the next one comes, which takes its place, ms since the epoch. */
  next?: number;
}

/**
 * Ticks when a schedule is due, on BullMQ: a delayed job for what is due once, a job scheduler for a cron
 * pattern. What fell due while no worker ran ticks once, as soon as one runs.
 */
export interface ScheduleClock {
  set(thread: ThreadId, schedule: StoredSchedule): Promise<void>;
  /** Every thread that something may be planned in. */
  threads(): Promise<ThreadId[]>;
  close(): Promise<void>;
}

export function openScheduleClock(redis: Redis): ScheduleClock {
  const queue = new Queue<Tick>(scheduleQueueName, {
    connection: redis,
    prefix: queuePrefix,
    streams: eventStream,
    settings,
  });
  queue.on("error", () => {}); // The connection's own listener reports it.
  return {
    async set(thread, { id, when }) {
      const data = { thread, id };
      if (when.kind === "cron") {
        const repeat = { pattern: when.pattern, tz: when.timeZone };
        await queue.upsertJobScheduler(id, repeat, { name: "tick", data, opts: jobOptions });
      } else {
        await queue.add("tick", data, { ...jobOptions, jobId: id, delay: Math.max(0, when.at - Date.now()) });
      }
    },
    async threads() {
      const [repeated, once] = await Promise.all([queue.getJobSchedulers(), queue.getDelayed()]);
      const ticks = [...repeated.map(({ template }) => template?.data), ...once.map(({ data }) => data)];
      return [...new Set(ticks.flatMap((tick) => tick?.thread ?? []))];
    },
    close: () => queue.close(),
  };
}

const settings = {
  repeatStrategy: (after: number, { pattern = "", tz = "UTC" }: RepeatOptions) =>
    findNextOccurrence(pattern, tz, after),
};

const jobOptions = {
  // A platform or a Redis that is away comes back, and what is planned once has no other job: it is never given up.
  attempts: 1_000_000_000,
  backoff: { type: "fixed", delay: 5_000 },
  // By default all are kept.
  stackTraceLimit: 1,
  removeOnComplete: true,
  removeOnFail: { age: 604_800, count: 1_000 },
};

export interface ScheduleTicksOptions {
  /** A connection of its own. */
  redis: Redis;
  /**
   * Does what is due. It may be called again for the same `due` (ms) after a crash.
   * @param signal aborted when this process ends: what can be left out is
   * @returns whether the schedule is still wanted
   */
  fire(tick: Tick, due: number, signal: AbortSignal): Promise<"keep" | "remove">;
  /** As with turns: a worker that is silent for this long is replaced, ms. */
  lockMs: number;
  onError(error: unknown): void;
}

const atOnce = 10;

/** So that after a long outage only the last of those that have failed meanwhile comes, not all of them at once. */
async function noteNext(clock: Queue<Tick>, job: Job<Tick>): Promise<void> {
  const { next } = (await clock.getJobScheduler(job.data.id)) ?? {};
  if (next !== undefined) await job.updateData({ ...job.data, next });
}

/** Takes the clock's ticks until closed. */
export async function startScheduleTicks(options: ScheduleTicksOptions): Promise<{ close(): Promise<void> }> {
  const clock = new Queue<Tick>(scheduleQueueName, { connection: options.redis, prefix: queuePrefix });
  clock.on("error", () => {});
  const closing = new AbortController();
  const processor = async (job: Job<Tick>) => {
    // A job scheduler notes for when its job was made; the delay of a single job never changes.
    const due = job.opts.prevMillis ?? job.timestamp + (job.opts.delay ?? 0);
    const { thread, id, next } = job.data;
    if (next !== undefined && next <= Date.now()) return;
    try {
      const fired = await options.fire({ thread, id }, due, closing.signal);
      if (fired === "remove") await clock.removeJobScheduler(id);
    } catch (error) {
      if (next === undefined) await noteNext(clock, job);
      throw error;
    }
  };
  const worker = new Worker<Tick>(scheduleQueueName, processor, {
    connection: options.redis,
    prefix: queuePrefix,
    concurrency: atOnce,
    lockDuration: options.lockMs,
    stalledInterval: Math.max(1_000, Math.floor(options.lockMs / 2)),
    maxStalledCount: 1_000,
    settings,
  });
  const onError = (error: unknown) => {
    if (!isLostLock(error)) options.onError(error);
  };
  worker.on("error", onError);
  worker.on("failed", (_job, error) => onError(error));
  await worker.waitUntilReady();
  return {
    async close() {
      closing.abort();
      await worker.close();
      await clock.close();
    },
  };
}
