import { Queue } from "bullmq";
import type { Redis } from "ioredis";
import type { ThreadId } from "../../chat/threads.ts";
import { failpoint } from "../redis/failpoint.ts";
import { queueName, queuePrefix } from "../redis/keys.ts";
import { readMailboxEnds } from "../session/mailbox/mailbox.ts";

/** Wakes threads: the queue carries no data, only the fact that a thread has something to do. */
export interface TurnQueue {
  /** @param waiting what waits in its mailbox; without it the mailbox is looked into */
  wake(thread: ThreadId, waiting?: WaitingKinds): Promise<void>;
  /** Takes the thread out of the queue; false when a worker is at it. A wake-up from then on puts it in anew. */
  drop(thread: ThreadId): Promise<boolean>;
  /**
   * Puts threads back into the line that were set aside for longer than any is by a clock that is right: it was ahead and
   * has been set back, or is another host's. No wake-up reaches a thread that is set aside.
   */
  promoteStranded(): Promise<void>;
  /** Worker processes that are alive. */
  workers(): Promise<number>;
  depth(): Promise<QueueDepth>;
  /** Threads of people that workers take before this one; all that no worker has had room for, if it does not stand among them. */
  before(thread: ThreadId): Promise<number>;
  close(): Promise<void>;
}

/** Of whom messages wait. `scheduled`: for whose turn nobody waits, because it was scheduled or not asked for. */
export interface WaitingKinds {
  people: boolean;
  scheduled: boolean;
}

/** Threads in the queue, counted. `delayed`: without a slot, or to be tried again. `failed`: given up. */
export interface QueueDepth {
  waiting: number;
  active: number;
  delayed: number;
  failed: number;
}

// Viewers do not read BullMQ's event stream; the embedded server copies it on each write, so it stays short.
export const eventStream = { events: { maxLen: 50 } };

export function openTurnQueue(redis: Redis): TurnQueue {
  const queue = new Queue<{ thread: ThreadId }>(queueName, {
    connection: redis,
    prefix: queuePrefix,
    streams: eventStream,
    defaultJobOptions: {
      // A turn that fails again and again is ended by its session's claim counter, not by the queue.
      attempts: 1_000,
      backoff: { type: "fixed", delay: 1_000 },
      removeOnComplete: true,
      removeOnFail: { age: 604_800, count: 1_000 },
    },
  });
  queue.on("error", () => {}); // The connection's own listener reports it.
  return {
    async wake(thread, waiting) {
      const kinds = waiting ?? (await readWaitingKinds(redis, thread));
      // What goes on without a message was begun in its order.
      const isPerson = kinds.people || !kinds.scheduled;
      // No job id: with keepLastIfActive a custom one would lose the wake-up (see BullMQ #4030).
      await failpoint("wake", () =>
        queue.add(
          "turn",
          { thread },
          {
            deduplication: { id: thread, keepLastIfActive: true },
            ...(!isPerson && { priority: scheduledPriority }),
          },
        ),
      );
      // The person may have been added to a job that waits behind the others.
      if (isPerson && kinds.scheduled) await advance(queue, thread);
    },
    async drop(thread) {
      const id = await queue.getDeduplicationJobId(thread);
      return !id || (await queue.remove(id)) === 1 || (await queue.getJob(id)) === undefined;
    },
    async promoteStranded() {
      const after = (Date.now() + longestAsideMs) * delayedScale;
      for (const id of await redis.zrangebyscore(queue.toKey("delayed"), after, "+inf")) {
        // Another worker may have done it, or taken it.
        await (await queue.getJob(id))?.promote().catch(() => undefined);
      }
    },
    workers: () => countWorkers(queue, redis),
    async depth() {
      const counts = await queue.getJobCounts("wait", "prioritized", "active", "delayed", "failed");
      const { wait = 0, prioritized = 0, active = 0, delayed = 0, failed = 0 } = counts;
      return { waiting: wait + prioritized, active, delayed, failed };
    },
    async before(thread) {
      const [line, id] = await Promise.all([
        queue.getJobCountByTypes("wait"),
        queue.getDeduplicationJobId(thread),
      ]);
      // New ones come in at the front of the list and are taken from its end.
      const behind = id ? await redis.lpos(queue.toKey("wait"), id) : null;
      return behind === null ? line : Math.max(0, line - 1 - behind);
    },
    close: () => queue.close(),
  };
}

/** Longer than a thread is set aside that failed or has no slot, ms. */
const longestAsideMs = 10_000;

/** BullMQ orders what is delayed by the time, ms, times this, and a counter. */
const delayedScale = 0x1000;

/**
 * BullMQ asks each node of a cluster by itself, past what sends a command again when a node is lost: the count is then
 * taken again, of the nodes that are left.
 */
async function countWorkers(queue: Queue, redis: Redis): Promise<number> {
  for (;;) {
    // A cluster of which no node is left would have no workers. This waits until one answers.
    if (redis.isCluster) await redis.ping();
    try {
      return await queue.getWorkersCount();
    } catch (error) {
      const isLost = error instanceof Error && error.message === "Connection is closed.";
      if (!redis.isCluster || !isLost || redis.status === "end") throw error;
    }
  }
}

/** Jobs without a priority, those of people, are taken before all that have one. */
const scheduledPriority = 1;

async function readWaitingKinds(redis: Redis, thread: ThreadId): Promise<WaitingKinds> {
  const { messages, hidden } = await readMailboxEnds(redis, thread);
  // Where some were not looked at there may be both.
  return {
    people: hidden > 0 || messages.some(({ scheduled, unaddressed }) => !scheduled && !unaddressed),
    scheduled: hidden > 0 || messages.some(({ scheduled, unaddressed }) => scheduled || unaddressed),
  };
}

async function advance(queue: Queue, thread: ThreadId): Promise<void> {
  const id = await queue.getDeduplicationJobId(thread);
  const job = id ? await queue.getJob(id) : undefined;
  if (job && job.priority > 0) await job.changePriority({ priority: 0 });
}
