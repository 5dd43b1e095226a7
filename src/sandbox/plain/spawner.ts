import { type ChildProcess, spawn } from "node:child_process";
import { dirname } from "node:path";
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { type Fence, fenced } from "../running/fence.ts";
import type { RunningEntry, RunningRegistry } from "../running/registry.ts";
import type { ExecEnd } from "../sandbox.ts";
import { nothingHeld } from "../thread/held-files.ts";
import type { ThreadFolder } from "../thread/host.ts";
import { isAlive, listDescendants, type ProcessIdentity, readProcessStatus } from "../thread/processes.ts";
import { isShellCommand, type Program, shell } from "../thread/shell.ts";
import {
  type Ending,
  type Launched,
  type Spawner,
  type SpawnRequest,
  takenOver,
  upkeep,
} from "../thread/spawner.ts";

const longestTimerMs = 2 ** 31 - 1;
/** How long killed processes may take to disappear, in milliseconds. */
const unkillableAfterMs = 2_000;
/** Who holds the output open after the command has ended is not waited for any longer, in milliseconds. */
const lateOutputMs = 100;

/**
 * Starts programs as ordinary processes of the bot's own user, in the thread's folder. Paths of the inside are
 * translated in the parameters of scripts; a command's own text is left alone, so it sees the host's paths.
 */
export function createPlainSpawner(
  summary: string,
  { registry, fence }: { registry: RunningRegistry; fence: Fence },
): Spawner {
  const running = new Map<number, ChildProcess>();
  const deadlines = new Map<number, () => void>();
  // In the bot's own process, so what a bot that stands still runs is not ended by it.
  const unwatch = fence.watch(() => deadlines.forEach((endIfPast) => endIfPast()));
  let lastId = 0;

  function launch(folder: ThreadFolder, request: SpawnRequest): Launched {
    const id = ++lastId;
    if (request.signal?.aborted) {
      return { id, ended: Promise.resolve({ end: "stopped", exitCode: null }), kill() {} };
    }
    const isPast = () => fence.isPast(folder.key, request.origin ?? upkeep);
    const fencedEnding: Ending = { end: "failed", exitCode: null, problem: `${fenced}.` };
    if (isPast()) return { id, ended: Promise.resolve(fencedEnding), kill() {} };
    const translate = translator(folder, request.view ?? []);
    const child = spawn(
      "/bin/bash",
      limitFileSize(request.fileBytes, toArguments(request.program, translate)),
      {
        cwd: translate(request.cwd),
        env: { ...environment(folder), ...request.environment },
        detached: true,
        stdio: [request.stdin ? "pipe" : "ignore", "pipe", "pipe", "pipe"],
      },
    );
    const entry = noteStart(registry, folder, request, child);
    if (entry === "refused") {
      child.kill("SIGKILL");
      return { id, ended: Promise.resolve({ end: "failed", exitCode: null, problem: takenOver }), kill() {} };
    }
    // Beyond the first three, a "pipe" is a socket that goes both ways, which the types do not say.
    (child.stdio[3] as Writable | null)?.on("error", () => {}).end("go\n");
    let cause: ExecEnd | undefined;
    let produced = 0;
    const kill = (end: ExecEnd) => {
      cause ??= end;
      killTree(child);
    };
    for (const stream of ["stdout", "stderr"] as const) {
      child[stream]?.on("data", (chunk: Buffer) => {
        produced += chunk.length;
        request.onOutput(request.mergeOutput ? "stdout" : stream, chunk);
        if (produced > request.floodBytes) kill("output");
      });
    }
    child.stdin?.on("error", () => {}).end(request.stdin === "open" ? undefined : request.stdin);
    const timer = setTimeout(() => kill("timeout"), Math.min(request.timeoutMs, longestTimerMs));
    const onAbort = () => kill("stopped");
    request.signal?.addEventListener("abort", onAbort);
    running.set(id, child);
    deadlines.set(id, () => isPast() && kill("failed"));
    const ended = endOf(child).then((ending): Ending => {
      running.delete(id);
      deadlines.delete(id);
      entry.ended();
      clearTimeout(timer);
      request.signal?.removeEventListener("abort", onAbort);
      if (cause === "failed") return fencedEnding;
      return cause === undefined ? ending : { end: cause, exitCode: null };
    });
    return { id, ended, kill };
  }

  return {
    tier: () => Promise.resolve({ summary, exact: false }),
    launch,
    async proveDead(launched) {
      const startedAt = performance.now();
      const found = launched.flatMap(({ id }) => treeOf(running.get(id)));
      for (const { kill } of launched) kill("stopped");
      await Promise.all(launched.map(({ ended }) => ended));
      const giveUpAt = startedAt + unkillableAfterMs;
      while (found.some(isAlive) && performance.now() < giveUpAt) await sleep(5);
      return {
        commands: launched.length,
        processes: found.length,
        survivors: found.filter(isAlive).length,
      };
    },
    // Without a sandbox files can lie anywhere: what is deleted is a small part of what is not counted.
    findHeld: async () => nothingHeld,
    confirm: (thread, confirmation) => fence.confirm(thread, confirmation),
    async close() {
      unwatch();
      for (const child of running.values()) killTree(child);
    },
  };
}

/** Before it gets its word to go, so that nothing runs which is not noted. */
function noteStart(
  registry: RunningRegistry,
  folder: ThreadFolder,
  { origin = upkeep }: SpawnRequest,
  { pid }: ChildProcess,
): RunningEntry | "refused" {
  const status = pid === undefined ? undefined : readProcessStatus(pid);
  if (!status) return { began() {}, ended() {} }; // It tells by itself why it has not started; or there is no /proc.
  const outer = { pid: status.pid, startTime: status.startTime };
  return registry.enter(folder.key, { ...origin, outer }) ?? "refused";
}

/** Ends what the command has left behind in its process group, too. */
async function endOf(child: ChildProcess): Promise<Ending> {
  const exited = await new Promise<Ending>((resolve) => {
    child.once("error", ({ message }) =>
      resolve({ end: "failed", exitCode: null, problem: `The command could not be started: ${message}.` }),
    );
    // Numbers of signals are of no interest: what kills a command here says so itself.
    child.once("exit", (code) => resolve({ end: "exit", exitCode: code ?? 137 }));
  });
  killTree(child);
  const closed = new Promise((resolve) => child.once("close", resolve));
  await Promise.race([closed, sleep(lateOutputMs)]);
  child.stdout?.destroy();
  child.stderr?.destroy();
  return exited;
}

/** A daemon that has left the command's session and lost its parent is not found any more. */
function treeOf(child: ChildProcess | undefined): ProcessIdentity[] {
  return child?.pid === undefined || process.platform !== "linux" ? [] : listDescendants(child.pid);
}

function killTree(child: ChildProcess): void {
  if (child.pid === undefined) return;
  for (const pid of [-child.pid, ...treeOf(child).map((identity) => identity.pid)]) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  }
}

/** @param translate gives the host's path for one of the inside */
function toArguments(program: Program, translate: (path: string) => string): string[] {
  if (!isShellCommand(program)) return [...program];
  // `--`: a script may begin like an option.
  return [...shell, "--", program.script, "bash", ...program.parameters.map(translate)];
}

/** The arguments with which bash runs a program under a limit of its files' size, which it counts in KiB. */
function limitFileSize(fileBytes: number, program: readonly string[]): string[] {
  // It waits until it is noted that it runs.
  const script = 'read -r go <&3 || exit 125; exec 3<&-; ulimit -c 0; ulimit -f "$1"; shift; exec "$@"';
  const blocks = String(Math.ceil(fileBytes / 1024));
  return ["--noprofile", "--norc", "-c", script, "bash", blocks, ...program];
}

/** Nothing of the bot's own environment but where programs are, the Node that runs Heddle first among them. */
function environment({ path }: ThreadFolder): Record<string, string> {
  const programs = process.env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin";
  return {
    PATH: `${dirname(process.execPath)}:${programs}`,
    HOME: `${path}/ws`,
    SHELL: "/bin/bash",
    TMPDIR: `${path}/tmp`,
    LC_CTYPE: "C.UTF-8",
    TERM: "dumb",
    EMAIL: "agent@sandbox.invalid",
  };
}

/** From paths of the inside to those of this host: the thread's folders, and what `view` would mount. */
function translator({ path }: ThreadFolder, view: readonly string[]): (inside: string) => string {
  const places = [
    ["/workspace", `${path}/ws`],
    ["/tmp", `${path}/tmp`],
    ["/dev/shm", `${path}/shm`],
  ];
  for (let index = 0; index < view.length; index += 3) {
    const [source = "", target = ""] = view.slice(index + 1, index + 3);
    places.push([target, source]);
  }
  return (inside) => {
    for (const [target = "", source = ""] of places) {
      if (inside === target || inside.startsWith(`${target}/`)) return source + inside.slice(target.length);
    }
    return inside;
  };
}
