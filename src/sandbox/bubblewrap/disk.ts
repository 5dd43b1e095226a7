import { statfs } from "node:fs/promises";
import type { Host, ThreadFolder } from "./host.ts";
import { shell } from "./shell.ts";
import type { Launched, Spawner } from "./spawner.ts";

interface DiskUse {
  bytes: number;
  inodes: number;
  /** More than the thread may have, or the host's disk is nearly full. */
  full: boolean;
}

/** Keeps an eye on what a thread's files take. It is a soft limit: files grow between two looks. */
export interface DiskWatch {
  /** Whether the files must not grow, by the last look. */
  full(): boolean;
  /** To be called after a command. Looks again unless the last look is recent and found room. */
  look(): Promise<void>;
  /** Looks regularly until told to stop; calls `onGrowth` when a full disk still fills. */
  during(onGrowth: () => void): { stop(): void };
  /** Ends a look that is under way. */
  cancel(): Promise<void>;
}

/** A look takes some 50 ms for 20,000 files, so it must not follow every command. */
const lookEveryMs = 5_000;
const lookTimeoutMs = 30_000;

/** Prints KiB and then inodes of each of the thread's folders. */
const measureScript = 'du -sxk "$@" | cut -f1; du -sx --inodes "$@" | cut -f1';
const folders = ["/workspace", "/tmp", "/dev/shm"];

export function watchDisk(host: Host, spawner: Spawner, folder: ThreadFolder): DiskWatch {
  let last: DiskUse = { bytes: 0, inodes: 0, full: false };
  let lookedAt = Number.NEGATIVE_INFINITY;
  let current: Promise<void> | undefined;
  let measuring: Launched | undefined;

  async function measure(): Promise<void> {
    let text = "";
    measuring = spawner.launch(folder, {
      program: shell(measureScript, folders),
      cwd: "/",
      timeoutMs: lookTimeoutMs,
      floodBytes: 4096,
      fileBytes: 0,
      onOutput(stream, chunk) {
        if (stream === "stdout") text += chunk.toString();
      },
    });
    const { end } = await measuring.ended;
    measuring = undefined;
    lookedAt = performance.now();
    const numbers = text.trim().split("\n").map(Number);
    // Killed by a stop: nothing learned. Out of time: more files than can be counted are too many.
    if (end === "stopped" || (end === "exit" && numbers.length !== 2 * folders.length)) return;
    const sum = (part: number[]) => part.reduce((total, value) => total + value, 0);
    const bytes = sum(numbers.slice(0, folders.length)) * 1024;
    const inodes = sum(numbers.slice(folders.length));
    const { limits } = host;
    const free = await statfs(folder.path).then(({ bavail, bsize }) => bavail * bsize);
    const within = end === "exit" && bytes <= limits.workspaceBytes && inodes <= limits.workspaceInodes;
    last = { bytes, inodes, full: !within || free < limits.freeBytes };
  }

  const lookNow = () => (current ??= measure().finally(() => (current = undefined)));

  return {
    full: () => last.full,
    look: () => (last.full || performance.now() - lookedAt > lookEveryMs ? lookNow() : Promise.resolve()),
    during(onGrowth) {
      const timer = setInterval(async () => {
        const before = last;
        await lookNow();
        if (last.full && (last.bytes > before.bytes || last.inodes > before.inodes)) onGrowth();
      }, lookEveryMs);
      return { stop: () => clearInterval(timer) };
    },
    async cancel() {
      measuring?.kill("stopped");
      await current;
    },
  };
}
