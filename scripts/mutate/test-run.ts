import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { z } from "zod";

export interface TestRunner {
  /** Runs them up to the first failure. @param withinMs counts from their start; to run longer is to fail */
  passes(tests: readonly string[], withinMs: number): Promise<boolean>;
  /** How long each takes when all of them pass, ms. @throws Error with the names of those that do not */
  measure(tests: readonly string[]): Promise<Map<string, number>>;
  /** Ends what runs. */
  stop(): void;
}

const report = z.object({
  testResults: z.array(
    z.object({ name: z.string(), status: z.string(), startTime: z.number(), endTime: z.number() }),
  ),
});

/** How long an ended run may take to end its own processes, ms. */
const graceMs = 5_000;

/** @param through a command that each run is started with, such as `flock file` */
export function createTestRunner(folder: string, through: readonly string[]): TestRunner {
  let stop = () => {};

  const run = async (args: readonly string[], withinMs = Infinity): Promise<boolean> => {
    const vitest = [process.execPath, join(folder, "node_modules/vitest/vitest.mjs"), "run", ...args];
    const [program = "", ...rest] = [...through, ...vitest];
    const { VITEST: _, ...env } = process.env;
    // A group of its own, so that it can be ended with all that it has started.
    const child = spawn(program, rest, {
      cwd: folder,
      env,
      detached: true,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const end = (signal: NodeJS.Signals) => {
      if (child.pid && child.exitCode === null && child.signalCode === null) process.kill(-child.pid, signal);
    };
    stop = () => end("SIGTERM");
    const timers: NodeJS.Timeout[] = [];
    // It says something when it starts, which may be long after `through` does.
    child.stdout.once("data", () => {
      if (withinMs === Infinity) return;
      timers.push(setTimeout(end, withinMs, "SIGTERM"), setTimeout(end, withinMs + graceMs, "SIGKILL"));
    });
    child.stdout.resume();
    await once(child, "close");
    for (const timer of timers) clearTimeout(timer);
    return child.exitCode === 0;
  };

  return {
    passes: (tests, withinMs) => run(["--bail=1", "--retry=0", "--reporter=default", ...tests], withinMs),
    async measure(tests) {
      const file = join(folder, ".mutate.json");
      await run(["--reporter=default", "--reporter=json", `--outputFile.json=${file}`, ...tests]);
      if (!existsSync(file)) throw new Error("The tests could not be run. Try: npm test.");
      const { testResults } = report.parse(JSON.parse(readFileSync(file, "utf8")));
      rmSync(file);
      const named = testResults.map((result) => ({ ...result, name: relative(folder, result.name) }));
      const failed = named.filter(({ status }) => status !== "passed").map(({ name }) => name);
      if (failed.length > 0) throw new Error(`These tests fail without any change: ${failed.join(", ")}.`);
      return new Map(named.map(({ name, startTime, endTime }) => [name, endTime - startTime]));
    },
    stop: () => stop(),
  };
}
