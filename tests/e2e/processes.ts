import { setTimeout as delay } from "node:timers/promises";
import { readdirSync, readFileSync } from "node:fs";

/**
 * The processes of this machine whose command line contains the text, by looking at /proc. @param under only those
 * that this process has started, itself or through others
 */
export function processesWith(text: string, under?: number): number[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)
    .filter((pid) => commandLine(pid).includes(text) && (under === undefined || isUnder(pid, under)))
    .map(Number);
}

function isUnder(pid: string, ancestor: number): boolean {
  try {
    const parent = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "0";
    return Number(parent) === ancestor || (parent !== "0" && isUnder(parent, ancestor));
  } catch {
    return false; // It ended in between.
  }
}

function commandLine(pid: string): string {
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
  const isIt = (pid: number) => commandLine(String(pid)).trim() === command;
  while (!processesWith(command, under).some(isIt)) await delay(20);
}
