import type { Usage } from "./model.ts";

/** What a model call may use, as far as that can be told before it. Cost in US dollars. */
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

/** `settle` replaces what was set aside by what was used, once; whatever happened to the call, it must be called. */
export type Reservation =
  | { ok: true; settle(usage: Usage, model: string): Promise<void> }
  | { ok: false; usedUp: BudgetExhausted };

/** Whoever pays for a turn. */
export interface TurnBudget {
  /** Sets aside what a model call may use, before it is made. */
  reserve(estimate: Estimate): Promise<Reservation>;
}
