import { isDeepStrictEqual } from "node:util";
import type { Redis } from "ioredis";
import type { ThreadId } from "../../chat/threads.ts";
import { keys } from "../../queue/redis/keys.ts";
import {
  createOverview,
  listThreadsToDo,
  placesOf,
  type SessionLine,
} from "../../queue/session/lists/overview.ts";

/** Of more threads than these the oldest are not listed; each takes some 600 bytes of memory. */
const mostThreads = 20_000;
/** Read with one command. */
const listedAtOnce = 1_000;
/** Described side by side: six commands each. */
const describedAtOnce = 100;
/** Of those that do something, and of which nobody has told anything, so many are read again for an answer. */
const mostDoubtful = 50;
/** The clocks of workers may differ by so much, ms. */
const skewMs = 60_000;
/** After so long the whole list is read again, whatever else was seen, ms. */
const wholeMs = 10 * 60_000;

interface Listed {
  thread: ThreadId;
  activeAt: number;
}

/** `line`: undefined where nothing is left of the thread. `round`: of the answer for which it was read. */
interface Known {
  activeAt: number;
  line: SessionLine | undefined;
  round: number;
}

export interface KnownThreads {
  /** The latest first. */
  lines: SessionLine[];
  /** Of those that wait, as far as they are among the first of all that have something to do. */
  places: ReadonlyMap<ThreadId, number>;
}

/**
 * What is known of all threads, in this process's memory, so that looking for some of them costs Redis nothing. What may
 * have changed is read again before an answer: the threads of which somebody has told, and those that were active since.
 * The first answer reads all of them, six short commands for each; later ones read of the list what is new in it.
 *
 * A change of which nobody could tell, as where a worker's connection was lost, is seen because of those that do
 * something a few are read again each time, and those that somebody is shown by {@link ThreadCatalog.confirm}. However
 * many wait, an answer costs no more.
 */
export interface ThreadCatalog {
  read(): Promise<KnownThreads>;
  /** Reads again which of these do something, unless that was done for the last answer; whether any has changed. */
  confirm(threads: readonly ThreadId[]): Promise<boolean>;
  /** One thread as it is now. */
  find(thread: ThreadId): Promise<SessionLine | undefined>;
  /** Something has happened in this thread; with null, perhaps in all of them. */
  changed(thread: ThreadId | null): void;
}

export function createThreadCatalog(redis: Redis, now: () => number = Date.now): ThreadCatalog {
  const overview = createOverview(redis);
  const known = new Map<ThreadId, Known>();
  /** Those that do something, the one first that was read longest ago. */
  const busy = new Set<ThreadId>();
  const readList = createListReader(redis, now);
  let stale: Set<ThreadId> | "all" = "all";
  let round = 0;

  /** Whether its line says something else than before. */
  const store = (thread: ThreadId, { activeAt, line }: Omit<Known, "round">): boolean => {
    const before = known.get(thread)?.line;
    const isSame = isDeepStrictEqual(before, line);
    // The same object, for whoever keeps what was made of it.
    const entry = { activeAt, line: isSame ? before : line, round };
    known.set(thread, entry);
    busy.delete(thread);
    if (isBusy(entry)) busy.add(thread);
    return !isSame;
  };

  const describe = async (threads: readonly Listed[]): Promise<void> => {
    for (let at = 0; at < threads.length; at += describedAtOnce) {
      const some = threads.slice(at, at + describedAtOnce);
      const lines = await overview.describe(some);
      for (const [index, { thread, activeAt }] of some.entries())
        store(thread, { activeAt, line: lines[index] });
    }
  };

  const readPlaces = async (): Promise<ReadonlyMap<ThreadId, number>> => {
    const isWaiting = (thread: ThreadId) => known.get(thread)?.line?.status === "waiting";
    return busy.size === 0 ? new Map() : placesOf((await listThreadsToDo(redis)).filter(isWaiting));
  };

  const refresh = async (): Promise<KnownThreads> => {
    const changed = stale;
    stale = new Set();
    round += 1;
    try {
      const listed = await readList(changed === "all");
      const isOld = ({ thread, activeAt }: Listed) =>
        changed === "all" || changed.has(thread) || known.get(thread)?.activeAt !== activeAt;
      await describe(listed.filter(isOld));
      const still = new Set(listed.map(({ thread }) => thread));
      for (const thread of known.keys()) {
        if (still.has(thread)) continue;
        known.delete(thread);
        busy.delete(thread);
      }
      const doubtful = [...busy].slice(0, mostDoubtful).flatMap((thread) => {
        const entry = known.get(thread);
        return entry && entry.round < round ? [{ thread, activeAt: entry.activeAt }] : [];
      });
      await describe(doubtful);
      const lines = listed.flatMap(({ thread }) => known.get(thread)?.line ?? []);
      return { lines, places: await readPlaces() };
    } catch (error) {
      stale = "all";
      throw error;
    }
  };

  return {
    read: shareCalls(refresh),
    async confirm(threads) {
      const entries = threads.flatMap((thread) => {
        const entry = known.get(thread);
        return entry && isBusy(entry) && entry.round < round ? [{ thread, entry }] : [];
      });
      const lines = await overview.describe(
        entries.map(({ thread, entry: { activeAt } }) => ({ thread, activeAt })),
      );
      let isChanged = false;
      for (const [index, { thread, entry }] of entries.entries()) {
        // What was read meanwhile is newer.
        if (known.get(thread) !== entry) continue;
        if (store(thread, { activeAt: entry.activeAt, line: lines[index] })) isChanged = true;
      }
      return isChanged;
    },
    async find(thread) {
      const activeAt = await redis.zscore(keys.threads, thread);
      if (activeAt === null) return undefined;
      const [line] = await overview.describe([{ thread, activeAt: Number(activeAt) }]);
      return line;
    },
    changed(thread) {
      if (thread === null) stale = "all";
      else if (stale !== "all") stale.add(thread);
    },
  };
}

function isBusy({ line }: Known): boolean {
  return line !== undefined && line.status !== "idle";
}

/** What is begun after the call answers it: what was written before it is in the answer. Calls meanwhile share one. */
function shareCalls<T>(work: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  const call = (): Promise<T> => {
    if (!current) {
      const begun = work().finally(() => {
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
        return call();
      });
    return next;
  };
  return call;
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
