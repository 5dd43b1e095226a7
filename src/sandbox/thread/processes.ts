import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** A process that cannot be mistaken for a later one with the same number. */
export interface ProcessIdentity {
  pid: number;
  /** Clock ticks since boot. */
  startTime: number;
}

export interface ProcessStatus extends ProcessIdentity {
  /** Dead with all its threads and not yet collected by its parent: it holds nothing any more. */
  zombie: boolean;
  /** Stands still by a signal, or because a debugger holds it. */
  stopped: boolean;
}

/** Looks a process up in /proc; undefined when it does not exist (any more). */
export function readProcessStatus(pid: number): ProcessStatus | undefined {
  const text = readProc(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The command name is in parentheses, may hold anything, and is the last thing that does: fields follow it.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return {
    pid,
    // That is the first thread's state; others may go on without it.
    zombie: (fields[0] === "Z" || fields[0] === "X") && Number(fields[17]) <= 1,
    stopped: fields[0] === "T" || fields[0] === "t",
    startTime: Number(fields[19]),
  };
}

/** @throws when there is no such process, or no /proc and it is not this one */
export function readIdentity(pid: number): ProcessIdentity {
  const status = readProcessStatus(pid);
  if (!status && pid !== process.pid) throw new Error(`There is no process ${pid}.`);
  return { pid, startTime: status?.startTime ?? 0 };
}

/** Whether that very process still runs. */
export function isAlive({ pid, startTime }: ProcessIdentity): boolean {
  const status = readProcessStatus(pid);
  return status !== undefined && !status.zombie && status.startTime === startTime;
}

/** Every living process below `pid`, without `pid` itself. */
export function listDescendants(pid: number): ProcessStatus[] {
  const found: ProcessStatus[] = [];
  const queue = [pid];
  const seen = new Set(queue);
  for (let parent = queue.shift(); parent !== undefined; parent = queue.shift()) {
    for (const child of children(parent)) {
      if (seen.has(child)) continue;
      seen.add(child);
      queue.push(child);
      const status = readProcessStatus(child);
      if (status !== undefined && !status.zombie) found.push(status);
    }
  }
  return found;
}

/** Every living process of the host whose PID namespace (`pid:[inode]`) is one of these. */
export function listProcessesInNamespaces(namespaces: ReadonlySet<string>): ProcessStatus[] {
  return processesThat((pid) => namespaces.has(readlinkSync(`/proc/${pid}/ns/pid`)));
}

/** Every living process of the host whose command line holds this word. */
export function listProcessesNaming(word: string): ProcessStatus[] {
  return processesThat((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(word));
}

function processesThat(fit: (pid: number) => boolean): ProcessStatus[] {
  return readdirSync("/proc").flatMap((name) => {
    const pid = Number(name);
    try {
      if (!Number.isInteger(pid) || !fit(pid)) return [];
    } catch {
      return []; // Gone meanwhile, or someone else's.
    }
    const status = readProcessStatus(pid);
    return status !== undefined && !status.zombie ? [status] : [];
  });
}

/** Resident memory of the processes, in bytes. Cheap, and counts a page once for each process that maps it. */
export function sumResidentBytes(processes: readonly ProcessIdentity[]): number {
  return processes.reduce((sum, { pid }) => sum + (findBytes(pid, "status", /^VmRSS:\s+(\d+) kB/m) ?? 0), 0);
}

/**
 * Resident memory with shared pages counted once, in bytes. Costs the kernel a walk through every mapping. A process that
 * does not show its mappings, as programs can choose, counts in full.
 */
export function sumProportionalBytes(processes: readonly ProcessIdentity[]): number {
  return processes.reduce((sum, each) => {
    return sum + (findBytes(each.pid, "smaps_rollup", /^Pss:\s+(\d+) kB/m) ?? sumResidentBytes([each]));
  }, 0);
}

/** What a file in /proc says of the process's memory: that of its first thread, or where that has ended of another. */
function findBytes(pid: number, file: string, pattern: RegExp): number | undefined {
  const read = (folder: string) => pattern.exec(readProc(`${folder}/${file}`) ?? "")?.[1];
  let kibibytes = read(`/proc/${pid}`);
  for (const thread of kibibytes === undefined ? listThreads(pid) : []) {
    kibibytes ??= read(`/proc/${pid}/task/${thread}`);
  }
  return kibibytes === undefined ? undefined : 1024 * Number(kibibytes);
}

/** The living threads of a process, and its first one. */
export function listThreads(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function children(pid: number): number[] {
  // A child belongs to the thread that started it.
  return listThreads(pid).flatMap((thread) => {
    const text = readProc(`/proc/${pid}/task/${thread}/children`) ?? "";
    return text.split(" ").filter(Boolean).map(Number);
  });
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined; // The process ended; /proc has no other failure that a caller could handle.
  }
}
