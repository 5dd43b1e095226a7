import { quantity, type Table } from "../figure.ts";
import type { Costs } from "./areas.ts";
import type { SystemCalls } from "./system-calls.ts";

/** One page section: what was done so and so often, and what that cost. */
export interface Section {
  title: string;
  method: string;
  tables: { caption: string; table: Table }[];
  /** What could not be measured, and why. */
  missing?: string[];
}

/** Areas below this share of all are added up as one, at the end. */
const least = 0.01;
const functionsShown = 12;

/** @param count how often the unit, "step" for example, was done while it was recorded */
export function costTables(costs: Costs, unit: string, count: number): Section["tables"] {
  const each = (value: number) => quantity(value / count, "ms");
  const kilobytes = (bytes: number) => quantity(bytes / count / 1_000, "kB");
  const share = (value: number) => `${((100 * value) / costs.processorMs).toFixed(1)} %`;
  const shown = costs.areas.filter(
    ({ selfMs, causedMs = 0, selfBytes }) =>
      Math.max(selfMs, causedMs) >= least * costs.processorMs || selfBytes >= least * costs.bytes,
  );
  const rest = costs.areas.filter((area) => !shown.includes(area));
  const sum = (of: (area: (typeof rest)[number]) => number) => rest.reduce((all, one) => all + of(one), 0);
  return [
    {
      caption: `Processor time and allocations for each ${unit} (${count} recorded). "With what it calls" counts for a folder of src also what packages, Node and V8 do on its behalf before it waits for anything.`,
      table: {
        columns: ["area", `CPU a ${unit}`, "share", "with what it calls", `allocated a ${unit}`],
        rows: [
          ...shown.map(({ area, selfMs, causedMs, selfBytes }) => [
            area,
            each(selfMs),
            share(selfMs),
            causedMs === undefined ? "" : each(causedMs),
            kilobytes(selfBytes),
          ]),
          ...(rest.length === 0
            ? []
            : [
                [
                  `${rest.length} others`,
                  each(sum((area) => area.selfMs)),
                  share(sum((area) => area.selfMs)),
                  "",
                  kilobytes(sum((area) => area.selfBytes)),
                ],
              ]),
          ["all", each(costs.processorMs), "100 %", "", kilobytes(costs.bytes)],
        ],
      },
    },
    {
      caption: "The functions that take most of it themselves.",
      table: {
        columns: ["function", `CPU a ${unit}`, "share"],
        rows: costs.functions
          .slice(0, functionsShown)
          .map(({ name, selfMs }) => [name, each(selfMs), share(selfMs)]),
      },
    },
  ];
}

/** The most frequent first; what comes less than once in ten units is left out. */
export function countTable(
  counts: ReadonlyMap<string, number>,
  what: string,
  unit: string,
  units: number,
): Table {
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const rows = [...counts].toSorted(([, a], [, b]) => b - a).filter(([, count]) => count >= units / 10);
  const each = (count: number) => (count / units).toFixed(1);
  return {
    columns: [what, `a ${unit}`],
    rows: [...rows.map(([name, count]) => [name, each(count)]), ["all", each(all)]],
  };
}

export function systemCallTable(calls: SystemCalls, unit: string, units: number): Section["tables"][number] {
  return {
    caption:
      "System calls of the process and its threads, as strace counts them (those of the sandbox are not among them).",
    table: countTable(calls, "system call", unit, units),
  };
}
