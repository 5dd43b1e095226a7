import type { Redis } from "ioredis";
import { type Downtime, heartbeatMs } from "../../chat/downtime.ts";
import { parseThreadId, type ThreadRef } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import { readRedisTime } from "../redis/time.ts";
import { listOpenMessages } from "./mailbox/open-messages.ts";
import { listThreadsOf } from "./lists/sessions.ts";

/** An event can be lost on its way although somebody listened, for instance by a gateway that died with it. */
const marginMs = 60_000;
/** Accepted messages are remembered for a day; what is older could not be told from them. */
const longestMs = 23 * 3_600_000;
/** People come back to a thread for some days. Of each workspace so many are looked at. */
const threadsMs = 7 * 86_400_000;
const mostThreads = 200;

/** A gateway may be so late with its next sign, ms. Not much more: a killed one is taken to listen for as long. */
const lateMs = 3_500;

/** Keeps in Redis when gateways listened, and which threads people may have written into meanwhile. */
export function createDowntime(redis: Redis, now: () => number): Downtime {
  return {
    async lastConnectedAt(platform, workspace) {
      const last = await redis.get(keys.present(platform, workspace));
      return last === null ? undefined : Math.max(Number(last) - marginMs, now() - longestMs);
    },
    async markConnected(platform, workspace) {
      await redis.set(keys.present(platform, workspace), now());
    },
    async markListening(platform, workspaces) {
      if (workspaces.length === 0) return;
      const until = (await readRedisTime(redis)) + heartbeatMs + lateMs;
      await redis.hset(keys.listening(platform), Object.fromEntries(workspaces.map((id) => [id, until])));
      await redis.pexpire(keys.listening(platform), longestMs);
    },
    async markAway(platform, workspaces) {
      const known = await redis.hkeys(keys.listening(platform));
      const away = workspaces ? known.filter((id) => workspaces.includes(id)) : known;
      if (away.length === 0) return;
      const time = await readRedisTime(redis);
      await redis.hset(keys.listening(platform), Object.fromEntries(away.map((id) => [id, time])));
    },
    async threads(platform, workspace) {
      const active = await listThreadsOf(
        redis,
        { platform, workspace },
        { since: now() - threadsMs, most: mostThreads },
      );
      return active.map(({ thread }) => thread);
    },
    async open(platform, workspaces) {
      const busy = await redis.zrange(keys.waiting, "0", "-1");
      const threads = busy.map(parseThreadId).filter(isOf(platform, workspaces));
      return (await Promise.all(threads.map((thread) => listOpenMessages(redis, thread)))).flat();
    },
  };
}

function isOf(platform: string, workspaces: readonly string[]) {
  return (thread: ThreadRef) => thread.platform === platform && workspaces.includes(thread.workspace);
}
