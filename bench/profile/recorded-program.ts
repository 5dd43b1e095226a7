import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Program } from "../../tests/e2e/program.ts";
import type { ServedThread } from "../served-thread.ts";
import { type Costs, summarize } from "./areas.ts";
import type { Recording } from "./recording.ts";

/** What a program needs to be recorded. @param from "start" begins with the process */
export function recorderEnvironment(served: ServedThread, from: "start" | "signal"): Record<string, string> {
  return {
    NODE_OPTIONS: `--import=${join(import.meta.dirname, "recorder.ts")}`,
    BENCH_RECORDINGS: served.place.folder,
    ...(from === "start" && { BENCH_RECORD: "start" }),
  };
}

/** Records a process of the program while the work is done. The first use of that process. */
export async function recorded(program: Program, pid: number, work: () => Promise<unknown>): Promise<Costs> {
  process.kill(pid, "SIGUSR2");
  await program.line(/^recording 1 begun/);
  await work();
  return endRecording(program, pid, 2);
}

/** @param number of signals that the process will have got with this one */
export async function endRecording(program: Program, pid: number, number: number): Promise<Costs> {
  process.kill(pid, "SIGUSR2");
  const line = await program.line(new RegExp(`^recording ${number} /`));
  const file = line.slice(line.indexOf("/"));
  // Written by recorder.ts.
  return summarize(JSON.parse(readFileSync(file, "utf8")) as Recording);
}
