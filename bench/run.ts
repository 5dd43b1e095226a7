/** `npm run bench`: measures every figure. `--quick` in under a minute, `--only id,id` some, `--out folder` elsewhere. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { drawChart } from "./charts.ts";
import { type Effort, type Figure, reasonOf } from "./figure.ts";
import { ages } from "./figures/ages.ts";
import { calls } from "./figures/calls.ts";
import { clones } from "./figures/clones.ts";
import { commands } from "./figures/commands.ts";
import { consoleList } from "./figures/console-list.ts";
import { consolePage } from "./figures/console-page.ts";
import { fixedPart } from "./figures/fixed-part.ts";
import { libraries } from "./figures/libraries.ts";
import { limitedStop } from "./figures/limited-stop.ts";
import { mention } from "./figures/mention.ts";
import { newcomer } from "./figures/newcomer.ts";
import { prefix } from "./figures/prefix.ts";
import { rules } from "./figures/rules.ts";
import { sandbox } from "./figures/sandbox.ts";
import { start } from "./figures/start.ts";
import { step } from "./figures/step.ts";
import { stop } from "./figures/stop.ts";
import { threads } from "./figures/threads.ts";
import { tokens } from "./figures/tokens.ts";
import { week } from "./figures/week.ts";
import { workers } from "./figures/workers.ts";
import { changeTable, describeEntry, keepEntry, lastEntry } from "./history.ts";
import { goalTable, machineNames, type Outcome, page, terminalSection, terminalTable } from "./report.ts";

const figures: readonly Figure[] = [
  step,
  libraries,
  mention,
  calls,
  commands,
  stop,
  limitedStop,
  rules,
  sandbox,
  clones,
  threads,
  ages,
  workers,
  consoleList,
  consolePage,
  start,
  newcomer,
  tokens,
  prefix,
  fixedPart,
  week,
];

const { values } = parseArgs({
  options: { quick: { type: "boolean", default: false }, only: { type: "string" }, out: { type: "string" } },
});
const { quick, only } = values;
// A part of the figures, or rough ones, must not take the place of the published ones.
const out = values.out ?? (quick || only ? undefined : join(import.meta.dirname, "../docs"));
const effort: Effort = { quick, pick: (few, many) => (quick ? few : many) };

const wanted = only?.split(",");
const unknown = wanted?.filter((id) => !figures.some((figure) => figure.id === id)) ?? [];
if (unknown.length > 0) {
  const known = figures.map(({ id }) => id).join(", ");
  process.stderr.write(`--only ${unknown.join(",")}: there is no such figure; expected some of ${known}.\n`);
  process.exit(2);
}

const outcomes: Outcome[] = [];
for (const figure of figures.filter(({ id }) => wanted?.includes(id) ?? true)) {
  const outcome = await measured(figure);
  outcomes.push(outcome);
  process.stdout.write(`${terminalSection(outcome)}\n`);
}
const goals = outcomes.flatMap(({ findings }) => findings?.goals ?? []);
process.stdout.write(`Goals\n${terminalTable(goalTable(goals))}\n`);

const last = await lastEntry();
const change = last && changeTable(goals, last);
if (last && change) process.stdout.write(`Since ${describeEntry(last)}\n${terminalTable(change)}\n`);
if (out) {
  await mkdir(join(out, "images"), { recursive: true });
  await writeFile(
    join(out, "benchmarks.md"),
    page(outcomes, {
      quick,
      ...(last && change && { change: { since: describeEntry(last), table: change } }),
    }),
  );
  for (const chart of outcomes.flatMap(({ findings }) => findings?.charts ?? [])) {
    await writeFile(join(out, "images", `bench-${chart.name}.svg`), drawChart(chart));
  }
}
const broken = outcomes.flatMap(({ findings }) => findings?.checks ?? []).filter(({ holds }) => !holds);
if (broken.length > 0) {
  process.stderr.write(`These rules do not hold: ${broken.map(({ rule }) => rule).join("; ")}.\n`);
  process.exitCode = 1;
}
if (!values.out && !quick && !only && broken.length === 0) await keepEntry(goals, machineNames());

/** A figure that fails is told as missing: the others are worth having without it. */
async function measured(figure: Figure): Promise<Outcome> {
  try {
    return { figure, findings: await figure.measure(effort) };
  } catch (error) {
    return { figure, problem: reasonOf(error) };
  }
}
