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
/** The clocks of workers may differ by so much, ms. */
const skewMs = 60_000;
/** After so long the whole list is read again, whatever else was seen, ms. */
const wholeMs = 10 * 60_000;

interface Listed {
  thread: ThreadId;
  activeAt: number;
}

/**
 * What is known of all threads, in this process's memory, so that looking for some of them costs Redis nothing. What may
 * have changed is read again before an answer: the threads of which somebody has told, those that were active since,
 * and those that do something. The first answer reads all of them, five short commands for each; later ones read of the
 * list what is new in it.
 */
export interface ThreadCatalog {
  /** The latest first. */
  lines(): Promise<SessionLine[]>;
  /** Something has happened in this thread; with null, perhaps in all of them. */
  changed(thread: ThreadId | null): void;
}

export function createThreadCatalog(redis: Redis, now: () => number = Date.now): ThreadCatalog {
  const overview = createOverview(redis);
  const known = new Map<ThreadId, { activeAt: number; line: SessionLine | undefined }>();
  const readList = createListReader(redis, now);
  let stale: Set<ThreadId> | "all" = "all";
  let current: Promise<SessionLine[]> | undefined;
  let next: Promise<SessionLine[]> | undefined;

  const refresh = async (): Promise<SessionLine[]> => {
    const changed = stale;
    stale = new Set();
    try {
      const listed = await readList(changed === "all");
      const isOld = ({ thread, activeAt }: Listed) => {
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

/** Reads the list of threads, the latest first: what is new in it, and all of it where that does not add up. */
function createListReader(redis: Redis, now: () => number): (whole: boolean) => Promise<readonly Listed[]> {
  let listed: readonly Listed[] = [];
  let wholeAt = -Infinity;
  return async (whole) => {
    const added = whole || now() - wholeAt > wholeMs ? undefined : await addNewer(redis, listed);
    if (!added) wholeAt = now();
    listed = added ?? (await readListed(redis));
    return listed;
  };
}

/** Undefined where more has changed than a few threads at the front. */
async function addNewer(redis: Redis, listed: readonly Listed[]): Promise<Listed[] | undefined> {
  const since = (listed[0]?.activeAt ?? 0) - skewMs;
  const [members, count] = await Promise.all([
    redis.zrevrangebyscore(keys.threads, "+inf", since, "WITHSCORES", "LIMIT", 0, listedAtOnce),
    redis.zcard(keys.threads),
  ]);
  if (members.length === 2 * listedAtOnce || count > mostThreads) return undefined;
  const newer = toListed(members);
  const names = new Set(newer.map(({ thread }) => thread));
  const all = [...newer, ...listed.filter(({ thread }) => !names.has(thread))];
  return all.length === count ? all : undefined;
}

async function readListed(redis: Redis): Promise<Listed[]> {
  const listed: Listed[] = [];
  for (let from = 0; from < mostThreads; from += listedAtOnce) {
    const members = await redis.zrevrange(keys.threads, from, from + listedAtOnce - 1, "WITHSCORES");
    listed.push(...toListed(members));
    if (members.length < 2 * listedAtOnce) break;
  }
  // One that became active while they were read is in two pieces.
  return [...new Map(listed.toReversed().map((one) => [one.thread, one])).values()].toReversed();
}

function toListed(members: readonly string[]): Listed[] {
  const listed: Listed[] = [];
  for (let at = 0; at < members.length; at += 2)
    listed.push({ thread: members[at] ?? "", activeAt: Number(members[at + 1]) });
  return listed;
}
