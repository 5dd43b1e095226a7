import type { Redis } from "ioredis";
import type { StopOrder } from "../../agent/events.ts";
import type { UserMessage } from "../../agent/messages.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import { claimIdleSession, LeaseLost, type SessionLease } from "../session/lease.ts";
import { loadJournal } from "../session/load-journal.ts";
import { readMailbox } from "../session/mailbox.ts";
import { readHeadNumber } from "../session/stored.ts";
import { readListedAt, unlist } from "../session/sweep-list.ts";
import type { SessionRunnerOptions } from "./contracts.ts";
import { holdsSlot, leaveSlotQueues } from "./slots.ts";
import { type NoticeOptions, notifyStopped } from "./stop-notice.ts";
import { isStoppedBy, readStop } from "./stops.ts";
import type { TurnQueue } from "./wake-queue.ts";

/** A thread that has background jobs is left to a worker. */
export interface StopWaitingOptions extends Omit<NoticeOptions, "background"> {
  flushOutbox: SessionRunnerOptions["flushOutbox"];
  expireSeconds: number;
}

/**
 * Ends what a stop has overtaken in a thread where no turn runs: withdraws the messages that wait and tells the thread,
 * without a slot and without a model. `done`: nothing is left to do there. `more`: a turn has to see to the rest.
 *
 * Whoever calls it must keep workers from the thread meanwhile: it holds the thread's job, or has taken it out of the
 * queue.
 */
export type StopWaiting = (thread: ThreadId, signal: AbortSignal) => Promise<"done" | "more">;

export function createStopWaiting(options: StopWaitingOptions): StopWaiting {
  const { redis } = options;
  return async (thread, signal) => {
    const found = await look(redis, thread);
    if (isOver(found)) {
      await leaveSlotQueues(redis, thread, new Set());
      return "done";
    }
    if (!mayTell(found)) return "more";
    const listedSince = await readListedAt(redis, thread);
    const lease = await claimIdleSession(redis, thread, options);
    if (!lease) return "more";
    try {
      await withdrawAndTell(lease, options, signal);
    } catch (error) {
      // Somebody else has gone on with the thread.
      if (error instanceof LeaseLost) return "more";
      throw error;
    }
    const left = await look(redis, thread);
    if (left.waiting.length > 0) return "more";
    await leaveSlotQueues(redis, thread, new Set(found.waiting.map(({ author }) => author.id)));
    if (!isOver(left)) return "more";
    await unlist(redis, thread, listedSince);
    return "done";
  };
}

async function withdrawAndTell(
  lease: SessionLease,
  options: StopWaitingOptions,
  signal: AbortSignal,
): Promise<void> {
  const { head, stop } = lease.found;
  const { redis, now } = options;
  const journal = await loadJournal(redis, lease.thread, lease.found.journal);
  const told = readHeadNumber(redis, lease.thread, "told", head["told"]);
  const cancelled = { ...journal.withdrawn, told };
  cancelled.messages.push(...(await lease.withdraw()));
  const flush = async (quiet: Promise<boolean>) => {
    const { rest } = await options.flushOutbox(lease, signal, quiet);
    await rest;
  };
  const background = { ended: async () => undefined };
  await notifyStopped(
    { lease, options: { ...options, background }, flush, cancelled, told: [], clock: now },
    stop,
  );
}

/** What a thread has to do. */
interface Found {
  isRunning: boolean;
  order: StopOrder | undefined;
  waiting: UserMessage[];
  /** Background jobs that run, or were ended by a stop of which the thread was not told. */
  hasJobs: boolean;
  hasUnsent: boolean;
}

async function look(redis: Redis, thread: ThreadId): Promise<Found> {
  const [status, order, waiting, jobs, unsent] = await Promise.all([
    redis.hget(keys.head(thread), "status"),
    readStop(redis, thread),
    readMailbox(redis, thread),
    redis.exists(keys.jobs(thread), keys.endedJobs(thread)),
    redis.hlen(keys.outbox(thread)),
  ]);
  return {
    ...{ order, waiting },
    isRunning: status === "running",
    hasJobs: jobs > 0,
    hasUnsent: unsent > 0,
  };
}

function isOver({ isRunning, waiting, hasJobs, hasUnsent }: Found): boolean {
  return !isRunning && waiting.length === 0 && !hasJobs && !hasUnsent;
}

/** Whether a stop has overtaken something there that can be told without a turn. */
function mayTell({ isRunning, order, waiting, hasJobs, hasUnsent }: Found): boolean {
  if (isRunning || hasUnsent || hasJobs || !order) return false;
  return waiting.some((message) => isStoppedBy(message, order));
}

/**
 * Creates what follows the order of a stop in whatever process has recorded it: messages that only wait are withdrawn
 * and the thread is told from here, as workers may be busy or away; everything else is woken.
 *
 * @returns the wake-up, and what goes on behind it: nothing that an acknowledgement has to wait for
 */
export function createAfterStop(
  options: StopWaitingOptions & { queue: Pick<TurnQueue, "wake" | "drop"> },
): (thread: ThreadId, signal: AbortSignal) => Promise<{ rest: Promise<void> }> {
  const { redis, queue } = options;
  const stopWaiting = createStopWaiting(options);
  return async (thread, signal) => {
    const found = await look(redis, thread);
    const { isRunning, waiting, hasJobs } = found;
    // Somebody who heard of the same stop has withdrawn it all, and may be telling the thread.
    if (!isRunning && waiting.length === 0 && !hasJobs) return { rest: Promise.resolve() };
    if (!mayTell(found) || !(await queue.drop(thread))) {
      await queue.wake(thread);
      return { rest: Promise.resolve() };
    }
    const tell = async () => {
      let outcome: Awaited<ReturnType<StopWaiting>> = "more";
      try {
        outcome = await stopWaiting(thread, signal);
      } finally {
        // Also a worker that has lost the thread by this: its slot would stay taken until it expires.
        if (outcome === "more" || (await holdsSlot(redis, thread))) await queue.wake(thread);
      }
    };
    return { rest: tell() };
  };
}
