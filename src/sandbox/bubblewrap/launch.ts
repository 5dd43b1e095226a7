import { once } from "node:events";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { parseJson } from "../parse-json.ts";
import { hasErrorCode, isOutOfFiles } from "../system-error.ts";
import type { RunningEntry } from "../running/registry.ts";
import type { ExecEnd } from "../sandbox.ts";
import type { ThreadFolder } from "../thread/host.ts";
import { isAlive, listDescendants, type ProcessIdentity, readProcessStatus } from "../thread/processes.ts";
import { type Ending, type LaunchRequest, type OutputStream, takenOver, upkeep } from "../thread/spawner.ts";
import {
  buildEnvironment,
  environmentDescriptor,
  filterDescriptor,
  statusDescriptor,
} from "./command-line.ts";
import { type Launcher, pipeOf, prepareStart, spawnLauncher } from "./launcher.ts";
import type { LaunchSite } from "./launch-site.ts";
import type { ResourceGroup } from "./limits/resource-group.ts";

/** One bwrap with everything that runs in it. */
export interface Launch {
  /** Resolves when no process of it is alive any more (or, with a log line, when one cannot be killed). */
  readonly ended: Promise<Ending>;
  /** Kills it; `ended` then has this end, unless it ended by itself before. */
  kill(end: ExecEnd): void;
  /** Feeds its standard input where that stays open; without a chunk, ends it. */
  feed(chunk?: Uint8Array): void;
  /** Takes no more of its output until told to go on: it has to wait then. Once it has ended, what is left is taken. */
  holdOutput(isHeld: boolean): void;
  /** The tenant's living processes. */
  processes(): ProcessIdentity[];
  /** The first process of its PID namespace, while that lives. */
  init(): FirstProcess | undefined;
}

/** When it dies, the kernel kills all others of the namespace with it. */
export interface FirstProcess extends ProcessIdentity {
  /** As /proc shows it: `pid:[inode]`. */
  namespace: string;
}

/** How long killed processes may take to disappear, in milliseconds, before they are reported as surviving. */
const unkillableAfterMs = 5_000;
/** How long bwrap may take to report its child once it is to be killed, in milliseconds. */
const reportWithinMs = 2_000;
const memoryCheckMs = 100;
const longestTimerMs = 2 ** 31 - 1;

/** Starts a program in the thread's sandbox. Never throws, and `ended` never rejects. */
export function launch(site: LaunchSite, folder: ThreadFolder, request: LaunchRequest): Launch {
  try {
    const { kind } = request.origin ?? upkeep;
    const group = site.groups.make(kind === "command" || kind === "job" ? folder.key : undefined);
    const launcher = spawnLauncher(site, folder, request, group);
    const { pid } = launcher.child;
    if (pid === undefined) {
      group.release();
      return neverStarted(once(launcher.child, "error").then(([error]: unknown[]) => error));
    }
    const entry = prepareStart(site, folder, request, { launcher, pid, group });
    return entry ? new BwrapProcess(site, launcher, { group, entry }, request) : notStarted(takenOver);
  } catch (error) {
    return neverStarted(Promise.resolve(error));
  }
}

function neverStarted(reason: Promise<unknown>): Launch {
  return notStarted(
    reason.then((error) => {
      return `The sandbox could not be started: ${explainRefusal(error)}.`;
    }),
  );
}

function explainRefusal(error: unknown): string {
  if (hasErrorCode(error, "ENOSPC", "EDQUOT")) return "the disk is full";
  const text = error instanceof Error ? error.message : String(error);
  return isOutOfFiles(error) ? `Heddle may open no more files (${text})` : text;
}

function notStarted(why: string | Promise<string>): Launch {
  const ended = Promise.resolve(why).then((problem): Ending => ({ end: "failed", exitCode: null, problem }));
  return { ended, kill() {}, feed() {}, holdOutput() {}, processes: () => [], init: () => undefined };
}

class BwrapProcess implements Launch {
  readonly ended: Promise<Ending>;
  readonly #site: LaunchSite;
  readonly #launcher: Launcher;
  readonly #request: LaunchRequest;
  readonly #group: ResourceGroup;
  readonly #entry: RunningEntry;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #givenUp = Promise.withResolvers<void>();
  #init: FirstProcess | undefined;
  #cause: ExecEnd | undefined;
  #exitCode: number | null = null;
  #producedBytes = 0;
  #lastWords = "";

  constructor(
    site: LaunchSite,
    launcher: Launcher,
    { group, entry }: { group: ResourceGroup; entry: RunningEntry },
    request: LaunchRequest,
  ) {
    this.#site = site;
    this.#launcher = launcher;
    this.#request = request;
    this.#group = group;
    this.#entry = entry;
    const { child, stdout, stderr } = launcher;

    stdout.readEnd.on("data", (chunk: Buffer) => this.#onOutput("stdout", chunk));
    stderr.readEnd.on("data", (chunk: Buffer) => this.#onOutput("stderr", chunk));
    const status = pipeOf(child, statusDescriptor);
    onLines(status, (line) => this.#onReport(parseJson(line)));
    const filter = pipeOf(child, filterDescriptor).resume();
    const variables = request.environment && pipeOf(child, environmentDescriptor).resume();
    // What cannot be written or killed any more has ended, and that is told by "close".
    for (const part of [child, child.stdin, status, filter, variables]) part?.on("error", () => {});

    this.#at(request.timeoutMs, () => this.kill("timeout"));
    const memoryCheck = setInterval(() => {
      const exceeded = group.exceeded();
      if (exceeded) this.kill(exceeded);
    }, memoryCheckMs);

    const parts = [child, stdout.readEnd, stderr.readEnd];
    const closed = Promise.all(parts.map((part) => new Promise((resolve) => part.once("close", resolve))));
    this.ended = Promise.race([closed, this.#givenUp.promise]).then(async () => {
      clearInterval(memoryCheck);
      const ending = await this.#settle();
      this.#timers.forEach(clearTimeout);
      return ending;
    });

    status.write("go\n");
    filter.end(site.filter);
    variables?.end(buildEnvironment(request.environment));
    if (request.stdin !== "open") child.stdin?.end(request.stdin);
  }

  feed(chunk?: Uint8Array): void {
    const { stdin } = this.#launcher.child;
    if (chunk) stdin?.write(chunk);
    else stdin?.end();
  }

  holdOutput(isHeld: boolean): void {
    const hasEnded = this.#cause !== undefined || this.#exitCode !== null;
    for (const { readEnd } of [this.#launcher.stdout, this.#launcher.stderr]) {
      if (isHeld && !hasEnded) readEnd.pause();
      else readEnd.resume();
    }
  }

  kill(end: ExecEnd): void {
    if (this.#cause !== undefined || this.#exitCode !== null) return;
    this.#cause = end;
    this.holdOutput(false);
    this.#killInit();
    // bwrap alone must not be killed while it sets up: its child would be orphaned. So wait for its report.
    this.#at(reportWithinMs, () => this.#launcher.child.kill("SIGKILL"));
    this.#at(unkillableAfterMs, this.#givenUp.resolve);
  }

  processes(): ProcessIdentity[] {
    const init = this.init();
    return init === undefined ? [] : listDescendants(init.pid);
  }

  init(): FirstProcess | undefined {
    return this.#init !== undefined && isAlive(this.#init) ? this.#init : undefined;
  }

  #killInit(): void {
    const init = this.init();
    try {
      if (init !== undefined) process.kill(init.pid, "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }

  /**
   * What bwrap itself says. The tenant cannot reach the status descriptor; should one ever do so, the first process has
   * been told of before anything of the tenant's runs, and nobody can name another one to be killed.
   */
  #onReport(report: unknown): void {
    if (typeof report !== "object" || report === null) return;
    if (this.#init === undefined && "child-pid" in report && "pid-namespace" in report) {
      const status = readProcessStatus(Number(report["child-pid"]));
      if (status !== undefined) {
        this.#init = { ...status, namespace: `pid:[${String(report["pid-namespace"])}]` };
        this.#entry.began(status);
      }
      if (this.#cause !== undefined) this.#killInit();
    }
    if ("exit-code" in report) {
      this.#exitCode = Number(report["exit-code"]);
      this.holdOutput(false);
      this.#at(unkillableAfterMs, this.#givenUp.resolve);
    }
  }

  #onOutput(stream: OutputStream, chunk: Buffer): void {
    this.#producedBytes += chunk.length;
    if (stream === "stderr") this.#lastWords = (this.#lastWords + chunk.toString("latin1")).slice(-300);
    this.#request.onOutput(stream, chunk);
    if (this.#producedBytes > this.#request.floodBytes) this.kill("output");
  }

  async #settle(): Promise<Ending> {
    // A program may have handed its end to a job of its thread.
    for (const { readEnd } of [this.#launcher.stdout, this.#launcher.stderr]) readEnd.destroy();
    // It goes with bwrap, unless somebody has taught it otherwise.
    this.#killInit();
    if (this.#cause === undefined && this.#exitCode !== 0) this.#cause = this.#group.exceeded();
    if (this.#init === undefined || (await isGone(this.#init))) {
      this.#group.release();
      this.#entry.ended();
    } else {
      this.#site.log(`process ${this.#init.pid} of a sandbox does not die; it hangs in the kernel`);
    }
    return this.#ending();
  }

  #ending(): Ending {
    if (this.#cause !== undefined) return { end: this.#cause, exitCode: null };
    if (this.#exitCode !== null) return { end: "exit", exitCode: this.#exitCode };
    const { child } = this.#launcher;
    if (child.signalCode !== null) {
      const problem = `The sandbox was killed from outside (${child.signalCode}), perhaps because the host ran out of memory.`;
      return { end: "failed", exitCode: null, problem };
    }
    if (/Resource temporarily unavailable/.test(this.#lastWords)) {
      const problem =
        "The command could not be started, because too many processes run already: end background jobs, or try again later.";
      return { end: "failed", exitCode: null, problem };
    }
    const said = this.#lastWords.trim().split("\n").at(-1) || `exit code ${child.exitCode}`;
    const problem = `The sandbox could not be set up (${said}); run \`heddle doctor\` to see why.`;
    return { end: "failed", exitCode: null, problem, said };
  }

  #at(ms: number, action: () => void): void {
    this.#timers.push(setTimeout(action, Math.min(ms, longestTimerMs)));
  }
}

function onLines(stream: Duplex, take: (line: string) => void): void {
  let rest = "";
  stream.on("data", (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split("\n");
    rest = lines.pop() ?? "";
    lines.forEach(take);
  });
}

/** The first look nearly always suffices: the kernel is done within the same millisecond. */
async function isGone(identity: ProcessIdentity): Promise<boolean> {
  const giveUpAt = performance.now() + unkillableAfterMs;
  for (let pause = 1; isAlive(identity); pause = Math.min(2 * pause, 50)) {
    if (performance.now() > giveUpAt) return false;
    await sleep(pause);
  }
  return true;
}
