import type { Redis } from "ioredis";
import { parseThreadId, type ThreadId, type ThreadRef } from "../../../chat/threads.ts";
import { keys } from "../../redis/keys.ts";

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

/** So many sessions of all workspaces are looked through, in pieces of this size. */
const searched = { most: 100_000, piece: 1_000 };

/**
 * The threads of one workspace that had a message since then (ms since the epoch), the latest first, at most `most`. What
 * other workspaces do takes none of them out of the list, unless it is very much.
 */
export async function listThreadsOf(
  redis: Redis,
  { platform, workspace }: Pick<ThreadRef, "platform" | "workspace">,
  { since, most }: { since: number; most: number },
): Promise<{ thread: ThreadRef; activeAt: number }[]> {
  const found: { thread: ThreadRef; activeAt: number }[] = [];
  for (let offset = 0; offset < searched.most; offset += searched.piece) {
    const range = ["+inf", String(since), "BYSCORE", "REV", "LIMIT", offset, searched.piece] as const;
    const members = await redis.zrange(keys.threads, ...range, "WITHSCORES");
    for (let at = 0; at < members.length; at += 2) {
      const thread = parseThreadId(members[at] ?? "");
      if (thread.platform !== platform || thread.workspace !== workspace) continue;
      found.push({ thread, activeAt: Number(members[at + 1]) });
      if (found.length === most) return found;
    }
    if (members.length < 2 * searched.piece) break;
  }
  return found;
}

export async function readSessionStatus(redis: Redis, thread: ThreadId): Promise<SessionSummary["status"]> {
  const [status, waiting] = await Promise.all([
    redis.hget(keys.head(thread), "status"),
    redis.llen(keys.mail(thread)),
  ]);
  return status === "running" ? "running" : waiting > 0 ? "waiting" : "idle";
}
