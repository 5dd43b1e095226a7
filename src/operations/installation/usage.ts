import type { Redis } from "ioredis";
import { addUsage, noUsage } from "../../agent/model.ts";
import type { BudgetSettings, DayBudget } from "../../queue/budgets/budgets.ts";
import { readBudgets } from "../../queue/budgets/state.ts";
import { listLastDays, nameWatch, readUsage, type UsageRow } from "../../queue/budgets/usage.ts";
import type { Mask } from "../excerpt.ts";
import { readNames } from "../names.ts";
import type { UsageReport, UsageShare } from "../reports.ts";

/** Of channels, of people and of models, as many as the page has colours; the rest is counted together. */
const mostShares = 7;
const mostBudgets = 40;

interface UsageSource {
  redis: Redis;
  budgets: BudgetSettings;
  /** What triggers and watched channels may use in a day, by name. */
  triggers: ReadonlyMap<string, DayBudget>;
  mask: Mask;
  /** Milliseconds since the epoch. */
  now: number;
}

/** What the last days have used, and how the budgets of today stand. */
export async function reportUsage(
  { redis, budgets: settings, triggers: triggerBudgets, mask, now }: UsageSource,
  count: number,
): Promise<UsageReport> {
  const days = listLastDays(settings.timeZone, now, count);
  const rows = Map.groupBy(await readUsage(redis, days), ({ dimension }) => dimension);
  const readShares = (dimension: UsageRow["dimension"]) => toShares(rows.get(dimension) ?? [], days);
  const [channels, users, models] = [readShares("channel"), readShares("user"), readShares("model")];
  const triggers = readShares("trigger");
  const budgets = (await readBudgets(redis, settings, triggerBudgets, now))
    .toSorted((a, b) => shareUsed(b) - shareUsed(a))
    .slice(0, mostBudgets);
  const names = await readNames(
    redis,
    [...channels, ...users, ...triggers, ...budgets].map(({ id }) => placeOf(id)),
  );
  const named = <Line extends { id: string }>(line: Line) => {
    const name = names.get(placeOf(line.id));
    return { ...line, id: mask(line.id), ...(name !== undefined && { name: mask(name) }) };
  };
  return {
    timeZone: settings.timeZone,
    days: days.map((day) => {
      const row = rows.get("all")?.find((one) => one.day === day);
      return { day, ...(row ? toFigures(row) : nothing) };
    }),
    channels: channels.map(named),
    users: users.map(named),
    triggers: triggers.map(named),
    models: models.map(named),
    budgets: budgets.map(named),
  };
}

/** What a watched channel is called is what the channel is called. */
function placeOf(id: string): string {
  const prefix = nameWatch("");
  return id.startsWith(prefix) ? id.slice(prefix.length) : id;
}

function shareUsed({ used, held, limit }: { used: number; held: number; limit: number }): number {
  return (used + held) / limit;
}

type Sums = Omit<UsageShare, "id" | "name" | "daily">;

const nothing: Sums = { turns: 0, liked: 0, disliked: 0, ...noUsage };

/** The dearest first; those that are too many as one. */
function toShares(rows: readonly UsageRow[], days: readonly string[]): UsageShare[] {
  const shares = [...Map.groupBy(rows, ({ id }) => id)]
    .map(([id, own]) => ({ id, own, ...sumOf(own) }))
    .toSorted((a, b) => b.cost - a.cost || sumTokens(b) - sumTokens(a));
  const others = shares.slice(mostShares).flatMap(({ own }) => own);
  return [
    ...shares.slice(0, mostShares),
    ...(others.length > 0 ? [{ id: "", own: others, ...sumOf(others) }] : []),
  ].map(({ own, ...share }) => ({ ...share, daily: sumDays(own, days) }));
}

function sumOf(rows: readonly UsageRow[]): Sums {
  return rows.map(toFigures).reduce(
    (a, b) => ({
      ...addUsage(a, b),
      turns: a.turns + b.turns,
      liked: a.liked + b.liked,
      disliked: a.disliked + b.disliked,
    }),
    nothing,
  );
}

function toFigures({ usage, turns, ratings }: UsageRow): Sums {
  return { ...usage, turns, ...ratings };
}

function sumDays(rows: readonly UsageRow[], days: readonly string[]): UsageShare["daily"] {
  const byDay = Map.groupBy(rows, ({ day }) => day);
  const sums = days.map((day) => sumOf(byDay.get(day) ?? []));
  return {
    cost: sums.map(({ cost }) => cost),
    tokens: sums.map(sumTokens),
    turns: sums.map(({ turns }) => turns),
  };
}

function sumTokens({ input, output, cacheRead, cacheWrite }: Sums): number {
  return input + output + cacheRead + cacheWrite;
}
