import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

/** In the environment of a process that is watched. */
const mark = "HEDDLE_SUPERVISED";

/** Fast enough to tell a hang within its second. */
const beatMs = 250;

/** Until the first sign of life, the program is being loaded. */
const startMs = 60_000;

export interface SupervisorOptions {
  /** The program and its arguments, to be run again in a process of its own. */
  entry: string;
  args: readonly string[];
  /** A process that is silent for this long hangs, ms. */
  hangMs: number;
  warn(text: string): void;
}

/**
 * Runs the program in a second process and watches it. A worker whose event loop stands still, or that is
 * frozen, can neither stop a turn nor say so: it is killed, which ends its sandboxes too, and started anew. Its
 * turns are taken over, and a stop that waited for it is carried out there.
 *
 * Resolves with the exit code of the program when it ends by itself; a signal that ends it ends this process too.
 */
export async function supervise(options: SupervisorOptions): Promise<number> {
  const ending = new AbortController();
  let child: ChildProcess | undefined;
  const passOn = (signal: NodeJS.Signals) => {
    ending.abort();
    child?.kill(signal);
  };
  process.on("SIGTERM", passOn).on("SIGINT", passOn);
  for (;;) {
    child = start(options);
    const { code, signal, hung } = await watch(child, options.hangMs);
    if (hung && !ending.signal.aborted) {
      options.warn(
        `A worker did not respond for ${options.hangMs / 1_000} s, so it was killed and is started anew.`,
      );
      continue;
    }
    process.off("SIGTERM", passOn).off("SIGINT", passOn);
    if (signal) process.kill(process.pid, signal);
    return code ?? 1;
  }
}

/**
 * What streams through hundreds of turns is garbage at once. V8 would let it pile up to several times of what lives;
 * with less room it collects as much, but earlier. `node --max-old-space-size=… src/main.ts start` gives more.
 */
const heap = ["--max-semi-space-size=4", "--max-old-space-size=1536"];

function start({ entry, args }: SupervisorOptions): ChildProcess {
  return fork(entry, args, {
    execArgv: [...heap, ...process.execArgv],
    env: { ...process.env, [mark]: "1" },
    // A group of its own: Ctrl-C reaches it through us, and once.
    detached: true,
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
}

async function watch(
  child: ChildProcess,
  hangMs: number,
): Promise<{ code: number | null; signal: NodeJS.Signals | null; hung: boolean }> {
  // Our own ticks are counted instead of the time: a machine that slept is no hang.
  let silent = -startMs / beatMs;
  let hung = false;
  child.on("message", () => {
    silent = 0;
  });
  const timer = setInterval(() => {
    silent += 1;
    if (silent * beatMs < hangMs) return;
    hung = true;
    child.kill("SIGKILL");
  }, beatMs);
  // The exit event's own arguments.
  const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
  clearInterval(timer);
  return { code, signal, hung };
}

/** Whether somebody watches this process. From then on it says that it is alive, and ends with its supervisor. */
export function isSupervised(): boolean {
  const { channel } = process;
  if (process.env[mark] !== "1" || !channel) return false;
  delete process.env[mark];
  // Nobody could end this process if it hung.
  process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));
  channel.unref();
  setInterval(() => process.send?.("alive", () => undefined), beatMs).unref();
  return true;
}
