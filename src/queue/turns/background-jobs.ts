import type { Redis } from "ioredis";
import { z } from "zod";
import type { StopOrder } from "../../agent/events.ts";
import { createStoredParser } from "../../agent/text/parse-stored.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { monotonicMs } from "../../sandbox/monotonic.ts";
import { type HostProcesses, type KillReport, noProcesses, nothingKilled } from "../../sandbox/sandbox.ts";
import { channels, daySeconds, keys } from "../redis/keys.ts";
import { readStored } from "../redis/unreadable.ts";
import { type LostHolder, reportEnds, type SessionHolder } from "./lost-holders.ts";
import { readStop, type StopWatch } from "./stops.ts";

/**
 * Background jobs outlive the turn that started them, on the worker where they run, while another worker may take
 * the thread's next turn or its stop. So each worker ends its own on a stop, and reports in Redis what it has ended.
 */
export interface BackgroundJobs {
  /** A turn begins here: what was left running on this worker is stopped with the turn. */
  resume(thread: ThreadId): Promise<void>;
  /** No turn of the thread runs here any more: what it leaves running ends with a stop that is not older than `since`. */
  leave(thread: ThreadId, since: number): Promise<void>;
  /** What workers have ended on this order beside a turn; waits for them, within limits. Undefined: nothing. */
  ended(thread: ThreadId, order: StopOrder): Promise<EndedJobs | undefined>;
}

/** What a process that runs no jobs, and sees none, knows of their ends. */
export interface JobReports extends Pick<BackgroundJobs, "ended"> {
  /** Whether every worker with jobs that the order ends has said what it ended; waits for them, within limits. */
  areComplete(thread: ThreadId, order: StopOrder): Promise<boolean>;
}

export interface EndedJobs {
  killed: KillReport;
  /** Workers that had jobs, have not said in time what became of them, and cannot be seen from here. */
  silent: LostHolder[];
  /** To be called when the thread was told, or is sure to be. */
  forget(): Promise<void>;
}

/** As long as an order. */
const reportSeconds = daySeconds;
/** Longer than `sandbox.jobMinutes` can be, in seconds. */
const jobsSeconds = 30 * daySeconds;

/** What a worker has ended. */
interface Report {
  /** The order's time. */
  order: number;
  killed: KillReport;
}

const parseReport = createStoredParser<Report>(
  z.looseObject({
    order: z.number(),
    killed: z.looseObject({ commands: z.number(), processes: z.number(), survivors: z.number() }),
  }),
);

interface Held {
  unwatch(): void;
  ending?: Promise<void>;
}

export interface BackgroundJobsOptions {
  redis: Redis;
  stops: Pick<StopWatch, "watch">;
  /** The worker, and after how long without Redis it ends its jobs. */
  worker: SessionHolder;
  processes: HostProcesses;
  /** Lets the thread be told what is in its head. */
  wake(thread: ThreadId): Promise<void>;
  /** How often it is asked whether a stop has come that nobody has told of, ms. */
  confirmMs: number;
  runner: {
    killAll(thread: ThreadId): Promise<KillReport>;
    jobsLeft(thread: ThreadId): Promise<unknown> | undefined;
  };
  onError(error: unknown): void;
  /** How long a stop waits for other workers, ms. Default {@link defaultAnswerMs}. */
  answerMs?: number;
}

/** Ending hundreds of processes takes less than a second. */
const defaultAnswerMs = 2_000;

export function createBackgroundJobs(options: BackgroundJobsOptions): BackgroundJobs {
  const { redis, stops, processes, answerMs = defaultAnswerMs } = options;
  return { ...createOwnJobs(options), ended: createEnded({ redis, stops, answerMs, processes }) };
}

function createEnded(
  options: Pick<BackgroundJobsOptions, "redis" | "processes"> & ReportOptions,
): BackgroundJobs["ended"] {
  const { redis, processes } = options;
  return async (thread, order) => {
    const { pending, killed } = await readUntilTold(options, thread, order);
    if (killed.length === 0 && pending.length === 0) return undefined;
    const silent = pending.filter((name) => !isHere(name, processes));
    const seen = silent.length < pending.length ? await processes.endAll(thread) : nothingKilled;
    // What could not be seen dead is as little known as what is elsewhere.
    const unknown = seen?.survivors === 0 ? silent : pending;
    return {
      killed: [...killed, seen ?? nothingKilled].reduce(addKills, nothingKilled),
      silent: unknown.map((name, index) => describeSilent(name, order, index)),
      async forget() {
        await redis.del(keys.endedJobs(thread));
        if (pending.length > 0) await redis.hdel(keys.jobs(thread), ...pending);
      },
    };
  };
}

export function createJobReports(
  options: Pick<BackgroundJobsOptions, "redis" | "stops" | "answerMs">,
): JobReports {
  const { redis, stops, answerMs = defaultAnswerMs } = options;
  return {
    ended: createEnded({ redis, stops, answerMs, processes: noProcesses }),
    async areComplete(thread, order) {
      return (await readUntilTold({ redis, stops, answerMs }, thread, order)).pending.length === 0;
    },
  };
}

/** The background jobs that run on this worker: it says in Redis that it has them, and ends them on a stop. */
function createOwnJobs(options: BackgroundJobsOptions): Pick<BackgroundJobs, "resume" | "leave"> {
  const { redis, stops, runner, processes, confirmMs, onError } = options;
  const worker = nameInRedis(options.worker);
  const held = new Map<ThreadId, Held>();

  function letGo(thread: ThreadId): Held | undefined {
    const known = held.get(thread);
    held.delete(thread);
    known?.unwatch();
    return known;
  }

  async function end(thread: ThreadId, order: StopOrder): Promise<void> {
    const report: Report = { order: order.at, killed: await runner.killAll(thread) };
    letGo(thread);
    // The thread was deleted: there is nobody to be told, also where somebody has written there anew by now.
    if (order.deleted || (await redis.exists(keys.head(thread))) === 0) return;
    const isOwn = ({ field, holder }: LostHolder) =>
      field.startsWith(jobsField(order)) && holder?.id === options.worker.id;
    if (report.killed.survivors === 0 && (await reportEnds(redis, thread, isOwn))) {
      // The stop was told without it.
      await redis.hdel(keys.jobs(thread), worker);
      await options.wake(thread);
      return;
    }
    await redis
      .multi()
      .hset(keys.endedJobs(thread), worker, JSON.stringify(report))
      .expire(keys.endedJobs(thread), reportSeconds)
      .hdel(keys.jobs(thread), worker)
      .exec();
    // Whoever waits for it looks again.
    await redis.publish(channels.stops, thread);
  }

  async function hold(thread: ThreadId, since: number, left: Promise<unknown>): Promise<void> {
    // Whoever dies with its jobs leaves its name behind, in a thread that may have no further turn.
    await redis.multi().hset(keys.jobs(thread), worker, since).expire(keys.jobs(thread), jobsSeconds).exec();
    const holding: Held = { unwatch() {} };
    held.set(thread, holding);
    const onStop = (order: StopOrder) => {
      if (order.at >= since) holding.ending ??= end(thread, order).catch(onError);
    };
    const unwatch = await stops.watch(thread, onStop);
    const stopConfirming = confirmAgainAndAgain(async () => {
      const at = monotonicMs();
      const order = await readStop(redis, thread);
      // With the order in its way nothing lets them run on, should nobody be able to end them.
      if (order && order.at >= since) onStop(order);
      else processes.confirm(thread, { at });
    }, confirmMs);
    holding.unwatch = () => {
      stopConfirming();
      unwatch();
    };
    // It ended, or a turn began, in the meantime.
    if (held.get(thread) !== holding) holding.unwatch();
    const release = async () => {
      // A stop tells by itself that they have ended.
      if (held.get(thread) !== holding || holding.ending) return;
      letGo(thread);
      await redis.hdel(keys.jobs(thread), worker);
    };
    void left.then(release).catch(onError);
  }

  return {
    async resume(thread) {
      const known = letGo(thread);
      if (known?.ending) await known.ending;
      else if (known) await redis.hdel(keys.jobs(thread), worker);
    },
    async leave(thread, since) {
      const left = runner.jobsLeft(thread);
      if (left) await hold(thread, since, left).catch(onError);
    },
  };
}

/** One at a time: one that waits for a lost Redis is enough. Without an answer nothing is confirmed. */
function confirmAgainAndAgain(ask: () => Promise<void>, everyMs: number): () => void {
  let asking: Promise<void> | undefined;
  const again = () => {
    asking ??= ask()
      .catch(() => undefined)
      .finally(() => (asking = undefined));
  };
  again();
  const timer = setInterval(again, everyMs).unref();
  return () => clearInterval(timer);
}

/** Its name in Redis says what others must know of it when it does not answer. */
function nameInRedis({ id, name, place = "", fenceSeconds }: SessionHolder): string {
  return [id, place, fenceSeconds, name].join("~");
}

/** Of an earlier release it is an id and nothing else. */
function readName(worker: string): SessionHolder | undefined {
  const [id = "", place = "", fence, ...name] = worker.split("~");
  if (fence === undefined) return undefined;
  return { id, ...(place && { place }), fenceSeconds: Number(fence), name: name.join("~") };
}

function isHere(worker: string, processes: HostProcesses): boolean {
  const place = processes.place();
  return place !== undefined && readName(worker)?.place === place;
}

function jobsField(order: StopOrder): `lost:jobs-${number}-` {
  return `lost:jobs-${order.at}-`;
}

/** For the head: people are told of it, and again when the clock has ended its jobs. */
function describeSilent(worker: string, order: StopOrder, index: number): LostHolder {
  const holder = readName(worker);
  const at = order.heardAt ?? order.at;
  const field = `${jobsField(order)}${index}` as const;
  return { field, at, ...(holder && { holder }), commands: ["background jobs"], told: true };
}

/** Which workers have jobs that the order ends, and what others have ended on it. */
async function readJobReports(redis: Redis, thread: ThreadId, order: StopOrder) {
  const [holders, reports] = await Promise.all([
    redis.hgetall(keys.jobs(thread)),
    redis.hgetall(keys.endedJobs(thread)),
  ]);
  const pending = Object.keys(holders).filter((name) => order.at >= Number(holders[name]));
  // Only `end` writes them.
  const told = Object.entries(reports).flatMap(
    ([name, json]) => readStored(redis, parseReport, json, `What ${name} ended in ${thread}`) ?? [],
  );
  return {
    pending,
    killed: told.filter((report) => report.order === order.at).map(({ killed }) => killed),
  };
}

interface ReportOptions {
  redis: Redis;
  stops: Pick<StopWatch, "watch">;
  answerMs: number;
}

/** Reads until every worker has said what it ended, or the time is over. */
async function readUntilTold({ redis, stops, answerMs }: ReportOptions, thread: ThreadId, order: StopOrder) {
  const first = await readJobReports(redis, thread, order);
  if (first.pending.length === 0) return first;
  let changed = Promise.withResolvers<void>();
  let late = false;
  const unwatch = await stops.watch(thread, () => changed.resolve());
  const timeout = setTimeout(() => {
    late = true;
    changed.resolve();
  }, answerMs);
  try {
    for (;;) {
      changed = Promise.withResolvers();
      const found = await readJobReports(redis, thread, order);
      if (found.pending.length === 0 || late) return found;
      await changed.promise;
    }
  } finally {
    clearTimeout(timeout);
    unwatch();
  }
}

/** Of processes on different workers. */
export function addKills(one: KillReport, other: KillReport): KillReport {
  return {
    commands: one.commands + other.commands,
    processes: one.processes + other.processes,
    survivors: one.survivors + other.survivors,
  };
}
