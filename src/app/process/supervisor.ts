import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { proxyVariables } from "../../agent/network/proxy-environment.ts";
import { beatMs, type Report, supervisedMark } from "./supervised.ts";

/** Until the first sign of life, the program is being loaded. */
const startMs = 60_000;

export interface SupervisorOptions {
  /** The program and its arguments, to be run again in a process of its own. */
  entry: string;
  args: readonly string[];
  /** By default {@link defaultPauses}. */
  pauses?: Pauses;
  /** Must not throw or reject. */
  warn(text: string): void | Promise<void>;
}

/** Between a death and the next start, ms. The first death in a while costs none: turns wait for the next worker. */
export interface Pauses {
  /** Before the second start in a row; each further one takes twice as long. */
  firstMs: number;
  longestMs: number;
  /** Whoever has served for so long begins a new row with its death. */
  servedMs: number;
}

const defaultPauses: Pauses = { firstMs: 1_000, longestMs: 30_000, servedMs: 60_000 };

/**
 * Runs the program in a second process and watches it. A worker whose event loop stands still, or that is frozen, can
 * neither stop a turn nor say so: it is killed, which ends its sandboxes too. A worker that was killed, or has died of
 * a defect while it served, is started again like that one, in growing intervals. Its turns are taken over, and a stop
 * that waited for it is carried out there.
 *
 * The program is started at once and reads the configuration alone: it tells after which silence it hangs.
 *
 * What the program says by its exit code is not tried again: it has ended on purpose, or it could not start, which is
 * for the operator and whoever restarts this process. Resolves with that code; a signal that asked the program to end
 * ends this process too.
 */
export async function supervise(options: SupervisorOptions): Promise<number> {
  const { pauses = defaultPauses, warn } = options;
  const ending = new AbortController();
  let child: ChildProcess | undefined;
  const passOn = (signal: NodeJS.Signals) => {
    ending.abort();
    child?.kill(signal);
  };
  // The program reads its configuration again. Before it listens for the signal, that would end it.
  const passOnReload = () => void (isServing && child?.kill("SIGHUP"));
  let isServing = false;
  process.on("SIGTERM", passOn).on("SIGINT", passOn);
  // A terminal that is closed sends it too, and ends what it has started.
  if (!process.stdin.isTTY) process.on("SIGHUP", passOnReload);
  for (let deaths = 0; ; ) {
    const end = await run(options, {
      started: (process) => (child = process),
      serves: () => (isServing = true),
    });
    child = undefined;
    isServing = false;
    const cause = causeOfDeath(end);
    if (cause === undefined || ending.signal.aborted) {
      process.off("SIGTERM", passOn).off("SIGINT", passOn).off("SIGHUP", passOnReload);
      if (end.signal) process.kill(process.pid, end.signal);
      return end.code ?? 1;
    }
    deaths = (end.servedMs ?? 0) >= pauses.servedMs ? 1 : deaths + 1;
    const pauseMs = deaths === 1 ? 0 : Math.min(pauses.firstMs * 2 ** (deaths - 2), pauses.longestMs);
    void warn(`${cause}; it is started again ${pauseMs === 0 ? "at once" : `in ${pauseMs / 1_000} s`}.`);
    await delay(pauseMs, undefined, { signal: ending.signal }).catch(() => undefined);
    if (ending.signal.aborted) return 0;
  }
}

/** How a process ended. */
interface End {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** It was silent for this long and had to be killed, ms. */
  hungMs?: number;
  /** For how long it has served, ms; undefined where it never did. */
  servedMs?: number;
  /** It could not even be started. */
  problem?: string;
}

/** Why a process is gone that has not ended on purpose; undefined for one that has. */
function causeOfDeath({ code, signal, hungMs, servedMs, problem }: End): string | undefined {
  if (hungMs !== undefined) return `A worker did not respond for ${hungMs / 1_000} s, so it was killed`;
  if (problem !== undefined) return `A worker could not be started (${problem})`;
  switch (signal) {
    case "SIGTERM":
    case "SIGINT":
    case "SIGHUP":
      return undefined;
    case null:
      return code === 0 || servedMs === undefined
        ? undefined
        : `A worker ended with code ${code}, which its last lines explain`;
    case "SIGKILL":
      return "A worker was killed (SIGKILL: by somebody, or by the kernel for want of memory, which `journalctl -k` tells)";
    case "SIGABRT":
      return "A worker aborted (SIGABRT: its heap was full, or a defect, as its last lines tell)";
    default:
      return `A worker crashed (${signal})`;
  }
}

/**
 * What streams through hundreds of turns is garbage at once. V8 would let it pile up to several times of what lives;
 * with less room it collects as much, but earlier. It has all of that room from the start, most of which stays: with
 * less, it would be copied again and again.
 * `node --max-old-space-size=… src/heddle.js start` gives more.
 */
const heap = ["--min-semi-space-size=8", "--max-semi-space-size=8", "--max-old-space-size=1536"];

function start({ entry, args }: SupervisorOptions): ChildProcess {
  return fork(entry, args, {
    execArgv: [...heap, ...process.execArgv],
    env: { ...process.env, ...proxyVariables(process.env), [supervisedMark]: "1" },
    // A group of its own: Ctrl-C reaches it through us, and once.
    detached: true,
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
}

/** Told how the program gets on. */
interface Progress {
  started(child: ChildProcess): void;
  serves(): void;
}

/** Starts the program and watches it until its end. */
async function run(options: SupervisorOptions, progress: Progress): Promise<End> {
  const lost: End = { code: null, signal: null };
  try {
    const child = start(options);
    progress.started(child);
    if (child.pid !== undefined) return await watch(child, progress);
    const [error] = await once(child, "error");
    return { ...lost, problem: String(error) };
  } catch (error) {
    // For want of memory it throws.
    return { ...lost, problem: String(error) };
  }
}

async function watch(child: ChildProcess, { serves }: Progress): Promise<End> {
  // Our own ticks are counted instead of the time: a machine that slept is no hang.
  let silent = 0;
  let patienceMs = startMs;
  let hangMs = startMs;
  let hungMs: number | undefined;
  let servedSince: number | undefined;
  // Only supervised.ts has the other end of the channel.
  child.on("message", (report: Report) => {
    if (typeof report === "object") {
      // Not yet a sign of life: most of the program has still to be loaded.
      hangMs = report.hangMs;
      return;
    }
    silent = 0;
    patienceMs = hangMs;
    if (report !== "serving") return;
    servedSince = performance.now();
    serves();
  });
  const timer = setInterval(() => {
    silent += 1;
    if (silent * beatMs < patienceMs) return;
    hungMs = patienceMs;
    child.kill("SIGKILL");
  }, beatMs);
  // The exit event's own arguments.
  const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
  clearInterval(timer);
  return {
    ...{ code, signal },
    ...(hungMs !== undefined && { hungMs }),
    ...(servedSince !== undefined && { servedMs: performance.now() - servedSince }),
  };
}
