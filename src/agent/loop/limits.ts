import { addUsage, noUsage, type Usage } from "../model.ts";

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

export function computeRemainingBudget(
  { wallMs, tokens, cost }: TurnLimits,
  { usage, elapsedMs }: Spent,
): Budget {
  return {
    wallMs: wallMs - elapsedMs,
    ...(tokens !== undefined && { tokens: tokens - countTokens(usage) }),
    ...(cost !== undefined && { cost: cost - usage.cost }),
  };
}

/**
 * What the calls of a step may spend together, whether they run side by side or one after the other. Whoever makes a model
 * call charges it when it is over, so side by side each of them may overshoot by one call.
 */
export interface SharedBudget {
  /** What is left of it now; nothing is where a figure is not above 0. */
  left(): Budget;
  charge(usage: Usage): void;
}

/** @param outer what this budget is a part of: it is charged too, and its end is that of this one */
export function shareBudget(budget: Budget, now: () => number, outer?: SharedBudget): SharedBudget {
  const since = now();
  let charged = noUsage;
  return {
    left() {
      const spent = { steps: 0, usage: charged, elapsedMs: now() - since };
      const own = computeRemainingBudget({ steps: 0, ...budget }, spent);
      return outer ? findStricter(own, outer.left()) : own;
    },
    charge(usage) {
      charged = addUsage(charged, usage);
      outer?.charge(usage);
    },
  };
}

export function isExhausted({ wallMs, tokens = Infinity, cost = Infinity }: Budget): boolean {
  return wallMs <= 0 || tokens <= 0 || cost <= 0;
}

function findStricter(one: Budget, other: Budget): Budget {
  return {
    wallMs: Math.min(one.wallMs, other.wallMs),
    tokens: Math.min(one.tokens ?? Infinity, other.tokens ?? Infinity),
    cost: Math.min(one.cost ?? Infinity, other.cost ?? Infinity),
  };
}

function countTokens({ input, output, cacheRead, cacheWrite }: Usage): number {
  return input + output + cacheRead + cacheWrite;
}
