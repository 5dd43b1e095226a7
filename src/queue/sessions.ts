import type { Redis } from "ioredis";
import type { ThreadId } from "../adapters/adapter.ts";
import type { JournalRecord } from "../agent/journal.ts";
import { keys } from "./keys.ts";

/** Looks at sessions without claiming them. */

export interface SessionSummary {
  thread: ThreadId;
  /** Milliseconds since the epoch. */
  activeAt: number;
  status: "running" | "waiting" | "idle";
}

/** The sessions by last activity, newest first, at most `limit`. */
export async function listSessions(redis: Redis, limit = 100): Promise<SessionSummary[]> {
  const members = await redis.zrange(keys.threads, "0", String(limit - 1), "REV", "WITHSCORES");
  const sessions: SessionSummary[] = [];
  for (let i = 0; i < members.length; i += 2) {
    const thread = members[i] ?? "";
    const [status, waiting] = await Promise.all([
      redis.hget(keys.head(thread), "status"),
      redis.llen(keys.mail(thread)),
    ]);
    sessions.push({
      thread,
      activeAt: Number(members[i + 1]),
      status: status === "running" ? "running" : waiting > 0 ? "waiting" : "idle",
    });
  }
  return sessions;
}

/** A session's records, oldest first; empty when there is none. */
export async function readJournal(redis: Redis, thread: ThreadId): Promise<JournalRecord[]> {
  const generation = Number((await redis.hget(keys.head(thread), "generation")) ?? 0);
  return (await redis.lrange(keys.log(thread, generation), 0, -1)).map(
    (entry) => JSON.parse(entry) as JournalRecord,
  );
}

/** How much a thread shows of a turn: only its answer, what it does, or each call with its result. */
export type Verbosity = "quiet" | "normal" | "full";

/** Sets how much a thread shows of its turns; false when it has no session. */
export async function setVerbosity(redis: Redis, thread: ThreadId, verbosity: Verbosity): Promise<boolean> {
  if (!(await redis.exists(keys.head(thread)))) return false;
  await redis.hset(keys.head(thread), "verbosity", verbosity);
  return true;
}
