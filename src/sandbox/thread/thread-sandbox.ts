import { rm } from "node:fs/promises";
import { join, posix } from "node:path";
import type { Egress } from "../egress/egress.ts";
import type { EgressPolicy } from "../egress/policy.ts";
import { type ExecRequest, type ExecResult, type Sandbox, workspaceRoot } from "../sandbox.ts";
import { createFileChanges } from "./changes.ts";
import { watchDisk } from "./disk.ts";
import { createFileTools, type ScriptRequest } from "./files.ts";
import type { Host, ThreadFolder } from "./host.ts";
import { startJob, type TrackedJob } from "./jobs.ts";
import { buildProxyVariables, type ThreadNetwork } from "./network.ts";
import { collectOutput } from "./output.ts";
import { shellCommand } from "./shell.ts";
import type { Ending, Launched, Spawner, SpawnRequest } from "./spawner.ts";

/** A command may produce this many times what is kept before it is killed. */
const floodFactor = 16;
/** Wall time of a file operation, in milliseconds. */
const fileOperationMs = 60_000;
/** MAX_ARG_STRLEN of Linux: the longest single argument in bytes, with its NUL, is 128 KiB. */
const longestCommandBytes = 128 * 1024 - 1;
/** Ended jobs of a thread whose output can still be read. */
const endedJobsKept = 16;
/** How bash reports a child that SIGXFSZ (25) killed for growing a file beyond its limit. */
const fileLimitExitCode = 128 + 25;

/** Background jobs of all threads that run now. */
export interface JobCount {
  running: number;
}

/** How long a thread's network stays when nothing runs in it, in milliseconds. */
const idleNetworkMs = 30_000;

/** What the sandboxes of all threads share. */
export interface SandboxDeps {
  host: Host;
  spawner: Spawner;
  jobCount: JobCount;
  egress: Egress;
  /** bwrap arguments for what the operator shows to every sandbox, as of now. */
  shown(): readonly string[];
  networkOf(threadId: string, folder: ThreadFolder): ThreadNetwork;
}

/** The sandbox of one thread in this process. */
export interface ThreadSandbox extends Sandbox {
  /** Whether a command, a job or a file operation runs. */
  busy(): boolean;
  /** Ends what the thread does by itself (looking at its disk). False when something else runs. */
  rest(): Promise<boolean>;
  /** Whether something may have written since this was asked before. */
  touched(): boolean;
  /** Kills everything and forgets the jobs. */
  close(): Promise<void>;
}

export function createThreadSandbox(
  deps: SandboxDeps,
  threadId: string,
  folder: ThreadFolder,
): ThreadSandbox {
  const { host, spawner, jobCount, egress } = deps;
  const { limits } = host;
  /** With what they are: a look at the files, also by somebody at the console, is no command to report. */
  const running = new Map<Launched, "command" | "files">();
  const jobs: TrackedJob[] = [];
  const changes = createFileChanges(runScript);
  const disk = watchDisk(host, spawner, folder);
  const policy = egress.policyOf(threadId);
  const network = deps.networkOf(threadId, folder);
  const variables = policy ? buildProxyVariables(gitRewrites(policy)) : [];
  let idle: NodeJS.Timeout | undefined;
  let stops = 0;
  let touched = false;

  /** Starts a program that may write as much as the disk allows. */
  function begin(request: Omit<SpawnRequest, "fileBytes">, what: "command" | "files"): Launched {
    // A thread whose disk is full can still read and delete.
    const full = disk.full();
    const joins = network.current();
    const started = spawner.launch(folder, {
      ...request,
      view: [...deps.shown(), ...(policy && joins ? variables : []), ...(request.view ?? [])],
      joins,
      fileBytes: full ? 0 : limits.fileBytes,
    });
    clearTimeout(idle);
    running.set(started, what);
    touched = true;
    const watch = disk.during(() => started.kill("disk"));
    const ended = started.ended.then(async (ending): Promise<Ending> => {
      running.delete(started);
      if (running.size === 0) idle = setTimeout(() => void network.close(), idleNetworkMs).unref();
      watch.stop();
      if (ending.end === "stopped") return ending; // Nothing of the thread may run now, not even a look.
      const look = disk.look();
      if (!full) return ending;
      await look; // What was deleted makes room for the next command.
      return ending.exitCode === fileLimitExitCode ? { end: "disk", exitCode: null } : ending;
    });
    return { ...started, ended };
  }

  async function exec(request: ExecRequest): Promise<ExecResult> {
    const startedAt = performance.now();
    const keptBytes = request.maxOutputBytes ?? limits.outputBytes;
    const output = collectOutput(keptBytes);
    let ending = refusalOf(request);
    const preparation = ending ? undefined : preparing({ opensNetwork: policy !== undefined });
    if (preparation) ending = await preparation;
    ending ??= await begin(
      {
        program: shellCommand(request.command),
        cwd: insideFolder(request.cwd),
        timeoutMs: Math.min(request.timeoutMs ?? limits.commandMs, limits.longestCommandMs),
        floodBytes: keptBytes * floodFactor,
        signal: request.signal,
        onOutput(stream, chunk) {
          output.take(stream, chunk);
          request.onOutput?.(chunk);
        },
      },
      "command",
    ).ended;
    const { end, exitCode, problem } = ending;
    const durationMs = performance.now() - startedAt;
    return { end, exitCode, ...output.result(), durationMs, ...(problem !== undefined && { problem }) };
  }

  async function runScript(request: ScriptRequest) {
    const output = collectOutput(request.maxOutputBytes);
    const { ended } = begin(
      {
        program: shellCommand(request.script, request.arguments),
        cwd: workspaceRoot,
        stdin: request.stdin,
        timeoutMs: fileOperationMs,
        floodBytes: request.maxOutputBytes,
        signal: request.signal,
        onOutput: output.take,
        ...(request.staged && { view: ["--bind", folder.path, `/${request.staged}`] }),
      },
      "files",
    );
    const ending = await ended;
    if (request.staged && ending.end !== "exit") {
      await rm(join(folder.path, "new", request.staged), { force: true });
    }
    return { ...ending, ...output.result() };
  }

  async function start(request: { command: string; cwd?: string }): ReturnType<Sandbox["start"]> {
    const refusal =
      refusalOf(request)?.problem ??
      tooManyJobs() ??
      // What a job serves is to be found by the next command.
      ((await preparing({ opensNetwork: true })) && "The thread was stopped.") ??
      tooManyJobs();
    if (refusal !== undefined) return { ok: false, message: refusal };
    jobCount.running += 1;
    const tracked = startJob({
      command: request.command,
      folder: join(host.root, "jobs"),
      maxOutputBytes: limits.jobOutputBytes,
      launch: (onOutput) =>
        begin(
          {
            program: shellCommand(request.command),
            cwd: insideFolder(request.cwd),
            mergeOutput: true,
            timeoutMs: limits.jobMs,
            floodBytes: limits.jobOutputBytes * floodFactor,
            onOutput,
          },
          "command",
        ),
      kill: (launched) => spawner.proveDead([launched]),
    });
    jobs.push(tracked);
    void tracked.job.wait().then(async () => {
      jobCount.running -= 1;
      const ended = jobs.filter(({ job }) => job.status().state === "ended");
      if (ended.length > endedJobsKept) await forget(ended[0]);
    });
    return { ok: true, job: tracked.job };
  }

  /**
   * Does what must be done before a command; undefined when that is nothing. A stop in the meantime counts for what was
   * to follow.
   */
  function preparing({ opensNetwork }: { opensNetwork: boolean }): Promise<Ending | undefined> | undefined {
    const opens = opensNetwork && network.current() === undefined;
    if (opens) clearTimeout(idle); // It was to close an earlier one.
    const opening = opens ? network.open() : undefined;
    const noting = changes.noting();
    if (!opening && !noting) return undefined;
    const before = stops;
    return Promise.all([opening, noting]).then(() =>
      stops === before ? undefined : { end: "stopped", exitCode: null },
    );
  }

  function tooManyJobs(): string | undefined {
    const mine = jobs.filter(({ job }) => job.status().state === "running").length;
    if (mine >= limits.jobsPerThread) {
      return `This thread already runs ${mine} background jobs, which is the limit; kill one or wait for its end.`;
    }
    if (jobCount.running >= limits.jobs) {
      return `All ${limits.jobs} background jobs of this server are taken by other threads; try again later.`;
    }
    return undefined;
  }

  async function forget(tracked: TrackedJob | undefined): Promise<void> {
    if (tracked === undefined) return;
    jobs.splice(jobs.indexOf(tracked), 1);
    await tracked.release();
  }

  async function killAll(): ReturnType<Sandbox["killAll"]> {
    stops += 1;
    const all = [...running];
    const end = (kind: "command" | "files") =>
      spawner.proveDead(all.flatMap(([launched, what]) => (what === kind ? [launched] : [])));
    const [commands, files] = await Promise.all([end("command"), end("files"), disk.cancel()]);
    await network.close();
    return { ...commands, survivors: commands.survivors + files.survivors };
  }

  return {
    exec,
    start,
    jobs: () => jobs.map(({ job }) => job),
    ...createFileTools(runScript, limits),
    noteFiles: changes.noteFiles,
    changes: changes.changes,
    killAll,
    busy: () => running.size > 0,
    async rest() {
      if (running.size === 0) await disk.cancel();
      return running.size === 0;
    },
    touched() {
      const before = touched;
      touched = false;
      return before;
    },
    async close() {
      clearTimeout(idle);
      await killAll();
      await Promise.all(jobs.map(({ job }) => job.wait()));
      await Promise.all([...jobs].map(forget));
    },
  };
}

/** Lets git use a host with a credential as it is usually named: the proxy takes plain http there. */
function gitRewrites({ credentials }: EgressPolicy): Record<string, string> {
  const rewrites = credentials.flatMap(({ host }, index) => [
    [`GIT_CONFIG_KEY_${index}`, `url.http://${host}/.insteadOf`],
    [`GIT_CONFIG_VALUE_${index}`, `https://${host}/`],
  ]);
  return { ...Object.fromEntries(rewrites), GIT_CONFIG_COUNT: String(credentials.length) };
}

function insideFolder(cwd: string | undefined): string {
  return posix.resolve(workspaceRoot, cwd ?? ".");
}

/** Why a command is not even started. */
function refusalOf(request: { command: string; cwd?: string }): Ending | undefined {
  if (Buffer.byteLength(request.command) > longestCommandBytes) {
    const problem =
      "The command is longer than 128 KiB, the limit of Linux; write it to a file and run that.";
    return { end: "failed", exitCode: null, problem };
  }
  if (`${request.command}${request.cwd}`.includes("\0")) {
    const problem = "The command or its folder contains a NUL character, which no command line can hold.";
    return { end: "failed", exitCode: null, problem };
  }
  return undefined;
}
