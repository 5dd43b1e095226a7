import { readFileSync } from "node:fs";

/** A process and all below it, from /proc. */
function treeOf(pid: number): number[] {
  const children = read(pid, `task/${pid}/children`).split(" ").filter(Boolean);
  return [pid, ...children.flatMap((child) => treeOf(Number(child)))];
}

/** The process that runs the turns: a worker is started by one that watches it, with the same arguments. */
export function workerOf(program: number): number {
  const own = argumentsOf(program);
  return treeOf(program).findLast((pid) => argumentsOf(pid) === own) ?? program;
}

/** The program and what follows it, without the options of Node. */
function argumentsOf(pid: number): string {
  const [, ...rest] = read(pid, "cmdline").split("\0");
  return rest.slice(rest.findIndex((part) => !part.startsWith("--"))).join(" ");
}

/** Resident memory of one process, in bytes: now, or the most so far. */
export function residentMemory(pid: number, when: "now" | "most"): number {
  const field = when === "now" ? "VmRSS" : "VmHWM";
  const found = new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(read(pid, "status"));
  return Number(found?.[1]) * 1_024;
}

/** Memory of a process and all below it, in bytes; what several share counts once (proc(5), `Pss`). */
export function treeMemory(pid: number): number {
  return treeOf(pid).reduce((sum, member) => {
    const found = /^Pss:\s+(\d+)/m.exec(read(member, "smaps_rollup"));
    return sum + Number(found?.[1] ?? 0) * 1_024;
  }, 0);
}

/** A file of a process in /proc; empty when the process has ended meanwhile. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
