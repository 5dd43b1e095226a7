import { setPriority } from "node:os";
import {
  listDescendants,
  type ProcessIdentity,
  sumProportionalBytes,
  sumResidentBytes,
} from "../../thread/processes.ts";
import type { GroupLimits } from "./cgroup-tiers.ts";

/** Holds one command's memory, processes and CPU together, beyond what limits per process can. */
export interface ResourceGroup {
  /**
   * Files that take in the process that writes `0` there itself. Where there are none, it has to be moved, for which the
   * kernel makes the mover wait some milliseconds (https://docs.kernel.org/admin-guide/cgroup-v2.html, `favordynmods`).
   */
  readonly entrances: readonly string[];
  /** Takes in a process that has not started any other yet, and that comes in by all entrances, if there are any. */
  admit(pid: number): void;
  /**
   * What the command has used up: its own part, or its thread's or everybody's when it is the one to go. Processes are
   * only told of where they are counted by watching; elsewhere no more can be started.
   */
  exceeded(): "memory" | "processes" | undefined;
  /** Whether it can still be entered: another Heddle that does not see this process may have swept away what is empty. */
  isThere(): boolean;
  /** To be called when every process of the command is gone, or when none has come. */
  release(): void;
}

/** What a shell runs first, with the entrances of its group open at these descriptors: it fails where it cannot come in. */
export function enter(descriptors: readonly number[]): string {
  return descriptors
    .map((descriptor) => `echo 0 >&${descriptor} && exec ${descriptor}>&- || exit 126;`)
    .join(" ");
}

/** The way in which this host holds limits together. */
export interface ResourceGroups {
  /** For the probe's summary. */
  summary: string;
  /** Whether memory that no process maps (a memfd, a segment of System V) is counted. */
  countsEverything: boolean;
  /**
   * Makes a group for one command.
   *
   * @param thread counts with the others of this thread, and with all; without it only by itself
   * @throws when it cannot be made; nothing of it is left then
   */
  make(thread?: string): ResourceGroup;
  /** Gives up what is kept for later commands. */
  close(): void;
}

/** The bot and the rest of the host go first. */
const niceness = 10;

/** One command, as it was seen at its last look. */
interface Watched {
  thread: string | undefined;
  processes: readonly ProcessIdentity[];
  /** Pages that several processes map are counted for each, so that this sum can only acquit. */
  residentBytes: number;
}

/** Without cgroups: look at the processes every now and then. Overshoots by what they take between two looks. */
export function createPollingLimits(limits: GroupLimits): ResourceGroups {
  const all = new Set<Watched>();

  function isOver(group: readonly Watched[], memoryBytes: number): boolean {
    return (
      sumOf(group, bytesOf) > memoryBytes &&
      sumProportionalBytes(group.flatMap(({ processes }) => processes)) > memoryBytes
    );
  }

  /** What of a group is used up, if this is the one in it that uses most of that. */
  function exceededIn(
    group: readonly Watched[],
    isLargest: (size: (watched: Watched) => number) => boolean,
    most: { memoryBytes: number; processes: number },
  ): "memory" | "processes" | undefined {
    if (isLargest(bytesOf) && isOver(group, most.memoryBytes)) return "memory";
    return isLargest(countOf) && sumOf(group, countOf) > most.processes ? "processes" : undefined;
  }

  function look(own: Watched): "memory" | "processes" | undefined {
    if (isOver([own], limits.memoryBytes)) return "memory";
    if (own.thread === undefined) return undefined;
    const everybody = [...all].filter(({ thread }) => thread !== undefined);
    const siblings = everybody.filter(({ thread }) => thread === own.thread);
    const isLargestHere = (size: (watched: Watched) => number) =>
      siblings.every((sibling) => size(sibling) <= size(own));
    const isLargestThread = (size: (watched: Watched) => number) => {
      const sums = new Map<string | undefined, number>();
      for (const watched of everybody)
        sums.set(watched.thread, (sums.get(watched.thread) ?? 0) + size(watched));
      return isLargestHere(size) && Math.max(...sums.values()) === sums.get(own.thread);
    };
    const { threadMemoryBytes, threadProcesses, allMemoryBytes, allProcesses } = limits;
    return (
      exceededIn(siblings, isLargestHere, { memoryBytes: threadMemoryBytes, processes: threadProcesses }) ??
      exceededIn(everybody, isLargestThread, { memoryBytes: allMemoryBytes, processes: allProcesses })
    );
  }

  return {
    summary:
      "limits tier 3 (rlimits and watching, no writable cgroup): memory may overshoot, CPU is only niced",
    countsEverything: false,
    close() {},
    make(thread) {
      const own: Watched = { thread, processes: [], residentBytes: 0 };
      let first: number | undefined;
      return {
        entrances: [],
        admit(pid) {
          setPriority(pid, niceness);
          first = pid;
          all.add(own);
        },
        isThere: () => true,
        exceeded() {
          own.processes = first === undefined ? [] : listDescendants(first);
          own.residentBytes = sumResidentBytes(own.processes);
          return look(own);
        },
        release: () => all.delete(own),
      };
    },
  };
}

const bytesOf = ({ residentBytes }: Watched) => residentBytes;
const countOf = ({ processes }: Watched) => processes.length;

function sumOf(group: readonly Watched[], size: (watched: Watched) => number): number {
  return group.reduce((sum, watched) => sum + size(watched), 0);
}
