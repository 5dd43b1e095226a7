import { compareClaims, type Confirmation } from "../sandbox.ts";
import { monotonicMs } from "../monotonic.ts";
import type { ProgramOrigin } from "./registry.ts";

/** For how long something may run without a word that its worker still holds the thread, ms. */
export interface FenceTimes {
  /** What belongs to a turn. */
  turnMs: number;
  /** Background jobs. */
  jobMs: number;
}

export const defaultFence: FenceTimes = { turnMs: 60_000, jobMs: 600_000 };

/** Why something was ended, or not started. */
export const fenced =
  "Ended because this worker has not reached Redis for too long to know whether the thread is still its own";

const lookEveryMs = 200;

/**
 * Ends what runs for threads that this worker may have lost without knowing. It counts from the last confirmation, by a
 * clock that nobody sets, so another worker can count as well: a claim or a stop that was made at some time is followed by
 * no confirmation that was asked for later.
 */
export class Fence {
  readonly #times: FenceTimes;
  /** By thread. */
  readonly #confirmed = new Map<string, { at: number; claim?: ProgramOrigin["claim"]; claimAt: number }>();

  constructor(times: FenceTimes) {
    this.#times = times;
  }

  confirm(thread: string, { at, claim }: Confirmation): void {
    const known = this.#confirmed.get(thread);
    const isNew = claim && (!known?.claim || compareClaims(known.claim, claim) <= 0);
    this.#confirmed.set(thread, {
      at: Math.max(at, known?.at ?? 0),
      claim: isNew ? claim : known?.claim,
      claimAt: isNew ? at : (known?.claimAt ?? 0),
    });
  }

  /** Whether it must not run any more. What nobody has ever confirmed belongs to nobody else. */
  isPast(thread: string, { kind, claim }: ProgramOrigin): boolean {
    const known = this.#confirmed.get(thread);
    if (!known || kind === "upkeep") return false;
    if (kind === "job" || kind === "network") return monotonicMs() > known.at + this.#times.jobMs;
    if (!claim || !known.claim) return false;
    return compareClaims(claim, known.claim) < 0 || monotonicMs() > known.claimAt + this.#times.turnMs;
  }

  /** Looks again and again, and calls back each time. Returns how to end it. */
  watch(look: () => void): () => void {
    const timer = setInterval(() => {
      look();
      const forgotten = monotonicMs() - 2 * Math.max(this.#times.jobMs, this.#times.turnMs);
      for (const [thread, { at }] of this.#confirmed) if (at < forgotten) this.#confirmed.delete(thread);
    }, lookEveryMs).unref();
    return () => clearInterval(timer);
  }
}
