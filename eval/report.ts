import type { TurnOutcome } from "../src/agent/events.ts";
import { addUsage, noUsage, type Usage } from "../src/agent/model.ts";

/** How an evaluated task went. */
export interface Result {
  task: string;
  solved: boolean;
  /** How the turn ended. */
  end: TurnOutcome["kind"];
  steps: number;
  usage: Usage;
  ms: number;
  /** Why it is not solved: what the check said last, or why the turn could not be finished. */
  why?: string;
}

const columns = ["task", "", "steps", "tokens in", "out", "cost", "time"];
const widths = [20, 12, 6, 10, 8, 10, 8];

export function formatHeading(): string {
  return formatRow(columns);
}

export function formatResult({ task, solved, end, steps, usage, ms }: Result): string {
  const how = end === "answered" ? "" : ` (${end})`;
  return formatRow([task, `${solved ? "solved" : "not solved"}${how}`, ...formatFigures(steps, usage, ms)]);
}

export function formatTotals(results: readonly Result[]): string {
  const solved = results.filter((result) => result.solved).length;
  const sum = (figure: (result: Result) => number) => results.reduce((all, one) => all + figure(one), 0);
  const usage = results.reduce((all, one) => addUsage(all, one.usage), noUsage);
  const figures = formatFigures(
    sum(({ steps }) => steps),
    usage,
    sum(({ ms }) => ms),
  );
  return formatRow([`${results.length} tasks`, `${solved} solved`, ...figures]);
}

function formatFigures(steps: number, usage: Usage, ms: number): string[] {
  const { input, cacheRead, cacheWrite, output, cost, priceUnknown } = usage;
  return [
    String(steps),
    String(input + cacheRead + cacheWrite),
    String(output),
    `${priceUnknown ? "≤ " : ""}$${cost.toFixed(3)}`,
    `${(ms / 1_000).toFixed(1)} s`,
  ];
}

function formatRow(cells: readonly string[]): string {
  return cells
    .map((cell, index) => (index < 2 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0)))
    .join(" ")
    .trimEnd();
}
