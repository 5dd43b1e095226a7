import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** How often a process asked the kernel, by system call. */
export type SystemCalls = ReadonlyMap<string, number>;

/**
 * Counts the system calls of a running process and its threads, not those of its children.
 *
 * @throws Error where strace is missing or may not look at the process
 */
export async function countSystemCalls(pid: number, work: () => Promise<unknown>): Promise<SystemCalls> {
  const strace = spawn("strace", ["-c", "-f", "-p", String(pid), "-U", "calls,name"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(strace, "close");
  const lines: string[] = [];
  const attached = Promise.withResolvers<void>();
  createInterface({ input: strace.stderr }).on("line", (line) => {
    lines.push(line);
    if (line.includes("attached")) attached.resolve();
  });
  const failed = ended.then(() => {
    throw new Error(`strace: ${lines.join(" ") || "ended at once"}`);
  });
  await Promise.race([attached.promise, failed]);
  failed.catch(() => undefined);
  await work();
  strace.kill("SIGINT");
  await ended;
  return parseCounts(lines);
}

/** The table of `strace -c -U calls,name`. */
function parseCounts(lines: readonly string[]): SystemCalls {
  const counts = new Map<string, number>();
  for (const line of lines) {
    const [, calls = "", name = ""] = /^\s*(\d+)\s+([a-z]\w*)\s*$/.exec(line) ?? [];
    if (name !== "" && name !== "total") counts.set(name, Number(calls));
  }
  return counts;
}
