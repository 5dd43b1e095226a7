import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { z } from "zod";
import { type ChatSurface, SurfaceError, type WriteLane } from "../../chat/surface.ts";
import type { MessageRef, ThreadRef } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import { loadScript } from "../redis/script.ts";
import { wait } from "./wait.ts";

const pauseScript = loadScript(new URL("scripts/pause.lua", import.meta.url));
const acquireWriteScript = loadScript(new URL("scripts/acquire-write.lua", import.meta.url));
const acquireReply = z.number();

/**
 * What is written first when a budget is short. Nothing before "progress" ever waits behind it. Marks have a budget of
 * their own; those of messages that wait come after the others.
 */
export type Urgency = "final" | "question" | "receipt" | "progress" | "mark" | "waiting";

const rank: Record<Urgency, number> = { final: 0, question: 1, receipt: 2, progress: 3, mark: 4, waiting: 5 };

/** Shares each budget of writes among all processes: one for each place and kind of write, as the platform counts them. */
export interface RateLimiter {
  /**
   * Writes when it is this writer's turn, and again when the platform says that it was too early: then all
   * processes leave alone what the platform limits, and nothing else, for as long as it asks. `write` therefore
   * chooses what it writes when it is called, so that the latest content wins.
   *
   * @param lane by default that of marks for the urgency of marks, else that of new messages
   * @throws the signal's reason when it is aborted while waiting; whatever else `write` throws
   */
  write<T>(
    surface: ChatSurface,
    place: ThreadRef | MessageRef,
    urgency: Urgency,
    signal: AbortSignal,
    write: () => Promise<T>,
    lane?: WriteLane,
  ): Promise<T>;
}

export function createRateLimiter(redis: Redis): RateLimiter {
  return {
    async write(surface, place, urgency, signal, write, lane = laneOf(urgency)) {
      for (;;) {
        await acquire(redis, budgetOf(surface, place, lane), { urgency, signal });
        try {
          return await write();
        } catch (error) {
          if (!(error instanceof SurfaceError) || error.kind !== "rate-limited") throw error;
          const ms = Math.ceil(error.retryAfterMs);
          const limits: readonly WriteLane[] = error.limits ?? [lane];
          for (const limited of limits)
            await pauseScript.run(redis, [budgetOf(surface, place, limited).pace], [ms]);
          if (!limits.includes(lane)) await wait(ms, signal);
        }
      }
    },
  };
}

function laneOf(urgency: Urgency): WriteLane {
  return urgency === "mark" || urgency === "waiting" ? "marks" : "messages";
}

/** For platforms that set no limit. */
const unlimited = { burst: 1_000, intervalMs: 1 };

interface Budget {
  pace: string;
  queue: string;
  tickets: string;
  burst: number;
  intervalMs: number;
  reserve?: number;
}

function budgetOf(surface: ChatSurface, place: ThreadRef | MessageRef, lane: WriteLane): Budget {
  const { platform, workspace } = place;
  const channel = { platform, workspace, channel: surface.budgetPlace?.(place, lane) ?? place.channel };
  return {
    pace: keys.rateLimit(channel, lane),
    queue: keys.waitQueue(channel, lane),
    tickets: keys.waitTickets(channel, lane),
    ...(surface.limits.budget?.[lane] ?? unlimited),
  };
}

async function acquire(
  redis: Redis,
  { pace, queue, tickets, burst, intervalMs, reserve = 0 }: Budget,
  { urgency, signal }: { urgency: Urgency; signal: AbortSignal },
): Promise<void> {
  const ticket = randomUUID();
  const most = urgency === "progress" ? Math.max(1, burst - reserve) : burst;
  try {
    for (;;) {
      signal.throwIfAborted();
      const args = [ticket, rank[urgency], most, intervalMs, burst];
      const answer = await acquireWriteScript.run(redis, [pace, queue, tickets], args);
      const waitMs = acquireReply.parse(answer);
      if (waitMs === 0) return;
      await wait(waitMs, signal);
    }
  } catch (error) {
    // Whoever leaves the line must not hold up the others.
    await redis.zrem(queue, ticket);
    throw signal.aborted ? signal.reason : error;
  }
}
