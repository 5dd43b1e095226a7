import { monotonicMs } from "../../sandbox/monotonic.ts";

/** What this worker knows of its own contact to Redis. */
export interface Contact {
  /**
   * Whether Redis has answered all the time of late. Behind an outage other workers may live and not have been able to
   * say so.
   */
  isSteady(): boolean;
  close(): void;
}

/** After an outage every worker that lives has said so within this time, ms. */
const settlingMs = 5_000;

/** @param gapMs without an answer for longer, Redis was away @param clock ms */
export function watchContact(
  redis: { ping(): Promise<unknown> },
  gapMs: number,
  clock: () => number = monotonicMs,
): Contact {
  let answeredAt = clock();
  let backAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;
  const ask = async () => {
    await redis.ping();
    const now = clock();
    if (now - answeredAt > gapMs) backAt = now;
    answeredAt = now;
  };
  const timer = setInterval(() => {
    // One that waits for a lost Redis is enough.
    asking ??= ask()
      .catch(() => undefined)
      .finally(() => (asking = undefined));
  }, gapMs / 3).unref();
  return {
    isSteady() {
      const now = clock();
      return now - answeredAt <= gapMs && now - backAt > settlingMs;
    },
    close: () => clearInterval(timer),
  };
}
