import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import type { Check, Figure, Findings, Goal, Table } from "./figure.ts";

/** A figure and what came of it. */
export interface Outcome {
  figure: Figure;
  /** Undefined when it could not be measured; then `problem` says why. */
  findings?: Findings;
  problem?: string;
}

const root = join(import.meta.dirname, "..");

/** A table for the terminal: columns aligned, numbers to the right. */
export function terminalTable({ columns, rows }: Table): string {
  const lines = [columns, ...rows];
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const format = (line: readonly string[]) =>
    line
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join("  ");
  return [format(columns), ...rows.map(format)].map((line) => `  ${line}`).join("\n");
}

export function terminalSection({ figure, findings, problem }: Outcome): string {
  if (!findings) return `${figure.title}\n  not measured: ${problem}\n`;
  return [
    figure.title,
    terminalTable(findings.table),
    ...(findings.checks ?? []).map((check) => `  ${checkLine(check)}`),
    ...(findings.missing ?? []).map((part) => `  not measured: ${part}`),
    "",
  ].join("\n");
}

/** The page `docs/benchmarks.md`. */
export function page(
  outcomes: readonly Outcome[],
  { quick, change }: { quick: boolean; change?: { since: string; table: Table } },
): string {
  const goals = outcomes.flatMap(({ findings }) => findings?.goals ?? []);
  const checks = outcomes.flatMap(({ findings }) => findings?.checks ?? []);
  const missing = outcomes.flatMap(({ figure, findings, problem }) => [
    ...(problem === undefined ? [] : [`${figure.title}: ${problem}`]),
    ...(findings?.missing ?? []),
  ]);
  return [
    "# Benchmarks",
    `Written by \`npm run bench${quick ? " -- --quick" : ""}\`${quick ? " (few rounds: rough figures)" : ""}; do not edit. Everything below is from one run on one machine, with the variants interleaved, so read the ratios first. Redis, bubblewrap, the program (as a process) and the libraries are real. Slack and the models are stand-ins on the loopback interface, inside the benchmark's process, which shares the machine's cores with what it measures.`,
    markdownTable(machine()),
    "## Goals",
    markdownTable(goalTable(goals)),
    ...(change ? [`## Since ${change.since}`, changeMethod, markdownTable(change.table)] : []),
    ...(checks.length > 0 ? ["## Checks", checks.map((check) => `- ${checkLine(check)}`).join("\n")] : []),
    ...(missing.length > 0 ? ["## Not measured", missing.map((part) => `- ${part}`).join("\n")] : []),
    ...outcomes.flatMap(({ figure, findings }) => (findings ? [markdownSection(figure, findings)] : [])),
    "",
  ]
    .join("\n\n")
    .trimEnd()
    .concat("\n");
}

const changeMethod =
  "The same figures of the last whole run that `bench/history.jsonl` keeps, in the same units. On another machine only ratios and counts compare.";

export function goalTable(goals: readonly Goal[]): Table {
  return {
    columns: ["goal", "measured", "aim", ""],
    rows: goals.map(({ what, measured, aim, met }) => [what, measured, aim, met ? "✓" : "✗"]),
  };
}

function markdownSection({ title, method }: Figure, { table, charts = [] }: Findings): string {
  const images = charts.map((chart) => `![${chart.title}](images/bench-${chart.name}.svg)`);
  return [`## ${title}`, method, markdownTable(table), ...images].join("\n\n");
}

export function markdownTable({ columns, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    line(columns),
    line(columns.map((_, at) => (at === 0 ? "---" : "--:"))),
    ...rows.map((row) => line(row)),
  ].join("\n");
}

function checkLine({ rule, holds, seen }: Check): string {
  return `${holds ? "✓" : "✗ DOES NOT HOLD:"} ${rule} (${seen})`;
}

/** What decides most about times. */
export function machineNames(): { processor: string; node: string; redis: string } {
  return {
    processor: `${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown"}`,
    node: process.versions.node,
    redis: firstLine("redis-server", /v=(\S+)/),
  };
}

/** What the figures depend on. */
export function machine(): Table {
  const { processor, node, redis } = machineNames();
  const gigabytes = Math.round(totalmem() / 1024 ** 3);
  return {
    columns: ["", ""],
    rows: [
      ["date", new Date().toISOString().slice(0, 10)],
      ["processor", processor],
      ["memory", `${gigabytes} GB`],
      ["kernel", `Linux ${release().split("-")[0]}`],
      ["Node", node],
      ["Redis", redis],
      ["bubblewrap", firstLine("bwrap", /(\d\S*)/)],
      ["packages", packages(root)],
      ["peers", packages(join(root, "bench/peers"))],
    ],
  };
}

function firstLine(program: string, version: RegExp): string {
  try {
    return version.exec(execFileSync(program, ["--version"], { encoding: "utf8" }))?.[1] ?? "unknown";
  } catch {
    return "none";
  }
}

function packages(folder: string): string {
  const { dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  return Object.entries(dependencies)
    .map(([name, version]) => `${name} ${version}`)
    .join(", ");
}
