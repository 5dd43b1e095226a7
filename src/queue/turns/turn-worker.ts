import { DelayedError, type Job, WaitingError, Worker } from "bullmq";
import type { Redis } from "ioredis";
import type { ThreadId } from "../../chat/threads.ts";
import { keys, queueName, queuePrefix } from "../redis/keys.ts";
import { isLostLock } from "./lost-lock.ts";
import type { Slots } from "./slots.ts";
import type { EndUnheldThread } from "./end-unheld-thread.ts";
import type { TurnQueue } from "./wake-queue.ts";

/**
 * `done`: nothing left to do. `handover`: another worker must go on. `lost`: another worker has gone on. `held`: another
 * one is at it and alive, so that nothing was done.
 */
export type SessionRunResult = "done" | "handover" | "lost" | "held";

export type SessionRunner = (thread: ThreadId, signal: AbortSignal) => Promise<SessionRunResult>;

export interface TurnWorkerOptions {
  redis: Redis;
  queue: TurnQueue;
  runSession: SessionRunner;
  endUnheldThread: EndUnheldThread;
  slots: Slots;
  concurrency: number;
  /** A worker that is silent for this long is replaced, in ms. */
  lockMs: number;
  sweepMs: number;
  /** What is by design and an operator wants to know of. Default: nobody is told. */
  onProblem?(problem: string): void;
  onError(error: unknown): void;
}

export interface TurnWorker {
  /** Hands running turns over to other workers; resolves when none is left here. */
  close(): Promise<void>;
}

/** After which a thread without a slot tries again, at most, ms. */
const fullMs = 500;

/** After which it is looked again whether whoever is at a thread without a lock is done with it, ms. */
const heldMs = 1_000;

/**
 * How often an idle worker looks for jobs, besides being notified: the notification may have gone to a worker that was
 * ending or died, above all that of the job which it handed over.
 */
export const lookSeconds = 0.5;

/** Takes turns from the queue until closed, and sweeps for threads whose wake-up was lost. */
export async function startTurnWorker(options: TurnWorkerOptions): Promise<TurnWorker> {
  let isClosing = false;
  /** BullMQ has no signal for a job that it takes a second time. */
  const running = new Map<ThreadId, AbortController>();
  const unlocked = new Set<string | undefined>();
  const processor = async (job: Job<{ thread: ThreadId }>, token: string | undefined) => {
    const again = async (inMs: number): Promise<never> => {
      await job.moveToDelayed(Date.now() + inMs, token);
      throw new DelayedError();
    };
    // Not set aside until now: for a worker whose clock is behind this one's that is later.
    const handOver = async (): Promise<never> => {
      await job.moveToWait(token);
      throw new WaitingError();
    };
    // A job that was on its way when the worker began to close: nobody would tell its turn to end.
    if (isClosing) return handOver();
    const { thread } = job.data;
    // Its lock had expired, and it goes on here all the same.
    if (running.has(thread)) return again(heldMs);
    const controller = new AbortController();
    running.set(thread, controller);
    try {
      return await work(job, controller.signal, { again, handOver });
    } finally {
      running.delete(thread);
      unlocked.delete(job.id);
    }
  };
  const work = async (
    { data: { thread }, timestamp }: Job<{ thread: ThreadId }>,
    signal: AbortSignal,
    { again, handOver }: { again(inMs: number): Promise<never>; handOver(): Promise<never> },
  ) => {
    const slot = await options.slots.enter(thread, timestamp);
    if (!slot) {
      // A stop must not wait for a slot, and what it leaves without work must not keep its place in the line.
      if ((await options.endUnheldThread(thread, signal)) === "done") return;
      // Half of it is chance, so that those who wait do not come back together.
      return again(fullMs / 2 + (Math.random() * fullMs) / 2);
    }
    let outcome: SessionRunResult | undefined;
    try {
      outcome = await options.runSession(thread, signal);
    } finally {
      // Before somebody else takes the thread, whose slot has the same name.
      await slot.leave({ isOurs: outcome !== "lost" && outcome !== "held" });
    }
    if (outcome === "handover") await handOver();
    if (outcome === "held") await again(heldMs);
  };
  const worker = new Worker<{ thread: ThreadId }>(queueName, processor, {
    connection: options.redis,
    prefix: queuePrefix,
    concurrency: options.concurrency,
    drainDelay: lookSeconds,
    lockDuration: options.lockMs,
    stalledInterval: Math.max(1_000, Math.floor(options.lockMs / 2)),
    // Crashes of workers are no fault of the turn; the session's claim counter ends crash loops.
    maxStalledCount: 1_000,
  });
  // One line is told below.
  const onError = (error: unknown) => {
    if (!isLostLock(error)) options.onError(error);
  };
  worker.on("error", onError);
  worker.on("failed", (_job, error) => onError(error));
  worker.on("lockRenewalFailed", (ids) => {
    const news = ids.filter((id) => !unlocked.has(id));
    for (const id of news) unlocked.add(id);
    if (news.length === 0) return;
    const turns = news.length === 1 ? "1 turn" : `${news.length} turns`;
    // The lock only says who has the job; who holds the session is known by its lease.
    options.onProblem?.(
      `The locks of ${turns} have expired, because Redis did not answer or this worker stood still: they go on here unless another worker has taken them over.`,
    );
  });
  await worker.waitUntilReady();

  const sweep = async () => {
    await options.queue.promoteStranded();
    for (const thread of await options.redis.zrangebyscore(keys.waiting, "-inf", Date.now()))
      await options.queue.wake(thread);
  };
  await sweep();
  let sweeping: Promise<void> | undefined;
  const timer = setInterval(() => {
    // Those that wait for a lost Redis would all wake everybody when it is back.
    sweeping ??= sweep()
      .catch(options.onError)
      .finally(() => (sweeping = undefined));
  }, options.sweepMs);

  return {
    async close() {
      clearInterval(timer);
      isClosing = true;
      const closed = worker.close();
      for (const controller of running.values()) controller.abort(shutdown);
      await closed;
    },
  };
}

/** The reason with which a run's signal is aborted. */
export const shutdown = "shutdown";
