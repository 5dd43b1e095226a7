import { randomBytes } from "node:crypto";
import { chmodSync, copyFileSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { openCopies, sweepCopies } from "./copies.ts";
import { type Host, isReachableByAll } from "./host.ts";

/** A folder of the host that every sandbox sees. */
export interface ReadOnlyMount {
  source: string;
  /** Absolute, inside. */
  target: string;
}

export interface ReadOnlyView {
  /** bwrap arguments that show the folders as they are listed now. */
  mounts(): readonly string[];
  /** Removes the copies that were made. */
  close(): void;
}

/**
 * Shows folders of the operator. Users of a root bot's sandboxes cannot walk to a folder below `/root`, so they get
 * a copy; copies stay until the end, because a command may still be looking at an older one.
 *
 * @param list returns the same array for as long as nothing has changed
 * @param log takes what could not be shown, and why
 */
export function createReadOnlyView(
  host: Host,
  list: () => readonly ReadOnlyMount[],
  log: (line: string) => void,
): ReadOnlyView {
  const copies = join(host.root, "copies");
  const made: string[] = [];
  let known: { listed: readonly ReadOnlyMount[]; mounts: string[] } | undefined;

  function reachable(source: string): string {
    if (!host.ownUsers || isReachableByAll(source)) return source;
    openCopies(copies);
    sweepCopies(copies);
    const copy = join(copies, `${process.pid}-${randomBytes(6).toString("hex")}`);
    made.push(copy);
    copyForAll(source, copy);
    return copy;
  }

  return {
    mounts() {
      const listed = list();
      if (known?.listed === listed) return known.mounts;
      const mounts = listed.flatMap(({ source, target }) => {
        try {
          return ["--ro-bind-try", reachable(source), target];
        } catch (error) {
          const why = error instanceof Error ? error.message : String(error);
          log(`${source} is not shown to sandboxes, because it could not be copied: ${why}`);
          return [];
        }
      });
      known = { listed, mounts };
      return mounts;
    },
    close() {
      for (const copy of made) rmSync(copy, { recursive: true, force: true });
    },
  };
}

/** As deep as skills are looked for; a link to a folder above itself goes no deeper either. */
const deepest = 8;

/** Copies a tree, links followed, so that everybody may read it and run what its owner may run. */
function copyForAll(source: string, target: string, depth = 0): void {
  const status = statSync(source, { throwIfNoEntry: false });
  if (status === undefined || depth > deepest) return;
  if (status.isDirectory()) {
    mkdirSync(target);
    chmodSync(target, 0o755);
    for (const name of readdirSync(source)) copyForAll(join(source, name), join(target, name), depth + 1);
  } else if (status.isFile()) {
    copyFileSync(source, target);
    chmodSync(target, status.mode & 0o100 ? 0o755 : 0o644);
  }
}
