import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { residentMemory } from "../process-tree.ts";
import type { Order, Report } from "./process.ts";

/** A candidate that is ready for turns. */
export interface Running {
  /** From the start of its process until it could take a turn, ms. */
  readyMs: number;
  /** Runs one turn behind that many messages and returns its last words. @throws Error what the candidate threw */
  turn(history: number): Promise<string>;
  /** Goes on with the one conversation that it keeps and returns its last words. @throws Error what it threw */
  say(task: string): Promise<string>;
  /** Records what its process does from here on, or writes what was recorded to a file. */
  record(what: "begin" | { to: string }): Promise<void>;
  /** Resident memory now, in bytes. */
  memory(): number;
  close(): Promise<void>;
}

/** A process that loads a module takes this long at most, in ms; an agent library takes a second or two. */
const startTimeoutMs = 30_000;

/** @param module absolute path of a module that exports `open` */
export async function startCandidate(module: string, baseUrl: string): Promise<Running> {
  const startedAt = performance.now();
  const child = fork(join(import.meta.dirname, "process.ts"), [module, baseUrl], {
    execArgv: ["--disable-warning=ExperimentalWarning"],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let complaints = "";
  child.stderr?.on("data", (text: Buffer) => {
    complaints = `${complaints}${text.toString()}`.slice(-2_000);
  });
  const next = () => nextReport(child, () => complaints);
  try {
    await next();
  } catch (error) {
    child.kill();
    throw error;
  }
  const order = async (wanted: Order) => {
    child.send(wanted);
    const report = await next();
    if ("answer" in report) return report.answer;
    throw new Error("failed" in report ? report.failed : "The candidate started again.");
  };
  return {
    readyMs: performance.now() - startedAt,
    turn: (history) => order({ history }),
    say: (task) => order({ say: task }),
    async record(what) {
      child.send({ record: what } satisfies Order);
      const report = await next();
      if (!("recorded" in report)) throw new Error("failed" in report ? report.failed : "Not recorded.");
    },
    memory: () => residentMemory(child.pid ?? 0, "now"),
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.disconnect();
      await exited;
    },
  };
}

async function nextReport(child: ChildProcess, complaints: () => string): Promise<Report> {
  const settled = new AbortController();
  const signal = AbortSignal.any([settled.signal, AbortSignal.timeout(startTimeoutMs)]);
  try {
    const ended = once(child, "exit", { signal }).then(([code]) => {
      throw new Error(`The process ended (${code}): ${complaints()}`);
    });
    // Only `process.ts` has the other end of the channel.
    const [report] = (await Promise.race([once(child, "message", { signal }), ended])) as [Report];
    return report;
  } finally {
    settled.abort();
  }
}
