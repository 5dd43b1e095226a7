import type { Redis } from "ioredis";
import type { UsageReport, UsageShare } from "../adapters/local/operations.ts";
import { addUsage, noUsage } from "../agent/llm/model.ts";
import { readBudgets } from "../queue/budget-state.ts";
import type { BudgetSettings } from "../queue/budgets.ts";
import { lastDays, readUsage, type UsageRow } from "../queue/usage.ts";
import type { Mask } from "./excerpt.ts";

/** Of channels, of people and of models; the rest is counted together. */
const mostShares = 12;
const mostBudgets = 40;

/** What the last days have used, and how the budgets of today stand. @param now milliseconds since the epoch */
export async function reportUsage(
  redis: Redis,
  settings: BudgetSettings,
  mask: Mask,
  now: number,
  count: number,
): Promise<UsageReport> {
  const days = lastDays(settings.timeZone, now, count);
  const rows = await readUsage(redis, days);
  const budgets = await readBudgets(redis, settings, now);
  const shares = (dimension: UsageRow["dimension"]) =>
    sharesOf(rows.filter((row) => row.dimension === dimension)).map((share) => ({
      ...share,
      id: mask(share.id),
    }));
  return {
    timeZone: settings.timeZone,
    days: days.map((day) => {
      const row = rows.find((one) => one.dimension === "all" && one.day === day);
      return { day, turns: row?.turns ?? 0, ...(row?.usage ?? noUsage) };
    }),
    channels: shares("channel"),
    users: shares("user"),
    models: shares("model"),
    budgets: budgets
      .toSorted((a, b) => shareUsed(b) - shareUsed(a))
      .slice(0, mostBudgets)
      .map((budget) => ({ ...budget, id: mask(budget.id) })),
  };
}

function shareUsed({ used, held, limit }: { used: number; held: number; limit: number }): number {
  return (used + held) / limit;
}

function sharesOf(rows: readonly UsageRow[]): UsageShare[] {
  const sums = new Map<string, UsageShare>();
  for (const { id, usage, turns } of rows) {
    const before = sums.get(id);
    sums.set(id, before ? together(before, { id, turns, ...usage }) : { id, turns, ...usage });
  }
  const dearest = [...sums.values()].toSorted((a, b) => b.cost - a.cost || tokensOf(b) - tokensOf(a));
  const [first, ...others] = dearest.slice(mostShares);
  if (!first) return dearest;
  const rest = others.reduce(together, first);
  return [...dearest.slice(0, mostShares), { ...rest, id: "" }];
}

function together(a: UsageShare, b: UsageShare): UsageShare {
  return { id: a.id, turns: a.turns + b.turns, ...addUsage(a, b) };
}

function tokensOf({ input, output, cacheRead, cacheWrite }: UsageShare): number {
  return input + output + cacheRead + cacheWrite;
}
