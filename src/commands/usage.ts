import { addUsage } from "../agent/model.ts";
import { openRedis } from "../app/redis.ts";
import { listLastDays, readUsage, type UsageRow } from "../queue/budgets/usage.ts";
import { createCommandContext } from "./context.ts";
import { printResult } from "./print-result.ts";

const dimensionOf = {
  day: "all",
  user: "user",
  channel: "channel",
  trigger: "trigger",
  model: "model",
} as const;

export interface UsageOptions {
  days: number;
  by: keyof typeof dimensionOf;
  json?: true;
}

/** Prints what was used in the last days: by day, or the days together by person, channel, trigger or model. */
export async function printUsage({ days: count, by, json }: UsageOptions): Promise<number> {
  const setup = await createCommandContext("warn");
  const server = await openRedis(setup.config, setup.log, { adopts: false });
  try {
    const days = listLastDays(setup.config.settings.budgets.timeZone, Date.now(), count);
    const rows = await readUsage(server.connect(), days);
    const wanted = rows.filter(({ dimension }) => dimension === dimensionOf[by]);
    const sums = sumUp(by, wanted);
    printResult(json, { by, days, rows: sums }, table(by, sums), (text) => setup.masker.mask(text));
    return 0;
  } finally {
    await server.close();
  }
}

type Sum = Pick<UsageRow, "usage" | "turns" | "ratings"> & { name: string };

function sumUp(by: keyof typeof dimensionOf, rows: readonly UsageRow[]): Sum[] {
  const sums = new Map<string, UsageRow>();
  for (const row of rows) {
    const name = by === "day" ? row.day : row.id;
    const before = sums.get(name);
    const sum = before && {
      ...before,
      usage: addUsage(before.usage, row.usage),
      turns: before.turns + row.turns,
      ratings: {
        liked: before.ratings.liked + row.ratings.liked,
        disliked: before.ratings.disliked + row.ratings.disliked,
      },
    };
    sums.set(name, sum ?? row);
  }
  return [...sums].map(([name, { usage, turns, ratings }]) => ({ name, usage, turns, ratings }));
}

function table(by: keyof typeof dimensionOf, sums: readonly Sum[]): string {
  if (sums.length === 0) return "Nothing was used in these days.";
  const isRated = by === "day" || by === "model";
  const lines = sums.map(({ name, usage, turns, ratings }) => {
    const { input, output, cacheRead, cacheWrite, calls } = usage;
    const tokens = [input, cacheRead, cacheWrite, output].map((figure) => figure.toLocaleString("en-US"));
    const opinions = isRated ? [String(ratings.liked), String(ratings.disliked)] : [];
    return [name, String(turns), String(calls), ...tokens, `$${usage.cost.toFixed(4)}`, ...opinions];
  });
  const head = [by, "turns", "calls", "input", "from cache", "to cache", "output", "cost"];
  const all = [isRated ? [...head, "liked", "disliked"] : head, ...lines];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0))) ?? [];
  const cells = (line: readonly string[]) =>
    line.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
  return all.map((line) => cells(line).join("  ")).join("\n");
}
