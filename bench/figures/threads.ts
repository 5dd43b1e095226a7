import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Program } from "../../tests/e2e/program.ts";
import { openBurst } from "../burst.ts";
import { type Effort, type Figure, type Findings, goal, ms, quantity } from "../figure.ts";
import { residentMemory, treeMemory, workerOf } from "../process-tree.ts";

/** How much one worker process carries at once. */
export const threads: Figure = {
  id: "threads",
  title: "Threads at once in one worker",
  method:
    "A gateway and one worker process. One person per thread mentions Heddle, all at the same time and each in a different channel. The model holds back its first reply until every turn is in flight, then has each run one command in its sandbox and streams an answer of 200 chunks over a second. Event-loop lag is measured by `perf_hooks` inside the worker from the first mention to the last answer; memory is the peak resident size of the process that runs the turns, and, for the helpers, that of all the worker's processes at the end (shared pages counted once).",
  measure,
};

async function measure(effort: Effort): Promise<Findings> {
  const rows: string[][] = [];
  let last: Awaited<ReturnType<typeof oneBurst>> | undefined;
  const counts = effort.pick([200], [10, 50, 100, 200]);
  for (const count of counts) {
    last = await oneBurst(count);
    rows.push([
      String(count),
      quantity(last.seconds, "s"),
      quantity(last.idleBytes / 1e6, "MB"),
      quantity(last.peakBytes / 1e6, "MB"),
      quantity(last.allBytes / 1e6, "MB"),
      ms(last.lag.p50),
      ms(last.lag.p99),
      ms(last.lag.max),
    ]);
  }
  if (!last) throw new Error("No burst was measured.");
  const { count } = last;
  return {
    table: {
      columns: [
        "threads",
        "all answered",
        "memory before",
        "memory, peak",
        "with helper processes",
        "lag p50",
        "lag p99",
        "lag max",
      ],
      rows,
    },
    goals: [
      goal(
        `memory a thread above the idle worker, ${count} threads at once`,
        (last.peakBytes - last.idleBytes) / last.count / 1e6,
        "MB",
        { below: 1 },
      ),
      goal(`event-loop lag with ${count} threads at once, p99`, last.lag.p99, "ms", { below: 40 }),
    ],
  };
}

async function oneBurst(count: number) {
  await using burst = await openBurst(count);
  const lagModule = join(import.meta.dirname, "../lag.ts");
  const worker = await burst.worker({ NODE_OPTIONS: `--import=${lagModule}` });
  const pid = workerOf(worker.pid);
  const idleBytes = residentMemory(pid, "now");
  // Sets the peak back to what is resident now (proc(5)): that of the start does not count.
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  await lag(worker, pid, 1); // What came before does not count.
  const startedAt = performance.now();
  await burst.run();
  const seconds = (performance.now() - startedAt) / 1_000;
  return {
    count,
    seconds,
    idleBytes,
    peakBytes: residentMemory(pid, "most"),
    allBytes: treeMemory(worker.pid),
    lag: await lag(worker, pid, 2),
  };
}

const lagSchema = z.object({ p50: z.number(), p99: z.number(), max: z.number() });

/** Asks `lag.ts` in this process of the program for the number-th time. */
async function lag(program: Program, pid: number, number: number): Promise<z.infer<typeof lagSchema>> {
  process.kill(pid, "SIGUSR2");
  const line = await program.line(new RegExp(`^event loop lag ${number} `));
  return lagSchema.parse(JSON.parse(line.slice(line.indexOf("{"))));
}
