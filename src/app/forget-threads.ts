import type { Redis } from "ioredis";
import { heddle, type Speaker } from "../agent/messages.ts";
import type { ThreadId } from "../chat/threads.ts";
import type { Removal } from "../operations/threads/manage.ts";
import { keys } from "../queue/redis/keys.ts";
import { channelSettings } from "./channel-settings.ts";
import type { AppContext } from "./context.ts";
import { openThreadRemoval } from "./remove-thread.ts";

export interface ForgetOptions {
  redis: Redis;
  /** How many days the thread's channel keeps a thread after its last activity; undefined where it does not say. */
  keepDays(thread: ThreadId): number | undefined;
  /** Deletes a thread with all that belongs to it. */
  remove(thread: ThreadId, by: Speaker): Promise<Removal>;
  now(): number;
  onProblem(problem: string, error: unknown): void;
}

/** One process in this time, s. */
const everySeconds = 3_600;
/** Each deletion looks through the names of all keys, in pieces. */
const mostAtOnce = 50;
/** Threads that are looked at with one command, and at most. */
const looked = { piece: 1_000, most: 100_000 };
const dayMs = 86_400_000;

/**
 * Deletes threads that their channel keeps no longer (`channels.*.keepDays`), the oldest first. What is at work, or waits,
 * is left for the next time. To be called often: it does something once an hour, in one of all processes.
 */
export function createForgetter(options: ForgetOptions): () => Promise<void> {
  const { redis, keepDays, remove, now, onProblem } = options;
  return async () => {
    try {
      if (!(await redis.set(keys.forgetting, "1", "EX", everySeconds, "NX"))) return;
      let forgotten = 0;
      for await (const { thread, activeAt } of listOldest(redis)) {
        const days = keepDays(thread);
        if (days === undefined || activeAt > now() - days * dayMs) continue;
        if ((await remove(thread, heddle)).isDeleted) forgotten += 1;
        if (forgotten === mostAtOnce) return;
      }
    } catch (error) {
      onProblem("The threads that channels keep no longer could not be deleted.", error);
    }
  };
}

/** All sessions as they are when it begins, by last activity. */
async function* listOldest(redis: Redis): AsyncGenerator<{ thread: ThreadId; activeAt: number }> {
  const found: string[] = [];
  for (let offset = 0; offset < looked.most; offset += looked.piece) {
    const members = await redis.zrange(
      keys.threads,
      String(offset),
      String(offset + looked.piece - 1),
      "WITHSCORES",
    );
    found.push(...members);
    if (members.length < 2 * looked.piece) break;
  }
  for (let at = 0; at < found.length; at += 2)
    yield { thread: found[at] ?? "", activeAt: Number(found[at + 1]) };
}

/** The forgetter of a worker: it reads the channels' days as they are configured at that moment. */
export function openForgetter(
  context: Pick<AppContext, "configuration" | "redis" | "sandbox" | "telemetry" | "log">,
): () => Promise<void> {
  const { configuration, redis, log } = context;
  const onProblem = (problem: string, error: unknown) => log.warn({ err: error }, problem);
  const forget = createForgetter({
    ...{ redis, now: Date.now, onProblem },
    keepDays: (thread) => channelSettings(configuration.current().settings, thread).keepDays,
    remove: openThreadRemoval(context),
  });
  return async () => {
    const { channels } = configuration.current().settings;
    if (Object.values(channels).some(({ keepDays }) => keepDays !== undefined)) await forget();
  };
}
