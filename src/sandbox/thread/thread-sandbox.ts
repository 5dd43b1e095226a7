import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Egress } from "../egress/egress.ts";
import type { Mirrors } from "../mirrors/mirrors.ts";
import { type Claim, type Job, type Sandbox, workspaceRoot } from "../sandbox.ts";
import { createFileChanges } from "./changes.ts";
import type { DiskFloor } from "./disk-floor.ts";
import { createExec, floodFactor, insideFolder, type Preparation, refusalOf, shorten } from "./exec.ts";
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
import type { ToolChains } from "./tool-chains.ts";

/** Wall time of a file operation, in milliseconds. */
const fileOperationMs = 60_000;

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
  toolChains?: ToolChains;
  /** What this host keeps of repositories; absent where nothing is kept. */
  mirrors?: Mirrors;
  /** Keeps the files as they are before a turn; never rejects. Absent where none are kept. */
  keepFiles?: ((folder: ThreadFolder, turn: string, signal: AbortSignal) => Promise<unknown>) | undefined;
}

/** The sandbox of one thread in this process. */
export interface ThreadSandbox extends Sandbox {
  /** The same for somebody who works on this claim. */
  on(claim: Claim | undefined): Sandbox;
  /** Whether a command, a job or a file operation runs. */
  busy(): boolean;
  /** Whether one of the first two does. */
  working(): boolean;
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
  const thread: ThreadParts = { deps, threadId, folder, programs, jobs, changes, checkpoint };
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
    working: programs.isWorking,
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
  threadId: string;
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
  { deps, threadId, folder, programs, jobs, changes, checkpoint }: ThreadParts,
  claim: Claim | undefined,
): Pick<Sandbox, "exec" | "start" | "expose"> {
  const { host, spawner } = deps;
  const { limits } = host;

  const exec = createExec({ deps, threadId, folder, programs, claim, prepare });

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
    alongside,
  }: Preparation): Promise<Ending | undefined> | undefined {
    const opening = opensNetwork ? programs.openNetwork() : undefined;
    const noting = changes.ensureNote();
    const keeping = mayWrite ? checkpoint.ensureKept() : undefined;
    if (!opening && !noting && !keeping && !alongside) return undefined;
    const before = programs.kills();
    return Promise.all([opening, noting, keeping, alongside]).then(() =>
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
