import { setTimeout as sleep } from "node:timers/promises";

/** A signal that ends with `outer` or after a time, whichever comes first. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Whether the time-out ended it. */
  expired(): boolean;
  /** Cancels the time-out and stops following `outer`. */
  release(): void;
}

/**
 * The MCP SDK leaves its listener on a signal when a request is done and would send a cancellation for it
 * later. So no request gets a long-lived signal, nor one of `AbortSignal.timeout`, which cannot be called off.
 */
export function startDeadline(ms: number, outer: AbortSignal): Deadline {
  const controller = new AbortController();
  let expired = false;
  const onOuter = () => controller.abort("stopped");
  const timer = setTimeout(() => {
    expired = true;
    controller.abort("timed out");
  }, ms);
  outer.addEventListener("abort", onOuter, { once: true });
  if (outer.aborted) onOuter();
  return {
    signal: controller.signal,
    expired: () => expired,
    release() {
      clearTimeout(timer);
      outer.removeEventListener("abort", onOuter);
    },
  };
}

/** Settles with the promise, the time-out or the signal, whichever is first. */
export async function waitFor(settled: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
  const waiting = new AbortController();
  const onAbort = () => waiting.abort();
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  await Promise.race([
    settled,
    sleep(Math.max(ms, 0), undefined, { signal: waiting.signal }).catch(() => {}),
  ]);
  signal.removeEventListener("abort", onAbort);
  waiting.abort();
}
