import { fork } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Effort, type Figure, type Findings, goal, ms, quantity, ratio } from "../figure.ts";
import { spread } from "../measure.ts";
import type { SandboxReport } from "../sandbox-bot.ts";

/** Memory that a bot holds beside its own, MB: as at its start, and after a long day. */
const ballasts = [0, 430];

/** What a sandbox costs against no sandbox. */
export const sandbox: Figure = {
  id: "sandbox",
  title: "Sandbox",
  method:
    "From the request to run `true` until its exit is known: in a sandbox (namespaces, filter, limits, proof that nothing is left) with plain `bash -c true` from the same process, and with that in bubblewrap's namespaces and nothing of Heddle's, interleaved; beside them bubblewrap with what Heddle has it do, and without some of that; then the same with 16 at once. Finally, killing four background jobs with four processes each, until nothing is left. Starting a process takes longer the more memory the parent has, so a small bot and a large one are measured.",
  measure,
};

async function measure(effort: Effort): Promise<Findings> {
  const dataDir = await mkdtemp(join(tmpdir(), "heddle-bench-"));
  // Sandbox users must be able to reach the workspaces.
  await chmod(dataDir, 0o711);
  try {
    // So that Node keeps what it has compiled, as after every start but the first.
    await bot(dataDir, 0, 1);
    const reports: SandboxReport[] = [];
    for (const ballast of ballasts) reports.push(await bot(dataDir, ballast, effort.pick(12, 200)));
    const survivors = reports.reduce((sum, report) => sum + report.survivors, 0);
    return {
      table: {
        columns: ["", ...reports.map(({ memory }) => `bot of ${quantity(memory / 1e6, "MB")}`)],
        rows: [
          ["plain bash, p50", ...reports.map(({ plain }) => ms(spread(plain).p50))],
          ["bubblewrap by itself, p50", ...reports.map(({ bare }) => ms(spread(bare).p50))],
          ...(reports[0]?.parts ?? []).map(([name], part) => [
            `${name}, p50`,
            ...reports.map(({ parts }) => ms(spread(parts[part]?.[1] ?? []).p50)),
          ]),
          ["sandbox, p50", ...reports.map(({ sandboxed }) => ms(spread(sandboxed).p50))],
          ["sandbox, p95", ...reports.map(({ sandboxed }) => ms(spread(sandboxed).p95))],
          ["sandbox vs. plain bash", ...reports.map((report) => ratio(toPlain(report)))],
          [
            "16 at once, plain bash, p50",
            ...reports.map(({ plainTogether }) => ms(spread(plainTogether).p50)),
          ],
          [
            "16 at once, sandboxes, p50",
            ...reports.map((report) => ms(spread(report.sandboxedTogether).p50)),
          ],
          ["killAll of 4 jobs, p50", ...reports.map(({ kill }) => ms(spread(kill).p50))],
          ["killAll of 4 jobs, p95", ...reports.map(({ kill }) => ms(spread(kill).p95))],
        ],
      },
      goals: reports.map((report, index) =>
        goal(
          `a sandboxed command above plain bash, ${index === 0 ? "small" : "large"} bot`,
          above(report),
          "ms",
          {
            below: 7,
          },
        ),
      ),
      checks: [
        {
          rule: "killAll leaves no process",
          holds: survivors === 0,
          seen: `${survivors} survivors of ${reports.reduce((sum, { kill }) => sum + kill.length, 0)} kills`,
        },
      ],
    };
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

const above = ({ sandboxed, plain }: SandboxReport) => spread(sandboxed).p50 - spread(plain).p50;
const toPlain = ({ sandboxed, plain }: SandboxReport) => spread(sandboxed).p50 / spread(plain).p50;

async function bot(dataDir: string, ballast: number, rounds: number): Promise<SandboxReport> {
  const program = join(import.meta.dirname, "../sandbox-bot.ts");
  const child = fork(program, [dataDir, String(ballast), String(rounds)], { execArgv: [] });
  const exited = once(child, "exit");
  const failed = exited.then(([code]) => {
    throw new Error(
      `The bot that starts sandboxes ended with ${code} before its report; see its words above.`,
    );
  });
  // Only `sandbox-bot.ts` has the other end of the channel.
  const [report] = (await Promise.race([once(child, "message"), failed])) as [SandboxReport];
  failed.catch(() => undefined);
  await exited;
  return report;
}
