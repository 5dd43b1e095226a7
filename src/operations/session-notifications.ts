import type { Redis } from "ioredis";
import type { Intake } from "../chat/inbound.ts";
import type { ChatSurface } from "../chat/surface.ts";
import { announceSession } from "../queue/outbox/live-events.ts";
import { createNameCache } from "./names.ts";

/**
 * The same intake, but whoever looks at a list of threads is told what it did to one of them, and later learns what
 * the person and the channel are called.
 */
export function withSessionNotifications(
  intake: Intake,
  {
    redis,
    surface,
    onProblem,
  }: {
    redis: Redis;
    surface(platform: string): ChatSurface;
    onProblem(problem: string, error: unknown): void;
  },
): Intake {
  const naming = createNameCache(redis, surface);
  return {
    async receive(event) {
      const result = await intake.receive(event);
      if (!("thread" in result)) return result;
      announceSession(redis, result.thread, (error) =>
        onProblem("Lists of threads could not be told.", error),
      );
      naming
        .recordNames(result.thread, event.author)
        .catch((error: unknown) => onProblem("The name of a person or a channel is not known.", error));
      return result;
    },
  };
}
