/**
 * The program. Where it is to run turns, it first starts itself again under a supervisor, which loads nothing else, so
 * that the start does not wait for it; everything else is the command line's.
 */
import { isatty } from "node:tty";
import { endWithSupervisor, isSupervised } from "./app/process/supervised.ts";
import { supervise } from "./app/process/supervisor.ts";

endWithSupervisor();

const args = process.argv.slice(2);

/** By the words alone: what is wrong with them, the command line tells, there as here. */
const runsTurns = args[0] === "start" && !args.some((word) => /^(--role=)?gateway$|^--help$|^-h$/.test(word));

// A log that cannot be written, as on a full disk or at a terminal that is gone, ends nothing of what it is about.
process.stderr.on("error", () => undefined);

// Until it listens for it: what starts reads its files anyway. At a terminal it means that the terminal was closed.
if (args[0] === "start" && !isatty(0)) process.on("SIGHUP", () => undefined);

// Node's own code for a program that has nothing left to wait for before it has ended. Not set before: the help that
// somebody asks for ends with what is set.
process.once("beforeExit", () => (process.exitCode ??= 13));
// Not awaited: the bundler merges files only where no module has a top-level `await`, and each file takes its time.
void run().then((code) => (process.exitCode = code));

async function run(): Promise<number> {
  if (runsTurns && !isSupervised()) return await supervise({ entry: process.argv[1] ?? "", args, warn });
  const { runCommandLine } = await import("./commands/command-line/run-command-line.ts");
  return await runCommandLine(args);
}

/** Logs as the configuration wants it, which the supervisor reads only when it has something to say. */
async function warn(text: string): Promise<void> {
  try {
    const { createCommandContext } = await import("./commands/context.ts");
    (await createCommandContext()).log.warn(text);
  } catch {
    // The configuration has become unreadable, which the program says when it is started again.
    process.stderr.write(`${text}\n`);
  }
}
