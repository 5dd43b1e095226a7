import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { listDescendants } from "../../src/sandbox/thread/processes.ts";

/**
 * The processes of this machine whose command line contains the text, by looking at /proc. @param under only those
 * that this process has started, itself or through others
 */
export function processesWith(text: string, under?: number): number[] {
  const pids =
    under === undefined
      ? readdirSync("/proc").map(Number).filter(Number.isInteger)
      : listDescendants(under).map(({ pid }) => pid);
  return pids.filter((pid) => pid !== process.pid && commandLine(pid).includes(text));
}

export function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return ""; // It ended in between.
  }
}

/** A number of seconds that no other test or program sleeps for, to find the process again. */
export function uniqueSleep(): { command: string; seconds: string } {
  const seconds = `600.${Math.floor(Math.random() * 1e9)}`;
  return { command: `sleep ${seconds}`, seconds };
}

/**
 * Resolves when the command itself runs, not only the shell that will. /proc tells no events, so it is looked at often.
 * @param under see {@link processesWith}; without it no other test may run the same command
 */
export async function running(command: string, under?: number): Promise<void> {
  const isIt = (pid: number) => commandLine(pid).trim() === command;
  while (!processesWith(command, under).some(isIt)) await delay(20);
}

/** The processes of this machine that work in a folder: in it, or with its path in command line or environment. */
export function processesOf(folder: string): number[] {
  const pids = readdirSync("/proc").map(Number).filter(Number.isInteger);
  const places = [commandLine, environmentOf, workingFolder];
  return pids.filter((pid) => pid !== process.pid && places.some((of) => of(pid).includes(folder)));
}

/** Its variables, as it was started with them. */
export function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8");
  } catch {
    return ""; // It ended in between, or is another user's.
  }
}

function workingFolder(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return "";
  }
}
