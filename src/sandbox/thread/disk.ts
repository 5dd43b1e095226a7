import { statfs } from "node:fs/promises";
import type { Host, ThreadFolder } from "./host.ts";
import { threadFolders } from "./inside-path.ts";
import { shellCommand } from "./shell.ts";
import type { Launched, Spawner } from "./spawner.ts";

interface DiskUse {
  bytes: number;
  inodes: number;
  /** Bytes free on the host's disk: what a thread holds open but has deleted shows only here. */
  free: number;
  freeInodes: number;
  /** More than the thread may have, or the host's disk is nearly full. */
  full: boolean;
}

/** Keeps an eye on what a thread's files take. It is a soft limit: files grow between two looks. */
export interface DiskWatch {
  /** Whether the files must not grow, by the last look. */
  full(): boolean;
  /** To be called after a command. Looks again, unless the last look is recent and its room cannot be used up yet. */
  look(): Promise<void>;
  /** Looks again and again until told to stop; calls `onGrowth` when a full disk still fills. */
  during(onGrowth: () => void): { stop(): void };
  /** Ends a look that is under way. */
  cancel(): Promise<void>;
}

/** A look takes some 15 ms, and 50 ms more for every 20,000 files. It may take one part in so many of the time, */
const lookShare = 50;
/** unless it is this long ago, or the whole disk has lost as much room as the thread had left. */
const longestPauseMs = 5_000;
/** Nobody needs to look more often than this while a command runs. */
const lookEveryMs = 1_000;
const lookTimeoutMs = 30_000;

/**
 * Prints KiB and then inodes of each folder, the valid ones last. A folder that its owner may not enter is opened, as
 * it would not be counted; fails where somebody shuts it again. Files that are removed meanwhile are no failure.
 */
const measureScript = `
exec 3>&1
hides() { [[ $({ du -sxk "$@"; du -sx --inodes "$@"; } 2>&1 >&3) == *"Permission denied"* ]]; }
hides "$@" || exit 0
find "$@" -xdev -type d ! -perm -u=rx -execdir chmod u+rx {} ';' 2>/dev/null
! hides "$@"
`;

export function watchDisk(host: Host, spawner: Spawner, folder: ThreadFolder): DiskWatch {
  const { limits } = host;
  let last: DiskUse | undefined;
  let freshUntil = 0;
  let cancels = 0;
  let current: Promise<void> | undefined;
  let measuring: Launched | undefined;

  async function measure(): Promise<void> {
    const startedAt = performance.now();
    let text = "";
    measuring = spawner.launch(folder, {
      program: shellCommand(measureScript, threadFolders),
      cwd: "/",
      timeoutMs: lookTimeoutMs,
      floodBytes: 4096,
      fileBytes: 0,
      onOutput(stream, chunk) {
        if (stream === "stdout") text += chunk.toString();
      },
    });
    const { end, exitCode } = await measuring.ended;
    measuring = undefined;
    const now = performance.now();
    freshUntil = now + Math.min(lookShare * (now - startedAt), longestPauseMs);
    // Killed by a stop, or with the spawner: nothing learned.
    if (end === "stopped" || end === "failed") return;
    const numbers = text
      .trim()
      .split("\n")
      .slice(-2 * threadFolders.length)
      .map(Number.parseFloat);
    const sum = (part: number[]) => part.reduce((total, value) => total + value, 0);
    const bytes = sum(numbers.slice(0, threadFolders.length)) * 1024;
    const inodes = sum(numbers.slice(threadFolders.length));
    const { free, freeInodes } = await room();
    // More files than can be counted in time are too many.
    const counted = end === "exit" && exitCode === 0;
    const within = counted && bytes <= limits.workspaceBytes && inodes <= limits.workspaceInodes;
    last = { bytes, inodes, free, freeInodes, full: !within || free < limits.freeBytes };
  }

  async function room(): Promise<Pick<DiskUse, "free" | "freeInodes">> {
    const { bavail, bsize, ffree } = await statfs(host.root);
    return { free: bavail * bsize, freeInodes: ffree };
  }

  /** Whether the thread may have reached a limit since the last look, which is much quicker to say than whether it has. */
  async function mayBeFull(): Promise<boolean> {
    if (!last || last.full || performance.now() >= freshUntil) return true;
    const { free, freeInodes } = await room();
    return (
      free < limits.freeBytes ||
      last.free - free > limits.workspaceBytes - last.bytes ||
      last.freeInodes - freeInodes > limits.workspaceInodes - last.inodes
    );
  }

  function look(): Promise<void> {
    const before = cancels;
    const measureAgain = async () => {
      if ((await mayBeFull()) && cancels === before) await measure();
    };
    return (current ??= measureAgain().finally(() => (current = undefined)));
  }

  return {
    full: () => last?.full ?? false,
    look,
    during(onGrowth) {
      // To tell what this command adds from what was there.
      if (!last) void look();
      const timer = setInterval(() => {
        const before = last;
        void look().then(() => {
          if (!before || !last?.full) return;
          const grown = last.bytes > before.bytes || last.inodes > before.inodes;
          const shrunk = last.free < before.free && last.free < limits.freeBytes;
          if (grown || shrunk) onGrowth();
        });
      }, lookEveryMs);
      return { stop: () => clearInterval(timer) };
    },
    async cancel() {
      cancels += 1;
      measuring?.kill("stopped");
      await current;
    },
  };
}
