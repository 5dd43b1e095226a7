import { setTimeout as delay } from "node:timers/promises";
import { readdirSync, readFileSync } from "node:fs";

/** The processes of this machine whose command line contains the text, by looking at /proc. */
export function processesWith(text: string): number[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)
    .filter((pid) => commandLine(pid).includes(text))
    .map(Number);
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

/** Resolves when the command itself runs, not only the shell that will. /proc tells no events, so it is looked at often. */
export async function running(command: string): Promise<void> {
  const isIt = (pid: number) => commandLine(String(pid)).trim() === command;
  while (!processesWith(command).some(isIt)) await delay(20);
}
