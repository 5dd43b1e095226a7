import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Owner } from "./host.ts";
import { listThreads } from "./processes.ts";

/** What processes keep on a disk although it has no name any more, so that no look at folders finds it. */
export interface HeldFiles {
  bytes: number;
  inodes: number;
  /** Some of the processes do not show what they hold. */
  hidden: boolean;
}

export const nothingHeld: HeldFiles = { bytes: 0, inodes: 0, hidden: false };

const timeoutMs = 30_000;

/**
 * Counts the files of this disk that the processes hold open, or have mapped, and that are deleted. Files on their way
 * through a socket are not found; neither are those that are only mapped, unless this process is root.
 *
 * @param device number of the disk, as `stat` tells it
 * @param owner the processes' user, where this process may become it
 */
export async function measureHeldFiles(
  pids: readonly number[],
  device: number,
  owner?: Owner,
): Promise<HeldFiles> {
  if (pids.length === 0) return nothingHeld;
  const found = await findHeldFiles(pids, device);
  // Root without CAP_SYS_PTRACE, as in a container, may look at nobody else's processes; their user may.
  return found.hidden && owner ? findHeldFiles(pids, device, owner) : found;
}

async function findHeldFiles(pids: readonly number[], device: number, owner?: Owner): Promise<HeldFiles> {
  // A thread may have files of its own, and the first one, of which the process's own folder tells, may have ended.
  const places = pids.flatMap((pid) => [
    ...listThreads(pid).map((thread) => `/proc/${pid}/task/${thread}/fd`),
    `/proc/${pid}/map_files`,
  ]);
  const isDeleted = ["-type", "f", "-links", "0", "-printf", "%D %i %b\n"];
  const child = spawn("find", ["-L", ...places, "-maxdepth", "1", ...isDeleted], {
    ...owner,
    cwd: "/",
    env: { PATH: "/usr/bin:/bin", LC_ALL: "C" },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: timeoutMs,
    killSignal: "SIGKILL",
  });
  /** Blocks of 512 bytes, by the file's number: many processes may hold the same one. */
  const blocks = new Map<string, number>();
  let hidden = false;
  createInterface(child.stdout).on("line", (line) => {
    const [disk, file = "", size] = line.split(" ");
    if (Number(disk) === device) blocks.set(file, Number(size));
  });
  createInterface(child.stderr).on("line", (line) => {
    hidden ||= /\/fd'?: Permission denied$/.test(line.replaceAll("’", "'"));
  });
  const isWhole = await new Promise<boolean>((resolve) => {
    child.once("error", () => resolve(true)); // Without find, nothing of files works; the probe says so.
    child.once("close", (_code, signal) => resolve(signal === null));
  });
  // More than can be counted in time are too many.
  if (!isWhole) return { bytes: Number.POSITIVE_INFINITY, inodes: blocks.size, hidden };
  const sum = [...blocks.values()].reduce((total, value) => total + value, 0);
  return { bytes: 512 * sum, inodes: blocks.size, hidden };
}
