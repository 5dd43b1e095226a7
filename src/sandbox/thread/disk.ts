import { statfs } from "node:fs/promises";
import type { SandboxLimits } from "../limits.ts";
import type { DiskFloor, Grower } from "./disk-floor.ts";
import { type HeldFiles, nothingHeld } from "./held-files.ts";
import type { Host, ThreadFolder } from "./host.ts";
import { threadFolders } from "./inside-path.ts";
import { shellCommand } from "./shell.ts";
import type { Launched, Spawner } from "./spawner.ts";

/** What files take, or may take. */
export interface DiskRoom {
  bytes: number;
  inodes: number;
}

interface DiskUse {
  /** Of files in the thread's folders, and of those that its processes hold though they are deleted. */
  bytes: number;
  inodes: number;
  /** Processes may hold more than can be seen. */
  hidden: boolean;
  /** False where there is too much to count, or somebody keeps it from being counted. */
  counted: boolean;
  /** Bytes free on the host's disk. */
  free: number;
  freeInodes: number;
  /** No more than the thread may have. */
  within: boolean;
}

/** Keeps an eye on what a thread's files take. It is a soft limit: files grow between two looks. */
export interface DiskWatch {
  /** Whether the files must not grow, by the last look. */
  full(): boolean;
  /** Whether so much more would be within the limits: looks first, and again before the next is believed. */
  hasRoom(room: DiskRoom): Promise<boolean>;
  /** To be called after a command. Looks again, unless the last look is recent and its room cannot be used up yet. */
  look(): Promise<void>;
  /**
   * Looks again and again until told to stop; calls `onGrowth` when the thread has more than it may and still takes more,
   * or has taken most of what the host has no more.
   */
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

/**
 * @param folder what it may fill
 * @param pace how often to see whether to look, and for how long a look counts while the disk has the room; by default as
 * for a command, which is over soon
 */
export function watchDisk(
  { host, spawner, floor }: { host: Host; spawner: Spawner; floor: DiskFloor },
  threadId: string,
  folder: ThreadFolder,
  pace: { everyMs?: number; freshMs?: number } = {},
): DiskWatch {
  const { limits } = host;
  let last: DiskUse | undefined;
  let freshUntil = 0;
  let cancels = 0;
  let current: Promise<void> | undefined;
  let measuring: Launched | undefined;
  /** How to end each program that runs. */
  const running = new Set<() => void>();
  let leaveFloor: (() => void) | undefined;
  let onIdle = Promise.withResolvers<void>();
  const grower: Grower = {
    name: threadId,
    last: () => last,
    look: () => look({ atOnce: true }),
    end() {
      for (const end of running) end();
      return running.size === 0 ? Promise.resolve() : onIdle.promise;
    },
  };

  async function measure(): Promise<void> {
    const startedAt = performance.now();
    let text = "";
    const holding = running.size === 0 ? undefined : spawner.findHeld(folder).catch(() => undefined);
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
    const held: HeldFiles | undefined = await holding;
    const now = performance.now();
    freshUntil = now + (pace.freshMs ?? Math.min(lookShare * (now - startedAt), longestPauseMs));
    // Killed by a stop, or with the spawner: nothing learned.
    if (end === "stopped" || end === "failed") return;
    const counted = end === "exit" && exitCode === 0;
    last = { ...judge(limits, text, held ?? nothingHeld, counted), ...(await readRoom(host.root)) };
  }

  /** Whether the thread may have reached a limit since the last look, which is much quicker to say than whether it has. */
  async function mayBeFull(): Promise<boolean> {
    if (!last || isFull(limits, last) || performance.now() >= freshUntil) return true;
    const { free, freeInodes } = await readRoom(host.root);
    return (
      free < limits.freeBytes ||
      last.free - free > limits.workspaceBytes - last.bytes ||
      last.freeInodes - freeInodes > limits.workspaceInodes - last.inodes
    );
  }

  function look({ atOnce = false } = {}): Promise<void> {
    const before = cancels;
    const measureAgain = async () => {
      if ((atOnce || (await mayBeFull())) && cancels === before) await measure();
    };
    return (current ??= measureAgain().finally(() => (current = undefined)));
  }

  return {
    full: () => last !== undefined && isFull(limits, last),
    async hasRoom(room) {
      await look({ atOnce: true });
      freshUntil = 0;
      return last !== undefined && isRoomLeft(limits, last, room);
    },
    look,
    during(onGrowth) {
      running.add(onGrowth);
      leaveFloor ??= floor.join(grower);
      // To tell what this command adds from what was there.
      if (!last) void look();
      const timer = setInterval(() => {
        const before = last;
        void look().then(() => {
          if (before && last && !last.within && hasGrown(before, last)) onGrowth();
        });
      }, pace.everyMs ?? lookEveryMs);
      return {
        stop() {
          clearInterval(timer);
          running.delete(onGrowth);
          if (running.size > 0) return;
          leaveFloor?.();
          leaveFloor = undefined;
          onIdle.resolve();
          onIdle = Promise.withResolvers();
        },
      };
    },
    async cancel() {
      cancels += 1;
      measuring?.kill("stopped");
      await current;
    },
  };
}

/**
 * @param text what the script has printed
 * @param counted whether it came to its end
 */
function judge(
  limits: SandboxLimits,
  text: string,
  held: HeldFiles,
  counted: boolean,
): Omit<DiskUse, "free" | "freeInodes"> {
  const numbers = text
    .trim()
    .split("\n")
    .slice(-2 * threadFolders.length)
    .map(Number.parseFloat);
  const sum = (part: number[]) => part.reduce((total, value) => total + value, 0);
  const bytes = sum(numbers.slice(0, threadFolders.length)) * 1024 + held.bytes;
  const inodes = sum(numbers.slice(threadFolders.length)) + held.inodes;
  // More files than can be counted in time are too many.
  const isWhole = counted && Number.isFinite(bytes);
  const within = isWhole && bytes <= limits.workspaceBytes && inodes <= limits.workspaceInodes;
  return { bytes, inodes, hidden: held.hidden, counted: isWhole, within };
}

async function readRoom(root: string): Promise<Pick<DiskUse, "free" | "freeInodes">> {
  const { bavail, bsize, ffree } = await statfs(root);
  return { free: bavail * bsize, freeInodes: ffree };
}

function isFull(limits: SandboxLimits, { within, free }: DiskUse): boolean {
  return !within || free < limits.freeBytes;
}

function isRoomLeft(limits: SandboxLimits, use: DiskUse, { bytes, inodes }: DiskRoom): boolean {
  const fits = use.bytes + bytes <= limits.workspaceBytes && use.inodes + inodes <= limits.workspaceInodes;
  return fits && !isFull(limits, use);
}

/** Whether a thread that has more than it may has taken even more. */
function hasGrown(before: DiskUse, after: DiskUse): boolean {
  if (!after.counted) return after.free < before.free;
  return after.bytes > before.bytes || after.inodes > before.inodes;
}
