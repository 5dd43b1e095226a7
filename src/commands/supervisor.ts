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
 * Resolves with the exit code of the program when it ends by itself or by a signal.
 */
export async function supervise(options: SupervisorOptions): Promise<number> {
  const ending = new AbortController();
  let child: ChildProcess | undefined;
  const passOn = (signal: NodeJS.Signals) => {
    ending.abort();
    child?.kill(signal);
  };
  process.on("SIGTERM", passOn).on("SIGINT", passOn);
  try {
    for (;;) {
      child = start(options);
      const { code, signal, hung } = await watch(child, options.hangMs);
      if (signal && !(hung && !ending.signal.aborted)) process.kill(process.pid, signal);
      if (!hung || ending.signal.aborted) return code ?? 1;
      options.warn(
        `A worker did not respond for ${options.hangMs / 1_000} s, so it was killed and is started anew.`,
      );
    }
  } finally {
    process.off("SIGTERM", passOn).off("SIGINT", passOn);
  }
}

function start({ entry, args }: SupervisorOptions): ChildProcess {
  return fork(entry, args, {
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
