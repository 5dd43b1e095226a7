import type { Redis } from "ioredis";
import { noUsage } from "../agent/llm/model.ts";
import type { BudgetSettings } from "./budgets.ts";
import { keys } from "./keys.ts";
import { dayIn, readUsage, subjects, type UsageRow } from "./usage.ts";

/** How one budget of today stands: in US dollars or in tokens. */
export interface BudgetState {
  dimension: "all" | "channel" | "user";
  /** `platform:workspace:channel` or `…:user`; empty for everybody together. */
  id: string;
  measure: "cost" | "tokens";
  /** With the extensions of the day. */
  limit: number;
  used: number;
  /** Set aside by calls that run at this moment. */
  held: number;
}

/** Today's budgets of everybody, and of those channels and people who have used something or have one of their own. */
export async function readBudgets(
  redis: Redis,
  settings: BudgetSettings,
  now: number,
): Promise<BudgetState[]> {
  const day = dayIn(settings.timeZone, now);
  const rows = await readUsage(redis, [day]);
  const idsOf = (dimension: UsageRow["dimension"], own: object) => [
    ...new Set([
      ...rows.filter((row) => row.dimension === dimension).map(({ id }) => id),
      ...Object.keys(own),
    ]),
  ];
  const budgets = [
    { dimension: "all" as const, id: "", subject: subjects.all, budget: settings.day },
    ...idsOf("channel", settings.channels).map((id) => ({
      ...{ dimension: "channel" as const, id, subject: subjects.channel(id) },
      budget: settings.channels[id] ?? settings.channel,
    })),
    ...idsOf("user", settings.users).map((id) => ({
      ...{ dimension: "user" as const, id, subject: subjects.user(id) },
      budget: settings.users[id] ?? settings.user,
    })),
  ];
  const states = budgets.map(async ({ dimension, id, subject, budget }): Promise<BudgetState[]> => {
    if (budget.cost === undefined && budget.tokens === undefined) return [];
    const [extensions, reservations] = await Promise.all([
      redis.scard(keys.extended(day, subject)),
      redis.hvals(keys.held(day, subject)),
    ]);
    const share = 1 + (extensions * settings.extensionPercent) / 100;
    const used = rows.find((row) => row.dimension === dimension && row.id === id)?.usage;
    const held = sumOf(reservations, now);
    const { input, output, cacheRead, cacheWrite, cost } = used ?? noUsage;
    return [
      ...(budget.cost === undefined
        ? []
        : [
            {
              dimension,
              id,
              measure: "cost" as const,
              limit: budget.cost * share,
              used: cost,
              held: held.cost,
            },
          ]),
      ...(budget.tokens === undefined
        ? []
        : [
            {
              ...{
                dimension,
                id,
                measure: "tokens" as const,
                limit: budget.tokens * share,
                held: held.tokens,
              },
              used: input + output + cacheRead + cacheWrite,
            },
          ]),
    ];
  });
  return (await Promise.all(states)).flat();
}

/** Reservations are `<until, ms> <cost> <tokens>`, see reserve.lua; those of dead workers lapse. */
function sumOf(reservations: readonly string[], now: number): { cost: number; tokens: number } {
  const sum = { cost: 0, tokens: 0 };
  for (const reservation of reservations) {
    const [until = 0, cost = 0, tokens = 0] = reservation.split(" ").map(Number);
    if (until <= now) continue;
    sum.cost += cost / 1_000_000;
    sum.tokens += tokens;
  }
  return sum;
}
