import type { Usage } from "../model.ts";

/** What a model call may use, as far as that is known before it. Cost in US dollars. */
export interface Estimate {
  tokens: number;
  cost: number;
}

/** A day's budget that has no room for another model call, in words for people. */
export interface BudgetExhausted {
  /** Which one, for whoever may extend it. */
  budget: string;
  /** E.g. "$5.00 a day for this channel". */
  limit: string;
  /** E.g. "midnight (UTC)". */
  resets: string;
  /** What an extension adds, e.g. "$2.50". */
  extension: string;
}

/** `settle` charges what was used in place of what was reserved. Call it exactly once, whatever became of the call. */
export type Reservation =
  | { ok: true; settle(usage: Usage, model: string): Promise<void> }
  | { ok: false; usedUp: BudgetExhausted };

/**
 * What a turn may spend on models. `createMeteredModel` reserves and settles for each call of a model that it wraps.
 *
 * ```ts
 * const reserved = await turnBudget.reserve({ tokens: 12_000, cost: 0.08 });
 * if (!reserved.ok) return endTurn(reserved.usedUp);
 * const usage = await callModel();
 * await reserved.settle(usage, "anthropic/claude-opus-5");
 * ```
 */
export interface TurnBudget {
  /**
   * Reserves what a model call may use, before it is made. `ok: false` when a budget has no room for it: the call must
   * not be made. Rejects when the budgets cannot be read; then it must not be made either.
   */
  reserve(estimate: Estimate): Promise<Reservation>;
}
