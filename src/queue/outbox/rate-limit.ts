import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import { z } from "zod";
import { type ChatSurface, SurfaceError } from "../../chat/surface.ts";
import type { MessageRef, ThreadRef } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import { loadScript } from "../redis/script.ts";

const pauseScript = loadScript(new URL("scripts/pause.lua", import.meta.url));
const acquireWriteScript = loadScript(new URL("scripts/acquire-write.lua", import.meta.url));

/**
 * What is written first when a channel's budget is short. Marks have a budget of their own; those of messages that wait
 * come after the others.
 */
export type Urgency = "final" | "question" | "receipt" | "progress" | "mark" | "waiting";

const rank: Record<Urgency, number> = { final: 0, question: 1, receipt: 2, progress: 3, mark: 4, waiting: 5 };

type Channel = Pick<ThreadRef, "platform" | "workspace" | "channel">;

/** Shares each channel's budget of writes among all processes. */
export interface RateLimiter {
  /**
   * Writes when it is this writer's turn, and again when the platform says that it was too early: then all
   * processes leave the channel alone for as long as it asks. `write` therefore chooses what it writes when it
   * is called, so that the latest content wins.
   *
   * @throws the signal's reason when it is aborted while waiting; whatever else `write` throws
   */
  write<T>(
    surface: ChatSurface,
    place: ThreadRef | MessageRef,
    urgency: Urgency,
    signal: AbortSignal,
    write: () => Promise<T>,
  ): Promise<T>;
}

export function createRateLimiter(redis: Redis): RateLimiter {
  return {
    async write(surface, place, urgency, signal, write) {
      const channel: Channel = { ...place, channel: surface.budgetPlace?.(place) ?? place.channel };
      const lane = urgency === "mark" || urgency === "waiting" ? "marks" : "messages";
      const pace = keys.rateLimit(channel, lane);
      for (;;) {
        await permit(redis, channel, lane, { urgency, budget: surface.limits.budget, signal });
        try {
          return await write();
        } catch (error) {
          if (!(error instanceof SurfaceError) || error.kind !== "rate-limited") throw error;
          await pauseScript.run(redis, [pace], [Math.ceil(error.retryAfterMs)]);
        }
      }
    },
  };
}

/** For platforms that set no limit. */
const unlimited = { burst: 1_000, intervalMs: 1 };

async function permit(
  redis: Redis,
  channel: Channel,
  lane: "messages" | "marks",
  options: { urgency: Urgency; budget: ChatSurface["limits"]["budget"]; signal: AbortSignal },
): Promise<void> {
  const { urgency, signal } = options;
  const { burst, intervalMs } = options.budget?.[lane] ?? unlimited;
  const line = [
    keys.rateLimit(channel, lane),
    keys.waitQueue(channel, lane),
    keys.waitTickets(channel, lane),
  ] as const;
  const ticket = randomUUID();
  try {
    for (;;) {
      signal.throwIfAborted();
      const args = [ticket, rank[urgency], burst, intervalMs];
      const waitMs = z.number().parse(await acquireWriteScript.run(redis, line, args));
      if (waitMs === 0) return;
      await delay(waitMs, undefined, { signal });
    }
  } catch (error) {
    // Whoever leaves the line must not hold up the others.
    await redis.zrem(line[1], ticket);
    throw signal.aborted ? signal.reason : error;
  }
}
