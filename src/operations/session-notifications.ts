import type { Redis } from "ioredis";
import type { Door } from "../chat/inbound.ts";
import type { ChatSurface } from "../chat/surface.ts";
import { announceSession } from "../queue/outbox/live.ts";
import { createNaming } from "./names.ts";

/**
 * The same door, but whoever looks at a list of threads is told what it did to one of them, and later learns what
 * the person and the channel are called.
 */
export function announcing(
  door: Door,
  {
    redis,
    surface,
    onProblem,
  }: {
    redis: Redis;
    surface(platform: string): ChatSurface;
    onProblem(problem: string, error: unknown): void;
  },
): Door {
  const naming = createNaming(redis, surface);
  return {
    async receive(event) {
      const verdict = await door.receive(event);
      if (!("thread" in verdict)) return verdict;
      announceSession(redis, verdict.thread, (error) =>
        onProblem("Lists of threads could not be told.", error),
      );
      naming
        .heard(verdict.thread, event.author)
        .catch((error: unknown) => onProblem("The name of a person or a channel is not known.", error));
      return verdict;
    },
  };
}
