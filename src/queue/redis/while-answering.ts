import type { Redis } from "ioredis";
import { RedisUnavailable } from "./unavailable.ts";

const lookMs = 500;
/** For so long a connection that was lost may be made anew while somebody waits for what is done over it, ms. */
const patienceMs = 5_000;
/** The same for one that was given up, after somebody has waited for as long already. */
const silentMs = 1_000;

/** For how long, and what is said then. */
interface Waiting {
  awayMs: number;
  silentMs: number;
  problem: string;
}

/** What somebody is told who is not sure that something was kept. */
const notConfirmed =
  "Redis does not answer, so it is not certain that this was kept. Try again in a moment: what is told twice counts once.";

/**
 * The outcome of the work, or a rejection as soon as Redis is silent or has been away for seconds: nobody waits
 * without end, and nothing is acknowledged that Redis has not confirmed. What the work has sent may still be done when
 * Redis is back, so it must be idempotent.
 *
 * @throws {RedisUnavailable}
 */
export async function whileAnswering<T>(
  work: Promise<T>,
  { redis, isAnswering }: { redis: Pick<Redis, "status">; isAnswering(): boolean },
  waiting: Waiting = { awayMs: patienceMs, silentMs, problem: notConfirmed },
): Promise<T> {
  const { promise: away, reject } = Promise.withResolvers<never>();
  const lasting = { awayMs: 0, silentMs: 0 };
  const timer = setInterval(() => {
    lasting.awayMs = redis.status === "ready" ? 0 : lasting.awayMs + lookMs;
    lasting.silentMs = isAnswering() ? 0 : lasting.silentMs + lookMs;
    if (lasting.awayMs >= waiting.awayMs || lasting.silentMs >= waiting.silentMs)
      reject(new RedisUnavailable(waiting.problem));
  }, lookMs);
  try {
    return await Promise.race([work, away]);
  } finally {
    clearInterval(timer);
  }
}
