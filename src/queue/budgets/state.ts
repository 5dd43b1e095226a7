import type { Redis } from "ioredis";
import { noUsage } from "../../agent/model.ts";
import type { DayBudgets } from "../../chat/home.ts";
import { keys } from "../redis/keys.ts";
import type { BudgetSettings, DayBudget } from "./budgets.ts";
import { formatAmount, formatDay, readUsage, subjects, toMicroDollars, type UsageRow } from "./usage.ts";

/** How one budget of today stands: in US dollars or in tokens. */
export interface BudgetState {
  dimension: "all" | "channel" | "user" | "trigger";
  /** `platform:workspace:channel` or `…:user`, or the name of a trigger; empty for everybody together. */
  id: string;
  measure: "cost" | "tokens";
  /** With the extensions of the day. */
  limit: number;
  used: number;
  /** Set aside by calls that run at this moment. */
  held: number;
}

/**
 * Today's budgets of everybody, of those channels and people who have used something or have one of their own, and of
 * triggers and watched channels.
 */
export async function readBudgets(
  redis: Redis,
  settings: BudgetSettings,
  triggers: ReadonlyMap<string, DayBudget>,
  now: number,
): Promise<BudgetState[]> {
  const day = formatDay(settings.timeZone, now);
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
    ...[...triggers].map(([id, budget]) => ({
      ...{ dimension: "trigger" as const, id, subject: subjects.trigger(id), budget },
    })),
  ];
  return (await Promise.all(budgets.map((one) => stateOf(redis, { settings, day, rows, now }, one)))).flat();
}

/** What a person may read of the budget of their own, in words; nothing where it has no limit. */
export function createDayBudgets(redis: Redis, settings: BudgetSettings, now: () => number): DayBudgets {
  return {
    async of(platform, workspace, person) {
      const id = `${platform}:${workspace}:${person}`;
      const day = formatDay(settings.timeZone, now());
      const rows = await readUsage(redis, [day]);
      const states = await stateOf(
        redis,
        { settings, day, rows, now: now() },
        { dimension: "user", id, subject: subjects.user(id), budget: settings.users[id] ?? settings.user },
      );
      const amount = (measure: BudgetState["measure"], of: number) =>
        formatAmount(measure, measure === "cost" ? toMicroDollars(of) : of);
      return states.map(
        ({ measure, used, limit }) => `${amount(measure, used)} of ${amount(measure, limit)} used`,
      );
    },
  };
}

async function stateOf(
  redis: Redis,
  { settings, day, rows, now }: { settings: BudgetSettings; day: string; rows: UsageRow[]; now: number },
  {
    dimension,
    id,
    subject,
    budget,
  }: Pick<BudgetState, "dimension" | "id"> & { subject: string; budget: BudgetSettings["day"] },
): Promise<BudgetState[]> {
  if (budget.cost === undefined && budget.tokens === undefined) return [];
  const [extensions, reservations] = await Promise.all([
    redis.scard(keys.extended(day, subject)),
    redis.hvals(keys.held(day, subject)),
  ]);
  const share = 1 + (extensions * settings.extensionPercent) / 100;
  const usage = rows.find((row) => row.dimension === dimension && row.id === id)?.usage ?? noUsage;
  const held = sumOf(reservations, now);
  const used = {
    cost: usage.cost,
    tokens: usage.input + usage.output + usage.cacheRead + usage.cacheWrite,
  };
  return (["cost", "tokens"] as const).flatMap((measure) => {
    const limit = budget[measure];
    if (limit === undefined) return [];
    return [{ dimension, id, measure, limit: limit * share, used: used[measure], held: held[measure] }];
  });
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
