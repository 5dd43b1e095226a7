import type { Redis } from "ioredis";
import { keys } from "./keys.ts";
import { RedisUnavailable } from "./unavailable.ts";
import type { ThreadId } from "../../chat/threads.ts";

export interface ReplicationOptions {
  /** A connection of its own, for it is held up while replicas are waited for. */
  redis: Redis;
  /** How many replicas must have what was written. */
  replicas: number;
  /** For how long they are waited for, ms. */
  withinMs: number;
}

const keptSeconds = 60;

/**
 * Creates what resolves when everything that Redis has confirmed before, in a thread and on the list of threads with
 * something to do, has reached that many replicas: a failover to one of them keeps it. `WAIT` waits for the writes of its own
 * connection alone, so one key is written, behind all others in the order of replication. In a cluster each primary
 * replicates on its own, so there is one key in the slot of the thread and one in that of the list.
 *
 * @throws {RedisUnavailable} from the function, when too few replicas have answered in time
 */
export function createReplication(
  options: ReplicationOptions,
): (thread: ThreadId | undefined) => Promise<void> {
  const { redis, replicas, withinMs } = options;
  const waits = new Map<string, SharedWait>();
  const reach = async (key: string) => {
    const replies = await redis.pipeline().set(key, "1", "EX", keptSeconds).wait(replicas, withinMs).exec();
    const [error, reached] = replies?.[1] ?? [];
    if (error) throw error;
    if (Number(reached) >= replicas) return;
    throw new RedisUnavailable(
      `Redis has copied this to ${Number(reached)} of ${replicas} replicas within ${withinMs} ms (queue.waitForReplicas), so a failover could lose it. Try again in a moment: what is told twice counts once.`,
    );
  };
  const wait = async (key: string) => {
    const shared = waits.get(key) ?? createSharedWait(() => reach(key));
    waits.set(key, shared);
    try {
      await shared.join();
    } finally {
      if (shared.isIdle()) waits.delete(key);
    }
  };
  return async (thread) => {
    const isSplit = redis.isCluster && thread !== undefined;
    await Promise.all([wait(keys.replicatedList), ...(isSplit ? [wait(keys.replicated(thread))] : [])]);
  };
}

/** Those who come while one wait is under way share the next one, which also covers what they have written. */
interface SharedWait {
  join(): Promise<void>;
  isIdle(): boolean;
}

function createSharedWait(work: () => Promise<void>): SharedWait {
  let current: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const begin = (): Promise<void> => {
    next = undefined;
    const running = work().finally(() => {
      if (current === running) current = undefined;
    });
    current = running;
    return running;
  };
  return {
    join() {
      if (!current) return begin();
      next ??= current.then(begin, begin);
      return next;
    },
    isIdle: () => current === undefined,
  };
}
