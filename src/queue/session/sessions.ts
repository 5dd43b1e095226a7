import type { Redis } from "ioredis";
import type { ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";

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
  const pairs = Array.from({ length: members.length / 2 }, (_, i) => members.slice(2 * i, 2 * i + 2));
  return Promise.all(
    pairs.map(async ([thread = "", at]) => ({
      thread,
      activeAt: Number(at),
      status: await readSessionStatus(redis, thread),
    })),
  );
}

export async function readSessionStatus(redis: Redis, thread: ThreadId): Promise<SessionSummary["status"]> {
  const [status, waiting] = await Promise.all([
    redis.hget(keys.head(thread), "status"),
    redis.llen(keys.mail(thread)),
  ]);
  return status === "running" ? "running" : waiting > 0 ? "waiting" : "idle";
}
