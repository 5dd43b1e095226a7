import { rm } from "node:fs/promises";
import { join, posix } from "node:path";
import type { Egress } from "../egress/egress.ts";
import {
  type Claim,
  type ExecRequest,
  type ExecResult,
  type Job,
  type Sandbox,
  workspaceRoot,
} from "../sandbox.ts";
import { createFileChanges } from "./changes.ts";
import type { DiskFloor } from "./disk-floor.ts";
import { createExposing } from "./expose.ts";
import { createFileTools, type RunScript } from "./files.ts";
import type { Host, ThreadFolder } from "./host.ts";
import { createJobTable, type JobCount, type JobTable } from "./job-table.ts";
import { startJob } from "./jobs.ts";
import type { ThreadNetwork } from "./network.ts";
import { collectOutput } from "./output.ts";
import { createProgramRunner, type ProgramRunner } from "./program-runner.ts";
import { shellCommand } from "./shell.ts";
import type { LaunchRequest, Ending, Spawner } from "./spawner.ts";

/** A command may produce this many times what is kept before it is killed. */
const floodFactor = 16;
/** Wall time of a file operation, in milliseconds. */
const fileOperationMs = 60_000;
/** MAX_ARG_STRLEN of Linux: the longest single argument in bytes, with its NUL, is 128 KiB. */
const longestCommandBytes = 128 * 1024 - 1;
const shownCharacters = 120;

/** What the sandboxes of all threads share. */
export interface SandboxDeps {
  host: Host;
  spawner: Spawner;
  floor: DiskFloor;
  jobCount: JobCount;
  egress: Egress;
  /** bwrap arguments for what the operator shows to every sandbox, as of now. */
  shown(): readonly string[];
  networkOf(threadId: string, folder: ThreadFolder): ThreadNetwork;
  /** Keeps the files as they are before a turn; never rejects. Absent where none are kept. */
  keepFiles?: ((folder: ThreadFolder, turn: string, signal: AbortSignal) => Promise<unknown>) | undefined;
}

/** The sandbox of one thread in this process. */
export interface ThreadSandbox extends Sandbox {
  /** The same for somebody who works on this claim. */
  on(claim: Claim | undefined): Sandbox;
  /** Whether a command, a job or a file operation runs. */
  busy(): boolean;
  /** Ends what the thread does by itself (looking at its disk). False when something else runs. */
  quiesce(): Promise<boolean>;
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
  const { limits } = deps.host;
  const network = deps.networkOf(threadId, folder);
  const programs = createProgramRunner({ ...deps, threadId, folder, network });
  const jobs = createJobTable(limits, deps.jobCount);
  const changes = createFileChanges(createScriptRunner(programs, folder));
  const checkpoint = createTurnCheckpoint((turn, signal) => deps.keepFiles?.(folder, turn, signal));
  const thread: ThreadParts = { deps, folder, programs, jobs, changes, checkpoint };
  const on = (claim: Claim | undefined): Sandbox => ({
    ...createCommands(thread, claim),
    ...createWriting(thread, claim),
    jobs: jobs.list,
    noteFiles(turn) {
      changes.noteFiles(turn);
      checkpoint.begin(turn);
    },
    changes: changes.changes,
    async killAll() {
      const [report] = await Promise.all([programs.killAll(), checkpoint.cancel()]);
      return report;
    },
  });
  return {
    ...on(undefined),
    on,
    busy: programs.isBusy,
    quiesce: programs.quiesce,
    touched: programs.takeTouched,
    async close() {
      await programs.close();
      await jobs.close();
    },
  };
}

/** What those who work for one thread share. */
interface ThreadParts {
  deps: SandboxDeps;
  folder: ThreadFolder;
  programs: ProgramRunner;
  jobs: JobTable;
  changes: ReturnType<typeof createFileChanges>;
  checkpoint: TurnCheckpoint;
}

/** Keeps the files of a turn before the first thing in it that may write. */
interface TurnCheckpoint {
  begin(turn: string): void;
  /** What whoever may write has to wait for; undefined when that is nothing. */
  ensureKept(): Promise<unknown> | undefined;
  /** Ends what is under way. */
  cancel(): Promise<void>;
}

function createTurnCheckpoint(
  keep: (turn: string, signal: AbortSignal) => Promise<unknown> | undefined,
): TurnCheckpoint {
  let current: { turn: string; kept?: Promise<unknown> | undefined; isKept: boolean } | undefined;
  let aborter = new AbortController();
  return {
    begin(turn) {
      if (current?.turn !== turn) current = { turn, isKept: false };
    },
    ensureKept() {
      const began = current;
      if (!began || began.isKept) return undefined;
      began.kept ??= keep(began.turn, aborter.signal)?.then(() => (began.isKept = true));
      return began.kept;
    },
    async cancel() {
      if (!current?.kept || current.isKept) return;
      aborter.abort();
      aborter = new AbortController();
      await current.kept;
    },
  };
}

/** The file operations of somebody who works on this claim. */
function createWriting(
  { deps: { host }, folder, programs, checkpoint }: ThreadParts,
  claim: Claim | undefined,
): Pick<Sandbox, "readFile" | "writeFile" | "listFiles"> {
  const tools = createFileTools(createScriptRunner(programs, folder, claim), host.limits);
  return {
    ...tools,
    async writeFile(...request) {
      const before = programs.kills();
      await checkpoint.ensureKept();
      if (programs.kills() !== before)
        return { ok: false, reason: "failed", message: "The thread was stopped." };
      return tools.writeFile(...request);
    },
  };
}

/** What a job runs, inside the sandbox. */
type JobProgram = Pick<LaunchRequest, "program" | "cwd"> &
  Partial<Pick<LaunchRequest, "view" | "environment">>;

/** Commands, and jobs, of somebody who works on this claim. */
function createCommands(
  { deps: { host, spawner }, folder, programs, jobs, changes, checkpoint }: ThreadParts,
  claim: Claim | undefined,
): Pick<Sandbox, "exec" | "start" | "expose"> {
  const { limits } = host;

  async function exec(request: ExecRequest): Promise<ExecResult> {
    const startedAt = performance.now();
    const keptBytes = request.maxOutputBytes ?? limits.outputBytes;
    const output = collectOutput(keptBytes);
    let ending = refusalOf(request);
    const { isReadOnly = false, isUncalled = false } = request;
    const preparation = ending
      ? undefined
      : prepare({ opensNetwork: programs.hasEgress && !isReadOnly, mayWrite: !isReadOnly && !isUncalled });
    if (preparation) ending = await preparation;
    ending ??= await programs.start(
      {
        program: shellCommand(request.command),
        cwd: insideFolder(request.cwd),
        ...(request.environment && { environment: request.environment }),
        timeoutMs: Math.min(request.timeoutMs ?? limits.commandMs, limits.longestCommandMs),
        floodBytes: keptBytes * floodFactor,
        signal: request.signal,
        onOutput(stream, chunk) {
          output.take(stream, chunk);
          request.onOutput?.(chunk);
        },
        ...(isReadOnly && { isAlone: true, view: ["--ro-bind", join(folder.path, "ws"), workspaceRoot] }),
      },
      isUncalled
        ? { kind: "files", claim, text: "" }
        : { kind: "command", claim, text: shorten(request.command) },
    ).ended;
    const { end, exitCode, problem } = ending;
    const durationMs = performance.now() - startedAt;
    return { end, exitCode, ...output.result(), durationMs, ...(problem !== undefined && { problem }) };
  }

  async function start({
    command,
    cwd,
    environment,
  }: Parameters<Sandbox["start"]>[0]): ReturnType<Sandbox["start"]> {
    const refusal =
      refusalOf({ command, ...(cwd !== undefined && { cwd }) })?.problem ??
      jobs.findObstacle() ??
      // What a job serves is to be found by the next command.
      ((await prepare({ opensNetwork: true, mayWrite: true })) && "The thread was stopped.") ??
      jobs.findObstacle();
    if (refusal !== undefined) return { ok: false, message: refusal };
    const program = shellCommand(command);
    return {
      ok: true,
      job: addJob(command, { program, cwd: insideFolder(cwd), ...(environment && { environment }) }),
    };
  }

  function addJob(title: string, request: JobProgram): Job {
    return jobs.add(() =>
      startJob({
        command: title,
        folder: join(host.root, "jobs"),
        maxOutputBytes: limits.jobOutputBytes,
        launch: (onOutput) =>
          programs.start(
            {
              ...request,
              mergeOutput: true,
              timeoutMs: limits.jobMs,
              floodBytes: limits.jobOutputBytes * floodFactor,
              onOutput,
            },
            { kind: "job", claim, text: shorten(title) },
          ),
        kill: (launched) => spawner.proveDead([launched]),
      }),
    );
  }

  /**
   * Does what must be done before a command; undefined when that is nothing. A stop in the meantime counts for what was
   * to follow.
   */
  function prepare({
    opensNetwork,
    mayWrite,
  }: {
    opensNetwork: boolean;
    mayWrite: boolean;
  }): Promise<Ending | undefined> | undefined {
    const opening = opensNetwork ? programs.openNetwork() : undefined;
    const noting = changes.ensureNote();
    const keeping = mayWrite ? checkpoint.ensureKept() : undefined;
    if (!opening && !noting && !keeping) return undefined;
    const before = programs.kills();
    return Promise.all([opening, noting, keeping]).then(() =>
      programs.kills() === before ? undefined : { end: "stopped", exitCode: null },
    );
  }

  const expose = createExposing({
    ...{ host, folder, programs, jobs, claim },
    openNetwork: () => prepare({ opensNetwork: true, mayWrite: false }),
    start: ({ title, program }, view) => addJob(title, { program, cwd: workspaceRoot, view }),
  });

  return { exec, start, expose };
}

/** What is told of a command: enough to know it by. */
function shorten(command: string): string {
  const [line = ""] = command.trim().split("\n");
  return line.length > shownCharacters ? `${line.slice(0, shownCharacters - 1)}…` : line;
}

/** Runs the scripts of file operations, and removes what one that was cut off has staged. */
function createScriptRunner(programs: ProgramRunner, folder: ThreadFolder, claim?: Claim): RunScript {
  return async (request) => {
    const output = collectOutput(request.maxOutputBytes);
    const { ended } = programs.start(
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
      { kind: "files", claim, text: "" },
    );
    const ending = await ended;
    if (request.staged && ending.exitCode !== 0) {
      await rm(join(folder.path, "new", request.staged), { force: true });
    }
    return { ...ending, ...output.result() };
  };
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
