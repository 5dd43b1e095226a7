import type { Redis } from "ioredis";
import type { ChatSurface } from "../../../src/chat/surface.ts";
import { flushOutbox } from "../../../src/queue/outbox/flush.ts";
import { createRateLimiter } from "../../../src/queue/outbox/rate-limit.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { claimSession } from "../../../src/queue/session/claim.ts";

/** A thread's outbox with these entries, and the ways to look at it. `flush` gives after how many ms to try again. */
export function storedOutbox(
  redis: Redis,
  thread: string,
  surface: ChatSurface,
  entries: Record<string, object>,
  patienceMs?: number,
) {
  const problems: string[] = [];
  let now = Date.now();
  const stored = Promise.all(
    Object.entries(entries).map(([key, entry]) =>
      redis.hset(keys.outbox(thread), key, JSON.stringify(entry)),
    ),
  );
  const flush = async () => {
    await stored;
    const { rest, retryAt } = await flushOutbox(await claimSession(redis, thread), {
      ...{ redis, surface, output: createRateLimiter(redis), signal: AbortSignal.timeout(20_000) },
      ...(patienceMs !== undefined && { patienceMs }),
      progressQuiet: Promise.resolve(true),
      now: () => now,
      onProblem: (problem) => problems.push(problem),
    });
    await rest;
    return retryAt === undefined ? undefined : retryAt - now;
  };
  return {
    flush,
    problems,
    passes: (ms: number) => void (now += ms),
    left: () => redis.hkeys(keys.outbox(thread)),
    head: () => redis.hgetall(keys.head(thread)),
    unsaid: () => redis.hget(keys.head(thread), "unsaid"),
  };
}
