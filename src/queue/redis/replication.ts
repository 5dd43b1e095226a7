import type { Redis } from "ioredis";
import { keys } from "./keys.ts";
import { RedisUnavailable } from "./unavailable.ts";
import type { ThreadId } from "../../chat/threads.ts";

export interface ReplicationOptions {
  /** A connection of its own, for it is held up while replicas are waited for. */
  redis: Redis;
  /** The connection over which the events are stored. */
  writer: Redis;
  /** How many replicas must have what was written. */
  replicas: number;
  /** For how long they are waited for, ms. */
  withinMs: number;
}

/**
 * Called before something is written, in a thread where it is known already. What it gives resolves when everything that
 * Redis has confirmed since, in the thread and on the list of threads with something to do, has reached the replicas: a
 * failover to one of them keeps it.
 *
 * @throws {RedisUnavailable} from what it gives, when too few replicas have answered in time or Redis has failed over
 *   meanwhile
 */
export type Replicate = (
  thread: ThreadId | undefined,
) => Promise<(thread: ThreadId | undefined) => Promise<void>>;

const keptSeconds = 60;

/**
 * A promoted replica begins a history of its own, with another id (https://redis.io/docs/latest/operate/oss_and_stack/management/replication/#replication-id-explained).
 * Asked in a script, it is that of the server which has the key, in a cluster too.
 */
const historyScript = "return redis.call('INFO', 'replication')";

/**
 * `WAIT` waits for the writes of its own connection alone, so one key is written, behind all others in the order of
 * replication. In a cluster each primary replicates on its own, so there is one key in the slot of the thread and one in
 * that of the list.
 *
 * What was in flight when a primary went down is sent again to the next one, which may never have had what came before:
 * so the server that was waited for must have the history of the one that was written to, before and after.
 */
export function createReplication({ redis, writer, replicas, withinMs }: ReplicationOptions): Replicate {
  const waits = new Map<string, SharedWait<string>>();
  /** Resolves with the history of the server whose replicas have answered. */
  const reach = async (key: string): Promise<string> => {
    const pipeline = redis.pipeline().set(key, "1", "EX", keptSeconds).wait(replicas, withinMs);
    const [, waited, told] = (await pipeline.eval(historyScript, 1, key).exec()) ?? [];
    const failure = waited?.[0] ?? told?.[0];
    if (failure) throw failure;
    const reached = Number(waited?.[1]);
    if (reached >= replicas) return readId(told?.[1]);
    throw new RedisUnavailable(
      `Redis has copied this to ${reached} of ${replicas} replicas within ${withinMs} ms (queue.waitForReplicas), so a failover could lose it. Try again in a moment: what is told twice counts once.`,
    );
  };
  const wait = async (key: string): Promise<string> => {
    const shared = waits.get(key) ?? createSharedWait(() => reach(key));
    waits.set(key, shared);
    try {
      return await shared.join();
    } finally {
      if (shared.isIdle()) waits.delete(key);
    }
  };
  const listKeys = (thread: ThreadId | undefined): string[] => [
    keys.replicatedList,
    ...(redis.isCluster && thread !== undefined ? [keys.replicated(thread)] : []),
  ];
  const readHistory = async (key: string) => readId(await writer.eval(historyScript, 1, key));
  return async (expected) => {
    const before = new Map<string, string>();
    const note = async (key: string) => void before.set(key, await readHistory(key));
    await Promise.all(listKeys(expected).map(note));
    return async (thread) => {
      const check = async (key: string) => {
        const [after, reached] = await Promise.all([readHistory(key), wait(key)]);
        if (after === reached && (before.get(key) ?? after) === after) return;
        throw new RedisUnavailable(
          "Redis has failed over to another primary meanwhile, so it is not certain that this was kept. Try again in a moment: what is told twice counts once.",
        );
      };
      await Promise.all(listKeys(thread).map(check));
    };
  };
}

function readId(information: unknown): string {
  return /^master_replid:(\w+)/m.exec(String(information))?.[1] ?? "";
}

/** Those who come while one wait is under way share the next one, which also covers what they have written. */
interface SharedWait<T> {
  join(): Promise<T>;
  isIdle(): boolean;
}

function createSharedWait<T>(work: () => Promise<T>): SharedWait<T> {
  let current: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  const begin = (): Promise<T> => {
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
