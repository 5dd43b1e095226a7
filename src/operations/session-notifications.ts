import type { Redis } from "ioredis";
import type { InboundEvent, Intake, IntakeResult } from "../chat/inbound.ts";
import type { ChatSurface } from "../chat/surface.ts";
import { announceSession } from "../queue/outbox/live-events.ts";
import { createHeardRecorder } from "./installation/heard.ts";
import { createNameCache } from "./names.ts";

/**
 * The same intake, but whoever looks at a list of threads is told what it did to one of them, and later learns what
 * the person and the channel are called. That a platform is heard at all is noted too, also where it led to nothing.
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
  const noteHeard = createHeardRecorder({ redis, surface, now: Date.now });
  const note = (event: InboundEvent, result: IntakeResult) =>
    noteHeard(event, result).catch((error: unknown) =>
      onProblem("That a platform is heard could not be noted.", error),
    );
  return {
    async receive(event) {
      const result = await intake.receive(event);
      if (!("thread" in result)) {
        void note(event, result);
        return result;
      }
      announceSession(redis, result.thread, (error) =>
        onProblem("Lists of threads could not be told.", error),
      );
      void naming
        .recordNames(result.thread, event.author)
        .catch((error: unknown) => onProblem("The name of a person or a channel is not known.", error))
        // Which needs the name of the channel.
        .then(() => note(event, result));
      return result;
    },
  };
}
