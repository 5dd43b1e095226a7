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

export const defaultLimits: SandboxLimits = {
  commandMs: 120_000,
  longestCommandMs: 600_000,
  jobMs: 6 * 3_600_000,
  outputBytes: 4 * mebibyte,
  jobOutputBytes: 8 * mebibyte,
  memoryBytes: 2048 * mebibyte,
  processMemoryBytes: 1024 * mebibyte,
  processes: 200,
  cpus: 2,
  fileBytes: 256 * mebibyte,
  workspaceBytes: 4096 * mebibyte,
  workspaceInodes: 400_000,
  freeBytes: 512 * mebibyte,
  jobsPerThread: 4,
  jobs: 32,
};
