import { readFileSync } from "node:fs";
import { listDescendants, readProcessStatus, sumProportionalBytes } from "../src/sandbox/thread/processes.ts";

/** The process that runs the turns: a worker is started by one that watches it, with the same arguments. */
export function workerOf(program: number): number {
  const own = argumentsOf(program);
  return listDescendants(program).findLast(({ pid }) => argumentsOf(pid) === own)?.pid ?? program;
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

/** Memory of a process and all below it, in bytes; what several share counts once. */
export function treeMemory(pid: number): number {
  const top = readProcessStatus(pid);
  return top === undefined ? 0 : sumProportionalBytes([top, ...listDescendants(pid)]);
}

/** A file of a process in /proc; empty when the process has ended meanwhile. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
