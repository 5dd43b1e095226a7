import { statfs } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** What one thread has on the disk, as seen at its last look. */
export interface Growth {
  bytes: number;
  /** Processes of it may hold files that nobody can see. */
  hidden: boolean;
}

/** A thread of which something runs, so that its files may grow. */
export interface Grower {
  /** Who it is, for the log. */
  name: string;
  /** What it had at the last look; undefined before the first. */
  last(): Growth | undefined;
  look(): Promise<void>;
  /** Ends what it runs; resolves when that is gone. */
  end(): Promise<void>;
}

/**
 * Guards the room that the host keeps for itself: when less is left, the thread that took most since there was enough
 * is ended, and then one more each time that another eighth of that room is gone. Others run on, and nobody is ended for
 * what no thread of this process has taken.
 */
export interface DiskFloor {
  /** To be called while something of the thread runs; returns how to leave. */
  join(grower: Grower): () => void;
}

const checkEveryMs = 250;
/** How much more of the floor is lost before the next thread is ended: one part in so many. */
const steps = 8;
/** Threads must account for at least one part in so many of what was lost, or somebody else has taken it. */
const leastShare = 10;
/** Who cannot be looked at in this time counts as seen last, in milliseconds. */
const longestLookMs = 3_000;
const longestEndMs = 5_000;

export function watchDiskFloor(
  { root, limits: { freeBytes } }: { root: string; limits: { freeBytes: number } },
  log: (line: string) => void,
): DiskFloor {
  /** With what they had when `reference` was measured. */
  const growers = new Map<Grower, Growth | undefined>();
  let timer: NodeJS.Timeout | undefined;
  /** Free room since which growth counts, and below which somebody is ended. */
  let reference: number | undefined;
  let threshold = 0;
  let checking = false;

  async function freeRoom(): Promise<number> {
    const { bavail, bsize } = await statfs(root);
    return bavail * bsize;
  }

  function startOver(free: number): void {
    reference = free;
    threshold = free >= freeBytes ? freeBytes : free - freeBytes / steps;
    for (const grower of growers.keys()) growers.set(grower, grower.last());
  }

  async function check(): Promise<void> {
    const free = await freeRoom();
    if (reference === undefined || free >= freeBytes) startOver(free);
    if (free >= threshold || reference === undefined) return;
    const lost = reference - free;
    const all = [...growers.keys()];
    await Promise.race([Promise.all(all.map((grower) => grower.look())), sleep(longestLookMs)]);
    const victim = findVictim(lost);
    if (victim) {
      log(`${victim.name} is ended: less than ${Math.round(freeBytes / 2 ** 20)} MiB of the disk are free`);
      await Promise.race([victim.end(), sleep(longestEndMs)]);
    } else {
      log(
        `less than ${Math.round(freeBytes / 2 ** 20)} MiB of the disk are free, and no thread has taken it`,
      );
    }
    startOver(await freeRoom());
  }

  function findVictim(lost: number): Grower | undefined {
    const grown = [...growers].map(([grower, before]) => {
      const now = grower.last();
      return { grower, hidden: now?.hidden ?? false, bytes: now && before ? now.bytes - before.bytes : 0 };
    });
    const largest = grown.toSorted((one, other) => other.bytes - one.bytes)[0];
    const total = grown.reduce((sum, { bytes }) => sum + Math.max(0, bytes), 0);
    if (largest && largest.bytes > 0 && total >= lost / leastShare) return largest.grower;
    return grown.find(({ hidden }) => hidden)?.grower;
  }

  async function tick(): Promise<void> {
    if (checking) return;
    checking = true;
    try {
      await check();
    } catch (error) {
      log(`the room on the disk could not be checked: ${String(error)}`);
    } finally {
      checking = false;
    }
  }

  return {
    join(grower) {
      growers.set(grower, grower.last());
      // What happened while nothing ran is nobody's.
      if (growers.size === 1) reference = undefined;
      timer ??= setInterval(() => void tick(), checkEveryMs);
      return () => {
        growers.delete(grower);
        if (growers.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
  };
}
