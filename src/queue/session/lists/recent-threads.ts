import type { Redis } from "ioredis";
import type { RecentThread, RecentThreads } from "../../../chat/home.ts";
import { threadId } from "../../../chat/threads.ts";
import { readFirstMessage } from "../journal/journal.ts";
import { listThreadsOf, readSessionStatus } from "./sessions.ts";

/** So many of the workspace's latest sessions are looked through. */
const lookedAt = 300;
const most = 10;

/** Finds the threads that a person has begun, in the sessions as they are. */
export function createRecentThreads(redis: Redis): RecentThreads {
  return {
    async of(platform, workspace, person) {
      const found: RecentThread[] = [];
      const latest = await listThreadsOf(redis, { platform, workspace }, { since: 0, most: lookedAt });
      for (const { thread, activeAt } of latest) {
        const first = await readFirstMessage(redis, threadId(thread));
        if (first?.author.id !== person) continue;
        const status = await readSessionStatus(redis, threadId(thread));
        found.push({ thread, beginning: first.text, status, activeAt });
        if (found.length === most) break;
      }
      return found;
    },
  };
}
