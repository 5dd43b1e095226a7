import type { Redis } from "ioredis";
import type { Door } from "../adapters/adapter.ts";
import { announceSession } from "../queue/live.ts";

/** The same door, but whoever looks at a list of threads is told what it did to one of them. */
export function announcing(door: Door, redis: Redis, onError: (error: unknown) => void): Door {
  return {
    async receive(event) {
      const verdict = await door.receive(event);
      if ("thread" in verdict) announceSession(redis, verdict.thread, onError);
      return verdict;
    },
  };
}
