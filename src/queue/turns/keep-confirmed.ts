import { monotonicMs } from "../../sandbox/monotonic.ts";
import type { SessionLease } from "../session/lease.ts";
import type { SessionRunnerOptions } from "./contracts.ts";

/** Reason with which a run's signal is aborted. */
const lostLease = "lease lost";

/**
 * Asks Redis again and again whether the session is still held, and tells the sandboxes and other workers so. Silence is no answer: what
 * they run ends when the last one is too long ago.
 */
export function keepConfirmed(
  lease: SessionLease,
  { processes, confirmMs }: Pick<SessionRunnerOptions, "processes" | "confirmMs">,
): { lost: AbortSignal; stop(): void } {
  const lost = new AbortController();
  let asking: Promise<void> | undefined;
  async function ask(): Promise<void> {
    const at = monotonicMs();
    if (await lease.confirm()) processes.confirm(lease.thread, { at, claim: lease.claim });
    else lost.abort(lostLease);
  }
  const timer = setInterval(() => {
    // One that waits for a lost Redis is enough.
    asking ??= ask()
      .catch(() => undefined) // Nothing is confirmed.
      .finally(() => (asking = undefined));
  }, confirmMs);
  return { lost: lost.signal, stop: () => clearInterval(timer) };
}
