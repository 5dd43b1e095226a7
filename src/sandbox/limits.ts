import { totalmem } from "node:os";

/**
 * What one thread may use of the machine. A limit that the tier in force cannot hold exactly is held by
 * watching (see bubblewrap/limits/); the probe's summary names the tier.
 */
export interface SandboxLimits {
  /** Wall time of a command whose request names none, in milliseconds. */
  commandMs: number;
  /** Wall time of any command, in milliseconds. */
  longestCommandMs: number;
  /** Wall time of a background job, in milliseconds. */
  jobMs: number;
  /** Output kept of a command whose request names no limit, in bytes; it is killed at 16 times as much. */
  outputBytes: number;
  /** Output kept of a background job, in bytes; it is killed at 16 times as much. */
  jobOutputBytes: number;
  /** Memory of a command with all its processes, in bytes. */
  memoryBytes: number;
  /** Private memory of a single process (RLIMIT_DATA), in bytes. */
  processMemoryBytes: number;
  /** Processes and threads of a command. */
  processes: number;
  /** Memory of a thread's commands and jobs together, in bytes. */
  threadMemoryBytes: number;
  /** Processes and threads of a thread's commands and jobs together. */
  threadProcesses: number;
  /** Memory of the commands and jobs of all threads of this process, in bytes. */
  allMemoryBytes: number;
  /** Processes and threads of the commands and jobs of all threads of this process. */
  allProcesses: number;
  /** CPUs of a command with all its processes; needs a cgroup tier. */
  cpus: number;
  /** Size of a single file, in bytes. */
  fileBytes: number;
  /** The thread's files (`/workspace`, `/tmp`, `/dev/shm`), in bytes on disk. */
  workspaceBytes: number;
  /** The thread's files, counted. */
  workspaceInodes: number;
  /** Free space of the host's disk below which no thread may grow its files, in bytes. */
  freeBytes: number;
  /** Background jobs of one thread that run at the same time. */
  jobsPerThread: number;
  /** Background jobs of all threads of this process that run at the same time. */
  jobs: number;
}

const mebibyte = 1024 * 1024;

/** Two commands at their limits for a thread, ten such threads, and a part of the machine that is not given away. */
export function deriveTotals({
  memoryBytes,
  processes,
}: Pick<SandboxLimits, "memoryBytes" | "processes">): Pick<
  SandboxLimits,
  "threadMemoryBytes" | "threadProcesses" | "allMemoryBytes" | "allProcesses"
> {
  // Where nothing constrains this process, Node says 0 or more than there is.
  const machineBytes = Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
  return {
    threadMemoryBytes: 2 * memoryBytes,
    threadProcesses: 2 * processes,
    allMemoryBytes: Math.floor((machineBytes * 3) / 4 / mebibyte) * mebibyte,
    allProcesses: 20 * processes,
  };
}

const perCommand = { memoryBytes: 2048 * mebibyte, processes: 200 };

export const defaultLimits: SandboxLimits = {
  commandMs: 120_000,
  longestCommandMs: 600_000,
  jobMs: 6 * 3_600_000,
  outputBytes: 4 * mebibyte,
  jobOutputBytes: 8 * mebibyte,
  ...perCommand,
  ...deriveTotals(perCommand),
  processMemoryBytes: 1024 * mebibyte,
  cpus: 2,
  fileBytes: 256 * mebibyte,
  workspaceBytes: 4096 * mebibyte,
  workspaceInodes: 400_000,
  freeBytes: 512 * mebibyte,
  jobsPerThread: 4,
  jobs: 32,
};
