import { openBurst } from "../burst.ts";
import { workerOf } from "../process-tree.ts";
import { recorded, recorderEnvironment } from "./recorded-program.ts";
import { costTables, type Section } from "./section.ts";

const count = 200;

/** Many turns at the same time in one worker. */
export async function profileThreads(): Promise<Section> {
  await using burst = await openBurst(count);
  const worker = await burst.worker(recorderEnvironment(burst.served, "signal"));
  const costs = await recorded(worker, workerOf(worker.pid), () => burst.run());
  return {
    title: `${count} threads at once`,
    method:
      "A worker of its own process, all turns in flight at the same time: one sandboxed command each, then an answer of 200 pieces over a second. From the first mention to the last answer, in a worker that has done nothing before, so that V8 has still to compile what runs often.",
    tables: costTables(costs, "thread", count),
  };
}
