import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeFolder } from "../thread/host.ts";
import { withFileLock } from "../workspaces/file-lock.ts";

/**
 * What a mirror is made of: packs of git's objects, and what each branch and tag is. There is no configuration, hook,
 * link or pointer to another folder in it, whatever the repository holds.
 */
const packName = /^pack-[0-9a-f]{40,64}\.(?:pack|idx|rev)$/;
const refsName = "packed-refs";
/** What a set-up has made. */
const partName = /^part-[a-z]{2,8}$/;
/** Of a mirror: those of the newest commits are asked for. */
const keptSetUps = 4;

/** Who clones from what has been replaced is given this long, in milliseconds. */
const replacedMs = 900_000;
/** A mirror that nobody has asked for so long goes, in milliseconds. */
const unusedMs = 30 * 86_400_000;
/** Who holds the lock says so three times as often (file-lock.ts); after this it is taken for dead, in milliseconds. */
const silentMs = 60_000;
const pollMs = 200;

/**
 * Mirrors on the disk: a folder each, and in it one folder for each state. A state is made beside the others and gets
 * its name when it is whole; nothing in it is ever written again.
 */
export interface MirrorStore {
  /** The folder of the newest state: `pack/` and `packed-refs`. */
  current(key: string): string | undefined;
  /** Whether a branch or tag of the current state is at that commit. */
  hasTip(key: string, commit: string): boolean;
  /** Where a mirror is brought up to date, or set up, beside its states. */
  workFolder(key: string, kind?: "work" | "set-up"): string;
  /** Does the work unless another process does the same here; then undefined. */
  exclusively<T>(key: string, work: () => Promise<T>): Promise<T | undefined>;
  /** Whether another process, which is alive, brings it up to date. */
  isTaken(key: string): boolean;
  /**
   * Makes a state of the files that lie in the folder, in which nothing may run any more. Nothing where they say what the
   * current one says.
   *
   * @param options.isWhole they stand for themselves; otherwise they add to the packs of the current state
   */
  publish(key: string, from: string, options: { isWhole: boolean }): void;
  /** The folder of what a set-up has made, under a name that tells of what. */
  findSetUp(key: string, name: string): string | undefined;
  /** Keeps the pieces that lie in the folder, in which nothing may run any more, and the newest few beside them. */
  publishSetUp(key: string, name: string, from: string): void;
  /** Notes that it was asked for. */
  touch(key: string): void;
  /** Notes that the host has just been asked what is new. */
  markFresh(key: string): void;
  /** When that was last noted, by whatever process, ms. */
  freshAt(key: string): number;
  remove(key: string): void;
  /** Removes those used least recently until all of them are within the limit, and what nobody has used for long. */
  evict(): Promise<void>;
}

/** bwrap arguments: where a program that may read a state finds it, and how it is told so. */
export function viewState(state: string): string[] {
  return ["--ro-bind", state, "/mirror", "--setenv", "HEDDLE_MIRROR", "/mirror"];
}

/** @param bytes of all mirrors together */
export function createMirrorStore(root: string, bytes: number, now: () => number): MirrorStore {
  makeFolder(root, 0o711);
  const folderOf = (key: string) => join(root, key);
  const lockOf = (key: string) => join(root, `${key}.lock`);
  const statesOf = (key: string) => list(folderOf(key)).filter((name) => name.startsWith("state-"));
  const current = (key: string) => {
    const newest = statesOf(key).toSorted().at(-1);
    return newest === undefined ? undefined : join(folderOf(key), newest);
  };

  function remove(key: string): void {
    // Under another name first: who looks meanwhile finds all of it or nothing.
    const gone = join(root, `gone-${randomBytes(8).toString("hex")}`);
    try {
      renameSync(folderOf(key), gone);
    } catch {
      return;
    }
    rmSync(gone, { recursive: true, force: true });
  }

  /** Removes states that were replaced long ago, and what a killed process has left unfinished. */
  function sweep(key: string): void {
    const newest = current(key);
    for (const name of list(folderOf(key))) {
      const path = join(folderOf(key), name);
      const isOld = name.startsWith("state-") && path !== newest && now() - timeOf(path) > replacedMs;
      if (isOld || name.startsWith("new-")) rmSync(path, { recursive: true, force: true });
    }
  }

  return {
    current,
    remove,
    hasTip(key, commit) {
      const state = current(key);
      return state !== undefined && readFileSync(join(state, refsName), "utf8").includes(`${commit} `);
    },
    workFolder(key, kind = "work") {
      makeFolder(folderOf(key), 0o711);
      writeFileSync(join(folderOf(key), "used"), "");
      return join(folderOf(key), kind);
    },
    exclusively: (key, work) => withFileLock(lockOf(key), work),
    isTaken: (key) => now() - timeOf(lockOf(key)) < silentMs,

    publish(key, from, { isWhole }) {
      sweep(key);
      const before = current(key);
      const packs = list(from).filter((name) => packName.test(name) && isPlainFile(join(from, name)));
      const refs = join(from, refsName);
      if (!isPlainFile(refs)) throw new Error("git has left no references");
      if (before !== undefined && packs.length === 0 && isSame(refs, join(before, refsName))) return;
      const made = join(folderOf(key), `new-${randomBytes(16).toString("hex")}`);
      makeFolder(join(made, "pack"), 0o755);
      if (before !== undefined && !isWhole) {
        for (const name of list(join(before, "pack"))) {
          linkSync(join(before, "pack", name), join(made, "pack", name));
        }
      }
      for (const name of packs) take(join(from, name), join(made, "pack", name));
      take(refs, join(made, refsName));
      chmodSync(made, 0o755);
      const [number = 0] = statesOf(key)
        .map((name) => Number(name.split("-")[1]))
        .toSorted((a, b) => b - a);
      // Its name cannot be guessed: nobody else on the host finds the folder, which all may enter.
      const name = `state-${String(number + 1).padStart(9, "0")}-${randomBytes(16).toString("hex")}`;
      renameSync(made, join(folderOf(key), name));
      if (before !== undefined) utimesSync(before, now() / 1_000, now() / 1_000);
    },

    ...createSetUpStore(folderOf),

    touch(key) {
      if (current(key) !== undefined) writeFileSync(join(folderOf(key), "used"), "");
    },

    markFresh: (key) => writeFileSync(join(folderOf(key), "fresh"), ""),
    freshAt: (key) => timeOf(join(folderOf(key), "fresh")),

    async evict() {
      for (const name of list(root).filter((each) => each.startsWith("gone-"))) {
        rmSync(join(root, name), { recursive: true, force: true });
      }
      const mirrors = list(root)
        .filter((name) => /^[0-9a-f]+$/.test(name))
        .map((key) => ({
          key,
          usedAt: Math.max(timeOf(join(folderOf(key), "used")), 0),
          bytes: sizeOf(folderOf(key), current(key)),
        }))
        .toSorted((one, other) => one.usedAt - other.usedAt);
      let total = mirrors.reduce((sum, each) => sum + each.bytes, 0);
      for (const each of mirrors) {
        if (total <= bytes && now() - each.usedAt < unusedMs) break;
        const isGone = await withFileLock(lockOf(each.key), async () => {
          remove(each.key);
          return true;
        });
        if (isGone) total -= each.bytes;
      }
    },
  };
}

function createSetUpStore(
  folderOf: (key: string) => string,
): Pick<MirrorStore, "findSetUp" | "publishSetUp"> {
  return {
    findSetUp(key, name) {
      const found = list(folderOf(key)).find((each) => each.startsWith(`made-${name}`));
      return found === undefined ? undefined : join(folderOf(key), found);
    },

    publishSetUp(key, name, from) {
      const made = list(folderOf(key)).map((each) => join(folderOf(key), each));
      const older = made
        .filter((path) => basename(path).startsWith("made-"))
        .toSorted((one, other) => timeOf(other) - timeOf(one));
      const unfinished = made.filter((path) => basename(path).startsWith("making-"));
      for (const path of [...older.slice(keptSetUps - 1), ...unfinished]) {
        rmSync(path, { recursive: true, force: true });
      }
      const making = join(folderOf(key), `making-${randomBytes(16).toString("hex")}`);
      makeFolder(making, 0o755);
      for (const part of list(from).filter((each) => partName.test(each) && isPlainFile(join(from, each)))) {
        take(join(from, part), join(making, part));
      }
      renameSync(making, join(folderOf(key), `made-${name}-${randomBytes(16).toString("hex")}`));
    },
  };
}

/** Another process has no other way to say that it has come to its end. */
export async function waitForOther(store: MirrorStore, key: string, signal: AbortSignal): Promise<void> {
  while (store.isTaken(key) && !signal.aborted) await sleep(pollMs);
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function timeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY;
}

/** Of the newest state, and of what set-ups have made. */
function sizeOf(folder: string, state: string | undefined): number {
  if (state === undefined) return 0;
  const folders = [
    ...[state, join(state, "pack")],
    ...list(folder)
      .filter((name) => name.startsWith("made-"))
      .map((name) => join(folder, name)),
  ];
  return folders
    .flatMap((each) => list(each).map((name) => lstatSync(join(each, name), { throwIfNoEntry: false })))
    .reduce((sum, status) => sum + (status?.isFile() ? status.size : 0), 0);
}

/** Of nobody else's: a link could lead anywhere, and another name could still be written by. */
function isPlainFile(path: string): boolean {
  const status = lstatSync(path, { throwIfNoEntry: false });
  return status !== undefined && status.isFile() && status.nlink === 1;
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [lstatSync(one), lstatSync(other)];
  return a.size === b.size && readFileSync(one).equals(readFileSync(other));
}

/** From here on it is the bot's own, and for everybody to read. */
function take(from: string, to: string): void {
  if (process.getuid?.() === 0) chownSync(from, 0, 0);
  chmodSync(from, 0o444);
  renameSync(from, to);
}
