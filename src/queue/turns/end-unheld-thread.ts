import type { Redis } from "ioredis";
import type { StopOrder } from "../../agent/events.ts";
import type { JournalRecord } from "../../agent/journal/journal.ts";
import type { UserMessage } from "../../agent/messages.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import { claimUnheldSession } from "../session/claim.ts";
import { LeaseLost, type SessionLease } from "../session/lease.ts";
import { readMailbox } from "../session/mailbox/mailbox.ts";
import { readLastTurn } from "../session/requesters.ts";
import { enqueueForSweep, readListedAt, unlist } from "../session/lists/sweep-list.ts";
import type { BackgroundJobs, JobReports } from "./background-jobs.ts";
import { awaitPendingEdits, openSession, type SessionDeps } from "./claimed-session.ts";
import { endUnheldTurn } from "./end-unheld-turn.ts";
import { holdsSlot, leaveSlotQueues } from "./slots.ts";
import { notifyStopped } from "./stop-notice.ts";
import { endsTurn, isStoppedBy, readStop } from "./stops.ts";
import type { TurnQueue } from "./wake-queue.ts";

export interface EndUnheldOptions extends SessionDeps {
  /** Without it a thread that has background jobs is left to a worker. */
  background?: Pick<BackgroundJobs, "ended"> & Partial<Pick<JobReports, "areComplete">>;
}

/**
 * Ends what a stop has overtaken in a thread where no worker is at a turn: the turn that waits for people or was handed
 * over, and the messages that wait. The thread is told, without a slot and without a model. `done`: nothing is left to do
 * there. `more`: a turn has to see to the rest.
 *
 * Whoever calls it must keep workers from the thread meanwhile: it holds the thread's job, or has taken it out of the
 * queue.
 */
export type EndUnheldThread = (thread: ThreadId, signal: AbortSignal) => Promise<"done" | "more">;

export function createEndUnheldThread(options: EndUnheldOptions): EndUnheldThread {
  const { redis } = options;
  return async (thread, signal) => {
    const found = await readThreadWork(redis, thread);
    if (hasNoWork(found)) {
      await leaveSlotQueues(redis, thread, new Set());
      return "done";
    }
    if (!mayTell(found, options)) return "more";
    if (!(await knowsEnds(found, thread, options))) return "more";
    const listedSince = await readListedAt(redis, thread);
    const lease = await claimUnheldSession(redis, thread, options);
    if (!lease) return "more";
    try {
      if (!(await endAndTell(lease, options, signal))) return "more";
    } catch (error) {
      // Somebody else has gone on with the thread.
      if (error instanceof LeaseLost) return "more";
      throw error;
    }
    const left = await readThreadWork(redis, thread);
    if (left.waiting.length > 0) return "more";
    await leaveSlotQueues(redis, thread, new Set(found.waiting.map(({ author }) => author.id)));
    if (!hasNoWork(left)) return "more";
    await unlist(redis, thread, listedSince);
    return "done";
  };
}

/** Where a worker has not said what it has ended, another one may see it: this process cannot. */
async function knowsEnds(
  { order, hasStoppedJobs }: ThreadWork,
  thread: ThreadId,
  { background }: EndUnheldOptions,
): Promise<boolean> {
  if (!order || !hasStoppedJobs || !background?.areComplete) return true;
  return background.areComplete(thread, order);
}

/** False when the stop ends nothing that can be ended from here. */
async function endAndTell(
  lease: SessionLease,
  options: EndUnheldOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const { head, stop } = lease.found;
  const { background } = options;
  const session = await openSession(lease, options, signal);
  try {
    if (head["status"] === "running") {
      if (!stop || !(await endUnheldTurn(session, stop, background))) return false;
    } else {
      session.cancelled.messages.push(...(await lease.withdraw()));
      await notifyStopped(session, stop, background);
    }
    // A worker tells the thread when their end is known.
    return session.told.length === 0;
  } finally {
    // What the platform does not take soon is left to a worker: the thread's next turn does not wait with it.
    await awaitPendingEdits(session);
  }
}

/** What a thread has to do. */
interface ThreadWork {
  /** A worker is at a turn, or died in it. */
  isHeld: boolean;
  /** The messages of a turn that no worker is at: it waits for people, or was handed over. */
  unheld: UserMessage[] | undefined;
  order: StopOrder | undefined;
  waiting: UserMessage[];
  /** Background jobs that run, or were ended by a stop of which the thread was not told. */
  hasJobs: boolean;
  /** Some of them are those of the order. */
  hasStoppedJobs: boolean;
  hasUnsent: boolean;
}

async function readThreadWork(redis: Redis, thread: ThreadId): Promise<ThreadWork> {
  const [[status, handover], order, waiting, jobs, endedJobs, unsent] = await Promise.all([
    redis.hmget(keys.head(thread), "status", "handover"),
    readStop(redis, thread),
    readMailbox(redis, thread),
    redis.hvals(keys.jobs(thread)),
    redis.exists(keys.endedJobs(thread)),
    redis.hlen(keys.outbox(thread)),
  ]);
  const isRunning = status === "running";
  const isUnheld = isRunning && handover === "1";
  return {
    ...{ order, waiting },
    isHeld: isRunning && !isUnheld,
    // Without an order nobody asks.
    unheld: isUnheld ? (order ? usersIn(await readLastTurn(redis, thread)) : []) : undefined,
    hasJobs: jobs.length + endedJobs > 0,
    hasStoppedJobs: endedJobs > 0 || jobs.some((since) => order !== undefined && order.at >= Number(since)),
    hasUnsent: unsent > 0,
  };
}

function usersIn(records: readonly JournalRecord[]): UserMessage[] {
  return records.flatMap((record) => (record.type === "user" ? [record.message] : []));
}

function hasNoWork({ isHeld, unheld, waiting, hasJobs, hasUnsent }: ThreadWork): boolean {
  return !isHeld && !unheld && waiting.length === 0 && !hasJobs && !hasUnsent;
}

/** Whether a stop has overtaken something there that can be told without a worker. */
function mayTell(
  { isHeld, unheld, order, waiting, hasJobs, hasStoppedJobs, hasUnsent }: ThreadWork,
  { background }: EndUnheldOptions,
): boolean {
  if (isHeld || hasUnsent || !order || (hasJobs && !background)) return false;
  if (unheld) return endsTurn(order, { since: Math.min(...unheld.map(({ at }) => at)), asked: unheld });
  return hasStoppedJobs || waiting.some((message) => isStoppedBy(message, order));
}

/**
 * Creates what follows the order of a stop in whatever process has recorded it: what no worker is at is ended and the
 * thread is told from here, as workers may be busy or away; everything else is woken.
 *
 * @returns the wake-up, and what goes on behind it: nothing that an acknowledgement has to wait for
 */
export function createAfterStop(
  options: EndUnheldOptions & { queue: Pick<TurnQueue, "wake" | "drop"> },
): (thread: ThreadId, signal: AbortSignal) => Promise<{ rest: Promise<void> }> {
  const { redis, queue } = options;
  const endUnheldThread = createEndUnheldThread(options);
  return async (thread, signal) => {
    const found = await readThreadWork(redis, thread);
    // Somebody who heard of the same stop has withdrawn it all, and may be telling the thread.
    if (hasNoWork({ ...found, hasUnsent: false })) return { rest: Promise.resolve() };
    // One that waits for people is listed for the end of its question, one with jobs not at all, and this process may die before it has told.
    if (found.unheld || found.hasStoppedJobs) await enqueueForSweep(redis, thread, options.now());
    if (!mayTell(found, options) || !(await queue.drop(thread))) {
      await queue.wake(thread);
      return { rest: Promise.resolve() };
    }
    const tell = async () => {
      let outcome: Awaited<ReturnType<EndUnheldThread>> = "more";
      try {
        outcome = await endUnheldThread(thread, signal);
      } finally {
        // Also a worker that has lost the thread by this: its slot would stay taken until it expires.
        if (outcome === "more" || (await holdsSlot(redis, thread))) await queue.wake(thread);
      }
    };
    return { rest: tell() };
  };
}
