/**
 * The contract of a sandbox: one thread's isolated workspace and the only way to run or touch anything in it.
 *
 * Everything that comes back (output, file names, file content) is controlled by whoever steers the agent:
 * treat it as bytes, cap it, and never use it as a path of the host.
 *
 * Paths are those of the inside: absolute under {@link workspaceRoot} or `/tmp`, or relative to the workspace.
 * Under {@link skillsRoot} they can be read and not written.
 */

import type { Socket } from "node:net";
import type { Checkpoints } from "./checkpoints.ts";
import type { ServiceHost } from "./service.ts";

/** Where the thread's workspace is mounted, the same in every sandbox. */
export const workspaceRoot = "/workspace";

/** Where the operator's skills are mounted in every sandbox, read-only, one folder a skill. */
export const skillsRoot = "/skills";

/** Exit code of a command that could do nothing with the mirror of its {@link ExecRequest.repository}. */
export const unusableMirror = 75;

/** The variable that names the folder of {@link ExecRequest.hasOwnFolder}. */
export const ownFolderVariable = "HEDDLE_OWN";

export interface ExecRequest {
  /** Run by `bash -c`; never interpolated into another shell string. */
  command: string;
  /** Default: the workspace. */
  cwd?: string;
  /** Variables of this command beside those that every command has. */
  environment?: Readonly<Record<string, string>>;
  /** Wall time in milliseconds. Default: the operator's limit. */
  timeoutMs?: number;
  /** Output kept, in bytes; the command is killed at 16 times as much. Default: the operator's limit. */
  maxOutputBytes?: number;
  signal?: AbortSignal;
  /** A look at the files that nobody has called for: what a stop ends, and what is measured, does not count it. */
  isUncalled?: boolean;
  /** It can write nothing but `/tmp`, and reaches neither the network nor the thread's own servers. */
  isReadOnly?: boolean;
  /**
   * While it runs it may write in a folder that no command of the thread sees otherwise, under the name that
   * {@link ownFolderVariable} has. What it makes there it removes. Absent where commands are not isolated.
   */
  hasOwnFolder?: boolean;
  /**
   * The address of a repository of the thread's: what this host keeps of it (src/sandbox/mirrors) is brought up to date and
   * lies read-only in the folder that `HEDDLE_MIRROR` names while the command runs, if the host can keep any. A command
   * that can make nothing of it ends with {@link unusableMirror}. Where a clone of it is ready, that lies in the folder of the
   * workspace that `HEDDLE_READY` names, and the command moves it to where it is wanted; otherwise it is taken away again.
   */
  repository?: string;
  /**
   * Beside `repository`, where that has a set-up: what it makes of this commit lies likewise in the folder that
   * `HEDDLE_SET_UP` names, as one archive in pieces `part-…`. `content` is the same for commits that share it: the commit's
   * id, or the hash of what `git ls-tree` says of the set-up's files.
   */
  setUpOf?: { commit: string; content: string };
  /** Both streams as they come, for live display. */
  onOutput?(chunk: Buffer): void;
}

/** What ended a command. `stopped`: its signal was aborted. `failed`: the sandbox itself could not run it. */
export type ExecEnd = "exit" | "timeout" | "memory" | "processes" | "output" | "disk" | "stopped" | "failed";

export interface ExecResult {
  end: ExecEnd;
  /** The exit code; 128 + n for signal n; null unless `end` is `exit`. */
  exitCode: number | null;
  stdout: Buffer;
  stderr: Buffer;
  /** Bytes that were produced and not kept. */
  droppedBytes: number;
  durationMs: number;
  /** For `failed`: what happened and what to do, in one sentence. */
  problem?: string;
}

/** A command that runs on after the call that started it. */
export interface Job {
  /** Short and unique within the thread. */
  readonly id: string;
  readonly command: string;
  readonly startedAt: number;
  status(): JobStatus;
  /**
   * Output from byte `offset` on, at most `maxBytes`; `next` is the offset to read from later. The end of a long output
   * is kept: `data`, which ends at `next`, begins later where the bytes at `offset` are kept no longer. `total` counts all.
   */
  read(offset: number, maxBytes: number): Promise<{ data: Buffer; next: number; total: number }>;
  /** Resolves when the job has ended and its output is complete. */
  wait(): Promise<JobStatus>;
  kill(): Promise<KillReport>;
}

export type JobStatus =
  | { state: "running" }
  | { state: "ended"; end: ExecEnd; exitCode: number | null; endedAt: number };

/** What a kill found. `survivors` is counted after the kill by looking again, and is 0 unless something is wrong. */
export interface KillReport {
  /** Commands (foreground and background) that were running. */
  commands: number;
  /** Processes of those commands that were alive. */
  processes: number;
  survivors: number;
}

/** Where nothing was running. */
export const nothingKilled: KillReport = { commands: 0, processes: 0, survivors: 0 };

/** The right to work for a thread: one claim of its session. */
export interface Claim {
  /** When the session was begun, ms: a thread whose session has expired counts its claims from the start. */
  created: number;
  /** Greater with each claim; the time of the claim where nothing has set the clock back, ms. */
  epoch: number;
}

/** Below 0 when the first one is older. */
export function compareClaims(one: Claim, other: Claim): number {
  return one.created - other.created || one.epoch - other.epoch;
}

/** What of a thread can be shown outside: what answers on a port of its loopback, or the files of a folder. */
export type Exposure = { port: number } | { folder: string };

/** Something of the thread's that can be connected to, for as long as its background job runs. */
export interface Exposed {
  /** Ends with a stop, as every job; killing it ends the exposure and its connections. */
  readonly job: Job;
  /** A new connection, which speaks HTTP where a folder is shown. Errors come as events of the socket. */
  connect(): Socket;
}

export type FileFailure = {
  ok: false;
  reason:
    | "not-found"
    | "is-directory"
    | "not-a-file"
    | "denied"
    | "conflict"
    | "too-large"
    | "disk-full"
    | "failed";
  /** One sentence for the model. */
  message: string;
};

export interface FileEntry {
  /** Relative to the workspace. */
  path: string;
  type: "file" | "directory" | "link" | "other";
  bytes: number;
}

/** Paths relative to the workspace, sorted. */
export interface FileChanges {
  /** Written, or changed otherwise; the first 10,000. */
  changed: string[];
  /** Files that were noted and are no longer there. Nothing is noted of a workspace with more than 10,000. */
  deleted: string[];
}

export interface Sandbox {
  exec(request: ExecRequest): Promise<ExecResult>;
  /** Refuses with a sentence when the thread has too many jobs. */
  start(
    request: Pick<ExecRequest, "command" | "cwd" | "environment">,
  ): Promise<{ ok: true; job: Job } | { ok: false; message: string }>;
  jobs(): readonly Job[];
  /**
   * Makes a port or a folder reachable from this process, and from nowhere else. Refuses with a sentence when nothing
   * answers there, there are too many jobs, or commands have no network of their own.
   */
  expose(
    what: Exposure,
    signal?: AbortSignal,
  ): Promise<{ ok: true; exposed: Exposed } | { ok: false; message: string }>;
  /** Reads bytes; default at most 16 MiB. `sha256` comes when `data` is the whole file. */
  readFile(
    path: string,
    options?: { offset?: number; maxBytes?: number; signal?: AbortSignal },
  ): Promise<{ ok: true; data: Buffer; size: number; truncated: boolean; sha256?: string } | FileFailure>;
  /**
   * Writes the whole file atomically, creating folders. With `ifSha256` only when the file still has that
   * content (`null`: only when it does not exist); otherwise `conflict`.
   */
  writeFile(
    path: string,
    data: Uint8Array,
    options?: { ifSha256?: string | null; signal?: AbortSignal },
  ): Promise<{ ok: true; sha256: string } | FileFailure>;
  /**
   * Files below `path`, depth first, sorted by path, at most `limit` (default 1,000), without `.git` insides. With
   * `glob` only the files that match, without folders. `leaveOutIgnored`: not what a `.gitignore` names.
   */
  listFiles(
    path?: string,
    options?: { limit?: number; glob?: string; leaveOutIgnored?: boolean; signal?: AbortSignal },
  ): Promise<{ ok: true; entries: FileEntry[]; truncated: boolean } | FileFailure>;
  /**
   * Has the next command, or job, wait until it is noted which files there are, and what may write wait until they are
   * kept for an undo. Once for a turn.
   */
  noteFiles(turn: string): void;
  /**
   * What has happened to the files of the workspace, without `.git` insides. Forgets the note.
   *
   * @param since only files count as changed that say that they were modified after the first time (ms), as who writes
   * them may choose, or that did change after the second
   */
  changes(since: { modified: number; changed: number }): Promise<({ ok: true } & FileChanges) | FileFailure>;
  /** Ends every process of the thread, foreground and background, and proves it. */
  killAll(): Promise<KillReport>;
}

/** A check that failed at start, with its fix. */
export interface Problem {
  what: string;
  fix: string;
}

export interface Probe {
  ok: boolean;
  /** One line for the log: the back end and its version, limits in force. */
  summary: string;
  problems: Problem[];
  /** Those of {@link usefulPrograms} that commands do not find. Nothing is broken without them. */
  missing: readonly string[];
}

/** Programs that are on no host for sure, and that tools and skills work better with. */
export const usefulPrograms = ["git", "node", "pdftotext", "python3"] as const;

/** A thread's workspace, on this host or as an archive. */
export interface WorkspaceInfo {
  threadId: string;
  /** Milliseconds since the epoch. */
  usedAt: number;
  /** Where its files lie; absent when it is an archive. */
  folder?: string;
}

export interface CleanReport {
  /** Threads whose workspace was archived and removed; the next use restores it. */
  archived: string[];
  /** Threads whose archive was removed. */
  forgotten: string[];
  /** Threads whose workspace could not be archived and was left as it is. */
  failed: string[];
}

/** What the operator does with workspaces. */
export interface Workspaces {
  /** Last used first. */
  list(): Promise<WorkspaceInfo[]>;
  /** Writes the workspace to a file of the host as tar; false when the thread has none. */
  export(threadId: string, file: string): Promise<boolean>;
  /**
   * Removes the workspace and its archive for good, unless they were used after `before` (ms since the epoch). False, and
   * nothing is done, while something runs there.
   */
  remove(threadId: string, before: number): Promise<boolean>;
  /**
   * Archives what was idle for `idleMs`, and removes archives that are older than `archiveMs`. Undefined, and nothing
   * done, while another process cleans up here.
   */
  clean(policy: { idleMs: number; archiveMs: number }): Promise<CleanReport | undefined>;
}

/** That Redis knew of no newer claim, or stop, of the thread when it was asked. */
export interface Confirmation {
  /** When it was asked, before that was sent: `monotonicMs()`. */
  at: number;
  /** The claim that it knew; absent where no turn runs and only background jobs are meant. */
  claim?: Claim | undefined;
}

/** What a host runs for threads. Workers that share a host and its data see and end each other's. */
export interface HostProcesses {
  /** Who has the same sees the same processes; undefined where nobody else's can be seen. */
  place(): string | undefined;
  /**
   * Ends what older claims of the thread have running here, background jobs left out, and sees it dead. From here on
   * nothing starts on an older claim, also not what was on its way. Undefined where nothing can be seen.
   */
  takeOver(threadId: string, claim: Claim): Promise<KillReport | undefined>;
  /**
   * Ends what this process has started for the thread on that claim or an older one, background jobs left out, and sees
   * it dead. Undefined where nothing can be seen.
   */
  endOwn(threadId: string, claim: Claim): Promise<KillReport | undefined>;
  /** Ends whatever runs here for the thread, also what other workers have started, and sees it dead. */
  endAll(threadId: string): Promise<KillReport | undefined>;
  /** What this process runs for the thread may run on: it ends by itself when that was too long ago. */
  confirm(threadId: string, confirmation: Confirmation): void;
}

/** Where nothing runs. */
export const noProcesses: HostProcesses = {
  place: () => undefined,
  takeOver: async () => undefined,
  endOwn: async () => undefined,
  endAll: async () => undefined,
  confirm() {},
};

export interface SandboxBackend extends ServiceHost {
  readonly name: string;
  /** Runs real sandboxes with canaries. Never throws. */
  probe(): Promise<Probe>;
  /**
   * The thread's sandbox. The same `threadId` gives the same workspace, in every process of this host, and on
   * every host that shares a workspace store. To be called when a turn begins: it brings the files up to date.
   *
   * @param claim on which it works: nothing is started any more once this host knows of a newer one
   */
  open(threadId: string, claim?: Claim): Promise<Sandbox>;
  /** The thread's sandbox where it is open already, so that something may be running in it. `at`: since when, ms. */
  opened(threadId: string): { sandbox: Sandbox; at: number } | undefined;
  /** What this host runs for threads, whichever of its processes has started it. */
  readonly processes: HostProcesses;
  /** Saves the files for other hosts. To be called when a turn has ended; does nothing without a shared store. */
  settle(threadId: string): Promise<void>;
  /** @throws where the back end cannot work, naming the problems */
  workspaces(): Promise<Workspaces>;
  /** What is kept for an undo; undefined where nothing is. @throws where the back end cannot work */
  checkpoints?(): Promise<Checkpoints | undefined>;
  /** For the model: what is particular about the thread's sandbox (reachable hosts, missing walls). Often empty. */
  note(threadId: string): string;
  /** Kills what is left and releases everything. */
  close(): Promise<void>;
}
