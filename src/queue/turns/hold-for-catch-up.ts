import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import { parseThreadId, type ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import { readRedisTime } from "../redis/time.ts";

/** For how long a turn waits at most, ms: after that it goes on, for the platform may be down for hours. */
const longestHoldMs = 5_000;
const lookMs = 50;

/**
 * Keeps a turn from going on while a stop of it may lie at the platform that nobody has heard: until a gateway has
 * looked for what was missed in the thread's workspace. A gateway that lives all along holds up nothing, nor does a
 * platform that loses nothing, such as the console. When no gateway comes, the wait ends at the latest a few seconds
 * after this process has begun or the last gateway has left.
 */
export interface CatchUpHold {
  /**
   * @param isInterrupted the thread has a turn to go on with; for a new one only the first of a workspace waits
   * @returns whether a stop may have been recorded since the claim
   */
  wait(thread: ThreadId, isInterrupted: boolean, signal: AbortSignal): Promise<boolean>;
}

export function createCatchUpHold(redis: Redis, longestMs = longestHoldMs): CatchUpHold {
  const startedAt = performance.now();
  /** Workspaces whose first look is over. */
  const known = new Set<string>();

  /** `unheard`: there may be a stop that nobody has heard yet. `away`: the same, and nobody is waited for. */
  const readListening = async (
    platform: string,
    workspace: string,
  ): Promise<"heard" | "unheard" | "away" | "lossless"> => {
    const found = await redis.hget(keys.listening(platform), workspace);
    if (found === null) return "lossless";
    const now = await readRedisTime(redis);
    const until = Number(found);
    if (until > now) return "heard";
    const started = now - (performance.now() - startedAt);
    return now < Math.max(until, started) + longestMs ? "unheard" : "away";
  };

  return {
    async wait(thread, isInterrupted, signal) {
      const { platform, workspace } = parseThreadId(thread);
      const place = `${platform}:${workspace}`;
      if (!isInterrupted && known.has(place)) return false;
      const begun = performance.now();
      let state = await readListening(platform, workspace);
      while (state === "unheard" && !signal.aborted && performance.now() - begun < longestMs) {
        await delay(lookMs, undefined, { signal, ref: false }).catch(() => undefined);
        state = await readListening(platform, workspace);
      }
      known.add(place);
      return state !== "lossless";
    },
  };
}
