import type { Redis } from "ioredis";
import type { ThreadId } from "../chat/threads.ts";
import { keys } from "../queue/redis/keys.ts";
import { createOverview, type SessionLine } from "../queue/session/overview.ts";

/** Of more threads than these the oldest are not listed; each takes some 600 bytes of memory. */
const mostThreads = 20_000;
/** Read with one command. */
const listedAtOnce = 1_000;
/** Described side by side: five commands each. */
const describedAtOnce = 100;

/**
 * What is known of all threads, in this process's memory, so that looking for some of them costs Redis nothing. What may
 * have changed is read again before an answer: the threads of which somebody has told, those that were active since,
 * and those that do something. The first answer reads all of them, five short commands for each.
 */
export interface ThreadCatalog {
  /** The latest first. */
  lines(): Promise<SessionLine[]>;
  /** Something has happened in this thread; with null, perhaps in all of them. */
  changed(thread: ThreadId | null): void;
}

export function createThreadCatalog(redis: Redis): ThreadCatalog {
  const overview = createOverview(redis);
  const known = new Map<ThreadId, { activeAt: number; line: SessionLine | undefined }>();
  let stale: Set<ThreadId> | "all" = "all";
  let current: Promise<SessionLine[]> | undefined;
  let next: Promise<SessionLine[]> | undefined;

  const refresh = async (): Promise<SessionLine[]> => {
    const changed = stale;
    stale = new Set();
    try {
      const listed = await readListed(redis);
      const isOld = ({ thread, activeAt }: (typeof listed)[number]) => {
        const before = known.get(thread);
        if (!before || before.activeAt !== activeAt || changed === "all" || changed.has(thread)) return true;
        return before.line !== undefined && before.line.status !== "idle";
      };
      const old = listed.filter(isOld);
      for (let at = 0; at < old.length; at += describedAtOnce) {
        const some = old.slice(at, at + describedAtOnce);
        const lines = await overview.describe(some);
        for (const [index, { thread, activeAt }] of some.entries())
          known.set(thread, { activeAt, line: lines[index] });
      }
      const still = new Set(listed.map(({ thread }) => thread));
      for (const thread of known.keys()) if (!still.has(thread)) known.delete(thread);
      return listed.flatMap(({ thread }) => known.get(thread)?.line ?? []);
    } catch (error) {
      stale = "all";
      throw error;
    }
  };

  /** Begun after the call: what was written before it is in the answer. Calls meanwhile share one. */
  const read = (): Promise<SessionLine[]> => {
    if (!current) {
      const begun = refresh().finally(() => {
        if (current === begun) current = undefined;
      });
      current = begun;
      return begun;
    }
    const before = current;
    next ??= before
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        return read();
      });
    return next;
  };

  return {
    lines: read,
    changed(thread) {
      if (thread === null) stale = "all";
      else if (stale !== "all") stale.add(thread);
    },
  };
}

async function readListed(redis: Redis): Promise<{ thread: ThreadId; activeAt: number }[]> {
  const listed: { thread: ThreadId; activeAt: number }[] = [];
  for (let from = 0; from < mostThreads; from += listedAtOnce) {
    const members = await redis.zrevrange(keys.threads, from, from + listedAtOnce - 1, "WITHSCORES");
    for (let at = 0; at < members.length; at += 2)
      listed.push({ thread: members[at] ?? "", activeAt: Number(members[at + 1]) });
    if (members.length < 2 * listedAtOnce) break;
  }
  // One that became active while they were read is in two pieces.
  return [...new Map(listed.toReversed().map((one) => [one.thread, one])).values()].toReversed();
}
