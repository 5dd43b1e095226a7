import type { Usage } from "../model.ts";

/** What ends a turn early. A limit is checked before each step, so a step may overshoot it once. */
export interface TurnLimits {
  /** Model calls. */
  steps: number;
  /** Wall time since the turn began, in milliseconds. */
  wallMs: number;
  /** Input and output tokens, caches included. */
  tokens?: number;
  /** US dollars. */
  cost?: number;
}

/** What a turn has used so far. */
export interface Spent {
  steps: number;
  usage: Usage;
  elapsedMs: number;
}

/** What the calls of a turn may still spend. Without steps: a sub-agent counts its own. */
export type Budget = Omit<TurnLimits, "steps">;

export const defaultTurnLimits: TurnLimits = { steps: 50, wallMs: 60 * 60_000 };

/** The first limit that the turn has reached, worded for people; undefined when none is. */
export function findReachedLimit(
  limits: TurnLimits,
  { steps, usage, elapsedMs }: Spent,
): { kind: "step-limit" | "budget"; limit: string } | undefined {
  if (steps >= limits.steps) return { kind: "step-limit", limit: formatCount(limits.steps, "step") };
  if (elapsedMs >= limits.wallMs)
    return { kind: "budget", limit: formatCount(Math.round(limits.wallMs / 60_000), "minute") };
  if (limits.tokens !== undefined && countTokens(usage) >= limits.tokens)
    return { kind: "budget", limit: `${limits.tokens} tokens` };
  if (limits.cost !== undefined && usage.cost >= limits.cost)
    return { kind: "budget", limit: `$${limits.cost}` };
  return undefined;
}

function formatCount(number: number, unit: string): string {
  return number === 1 ? `1 ${unit}` : `${number} ${unit}s`;
}

export function remainingBudget({ wallMs, tokens, cost }: TurnLimits, { usage, elapsedMs }: Spent): Budget {
  return {
    wallMs: wallMs - elapsedMs,
    ...(tokens !== undefined && { tokens: tokens - countTokens(usage) }),
    ...(cost !== undefined && { cost: cost - usage.cost }),
  };
}

/** The stricter of each limit. */
export function restrictLimits(limits: TurnLimits, budget: Budget): TurnLimits {
  const tokens = Math.min(limits.tokens ?? Infinity, budget.tokens ?? Infinity);
  const cost = Math.min(limits.cost ?? Infinity, budget.cost ?? Infinity);
  return { steps: limits.steps, wallMs: Math.min(limits.wallMs, budget.wallMs), tokens, cost };
}

function countTokens({ input, output, cacheRead, cacheWrite }: Usage): number {
  return input + output + cacheRead + cacheWrite;
}
