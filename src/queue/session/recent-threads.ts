import type { Redis } from "ioredis";
import type { RecentThread, RecentThreads } from "../../chat/home.ts";
import { parseThreadId } from "../../chat/threads.ts";
import { readFirstMessage } from "./journal.ts";
import { listSessions } from "./sessions.ts";

/** So many of the latest sessions are looked through. */
const lookedAt = 300;
const most = 10;

/** Finds the threads that a person has begun, in the sessions as they are. */
export function createRecentThreads(redis: Redis): RecentThreads {
  return {
    async of(platform, workspace, person) {
      const found: RecentThread[] = [];
      for (const { thread, activeAt, status } of await listSessions(redis, lookedAt)) {
        const ref = parseThreadId(thread);
        if (ref.platform !== platform || ref.workspace !== workspace) continue;
        const first = await readFirstMessage(redis, thread);
        if (first?.author.id !== person) continue;
        found.push({ thread: ref, beginning: first.text, status, activeAt });
        if (found.length === most) break;
      }
      return found;
    },
  };
}
