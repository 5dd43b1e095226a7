import { setPriority } from "node:os";
import { listDescendants, sumProportionalBytes, sumResidentBytes } from "../../thread/processes.ts";

/** Holds one command's memory, processes and CPU together, beyond what limits per process can. */
export interface ResourceGroup {
  /** Whether the command has used up its memory. */
  memoryExceeded(): boolean;
  /** To be called when every process of the command is gone. */
  release(): void;
}

/** The way in which this host holds limits together. */
export interface ResourceGroups {
  /** For the probe's summary. */
  summary: string;
  /** Whether memory that no process maps (a memfd, a segment of System V) is counted. */
  countsEverything: boolean;
  /** Puts a process, that has not started any other yet, into a group of its own. */
  attach(pid: number): ResourceGroup;
}

/** The bot and the rest of the host go first. */
const niceness = 10;

/** Without cgroups: look at the processes every now and then. Overshoots by what they take between two looks. */
export function pollingLimits(memoryBytes: number): ResourceGroups {
  return {
    summary:
      "limits tier 3 (rlimits and watching, no writable cgroup): memory may overshoot, CPU is only niced",
    countsEverything: false,
    attach(pid) {
      setPriority(pid, niceness);
      return {
        memoryExceeded() {
          const processes = listDescendants(pid);
          // The cheap sum counts forked pages many times, so it can only acquit.
          return sumResidentBytes(processes) > memoryBytes && sumProportionalBytes(processes) > memoryBytes;
        },
        release() {},
      };
    },
  };
}
