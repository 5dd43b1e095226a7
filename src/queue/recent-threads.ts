import type { Redis } from "ioredis";
import { parseThreadId, type RecentThread, type RecentThreads, type ThreadId } from "../adapters/adapter.ts";
import type { JournalRecord } from "../agent/journal.ts";
import type { UserMessage } from "../agent/messages.ts";
import { keys } from "./keys.ts";
import { listSessions } from "./sessions.ts";

/** So many of the latest sessions are looked through. */
const lookedAt = 300;
const most = 10;
/** The first message stands behind the record of the turn's start. */
const firstRecords = 4;

/** Finds the threads that a person has begun, in the sessions as they are. */
export function createRecentThreads(redis: Redis): RecentThreads {
  /** The journal's first list stays when a compaction starts another. */
  const firstMessage = async (thread: ThreadId): Promise<UserMessage | undefined> => {
    const entries = [
      ...(await redis.lrange(keys.log(thread, 0), 0, firstRecords - 1)),
      ...(await redis.lrange(keys.mail(thread), 0, 0)),
    ];
    const records = entries.map((entry) => JSON.parse(entry) as JournalRecord); // written by us
    return records.find((record) => record.type === "user")?.message;
  };
  return {
    async of(platform, workspace, person) {
      const found: RecentThread[] = [];
      for (const { thread, activeAt, status } of await listSessions(redis, lookedAt)) {
        const ref = parseThreadId(thread);
        if (ref.platform !== platform || ref.workspace !== workspace) continue;
        const first = await firstMessage(thread);
        if (first?.author.id !== person) continue;
        found.push({ thread: ref, title: first.text, status, activeAt });
        if (found.length === most) break;
      }
      return found;
    },
  };
}
