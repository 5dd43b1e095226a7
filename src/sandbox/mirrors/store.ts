import { randomBytes } from "node:crypto";
import { chmod, link, readFile, rename, utimes, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeFolder } from "../thread/host.ts";
import { withFileLock } from "../workspaces/file-lock.ts";
import { removeTree } from "../workspaces/staging.ts";
import { createReadyStore, type ReadyStore, roomOf } from "./ready-store.ts";
import { isPlainFile, hasSameContent, list, sumSizes, takeOver, timeOf } from "./store-files.ts";

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
export interface MirrorStore extends ReadyStore {
  /** The folder of the newest state: `pack/` and `packed-refs`. */
  current(key: string): Promise<string | undefined>;
  /** Whether a branch or tag of the current state is at that commit. */
  hasTip(key: string, commit: string): Promise<boolean>;
  /** Where a mirror is brought up to date, set up or cloned, beside its states. */
  workFolder(key: string, kind?: "work" | "set-up" | "clone"): Promise<string>;
  /** Does the work unless another process does the same here; then undefined. */
  exclusively<T>(key: string, work: () => Promise<T>): Promise<T | undefined>;
  /** Whether another process, which is alive, brings it up to date. */
  isTaken(key: string): Promise<boolean>;
  /**
   * Makes a state of the files that lie in the folder, in which nothing may run any more. Nothing where they say what the
   * current one says.
   *
   * @param options.isWhole they stand for themselves; otherwise they add to the packs of the current state
   */
  publish(key: string, from: string, options: { isWhole: boolean }): Promise<void>;
  /** The folder of what a set-up has made, under a name that tells of what. */
  findSetUp(key: string, name: string): Promise<string | undefined>;
  /** Keeps the pieces that lie in the folder, in which nothing may run any more, and the newest few beside them. */
  publishSetUp(key: string, name: string, from: string): Promise<void>;
  /** Notes that it was asked for. */
  touch(key: string): Promise<void>;
  /** Notes that the host has just been asked what is new. */
  markFresh(key: string): Promise<void>;
  /** When that was last noted, by whatever process, ms. */
  freshAt(key: string): Promise<number>;
  remove(key: string): Promise<void>;
  /**
   * Removes those used least recently until all of them are within the limit, the clones that are ready before anything
   * else, and what nobody has used for long. Gives the mirrors whose clones had to go.
   */
  evict(): Promise<ReadonlySet<string>>;
}

/** bwrap arguments: where a program that may read a state finds it, and how it is told so. */
export function viewState(state: string): string[] {
  return ["--ro-bind", state, "/mirror", "--setenv", "HEDDLE_MIRROR", "/mirror"];
}

/** @param bytes of all mirrors together */
export function createMirrorStore(root: string, bytes: number, now: () => number): MirrorStore {
  makeFolder(root, 0o711);
  const folderOf = (key: string) => join(root, key);
  const ready = createReadyStore(folderOf, now);
  const lockOf = (key: string) => join(root, `${key}.lock`);
  const statesOf = async (key: string) =>
    (await list(folderOf(key))).filter((name) => name.startsWith("state-")).toSorted();
  const current = async (key: string) => {
    const newest = (await statesOf(key)).at(-1);
    return newest === undefined ? undefined : join(folderOf(key), newest);
  };

  async function remove(key: string): Promise<void> {
    // Under another name first: who looks meanwhile finds all of it or nothing.
    const gone = join(root, `gone-${randomBytes(8).toString("hex")}`);
    try {
      await rename(folderOf(key), gone);
    } catch {
      return;
    }
    await removeTree(gone);
  }

  /** Removes states that were replaced long ago, and what a killed process has left unfinished. */
  async function sweep(key: string): Promise<void> {
    const newest = await current(key);
    for (const name of await list(folderOf(key))) {
      const path = join(folderOf(key), name);
      const isReplaced = /^(?:state|given)-/.test(name) && path !== newest;
      const isOld = isReplaced && now() - (await timeOf(path)) > replacedMs;
      if (isOld || name.startsWith("new-")) await removeTree(path);
    }
  }

  return {
    ...{ current, remove, ...ready },
    evict: () =>
      evict({ root, bytes, now, folderOf, lockOf, current, remove, removeReady: ready.removeReady }),
    async hasTip(key, commit) {
      const state = await current(key);
      return state !== undefined && (await readFile(join(state, refsName), "utf8")).includes(`${commit} `);
    },
    async workFolder(key, kind = "work") {
      makeFolder(folderOf(key), 0o711);
      await writeFile(join(folderOf(key), "used"), "");
      return join(folderOf(key), kind);
    },
    exclusively: (key, work) => withFileLock(lockOf(key), work),
    isTaken: async (key) => now() - (await timeOf(lockOf(key))) < silentMs,

    async publish(key, from, { isWhole }) {
      await sweep(key);
      const before = await current(key);
      const packs = await listPlainFiles(from, packName);
      const refs = join(from, refsName);
      if (!(await isPlainFile(refs))) throw new Error("git has left no references");
      if (before !== undefined && packs.length === 0 && (await hasSameContent(refs, join(before, refsName))))
        return;
      const made = join(folderOf(key), `new-${randomBytes(16).toString("hex")}`);
      makeFolder(join(made, "pack"), 0o755);
      if (before !== undefined && !isWhole) {
        for (const name of await list(join(before, "pack"))) {
          await link(join(before, "pack", name), join(made, "pack", name));
        }
      }
      for (const name of packs) await takeOver(join(from, name), join(made, "pack", name));
      await takeOver(refs, join(made, refsName));
      await chmod(made, 0o755);
      const number = Math.max(0, ...(await statesOf(key)).map((name) => Number(name.split("-")[1])));
      // Its name cannot be guessed: nobody else on the host finds the folder, which all may enter.
      const name = `state-${String(number + 1).padStart(9, "0")}-${randomBytes(16).toString("hex")}`;
      await rename(made, join(folderOf(key), name));
      if (before !== undefined) await utimes(before, now() / 1_000, now() / 1_000);
    },

    ...createSetUpStore(folderOf),

    async touch(key) {
      if ((await current(key)) !== undefined) await writeFile(join(folderOf(key), "used"), "");
    },

    markFresh: (key) => writeFile(join(folderOf(key), "fresh"), ""),
    freshAt: (key) => timeOf(join(folderOf(key), "fresh")),
  };
}

interface Evictable extends Pick<MirrorStore, "current" | "remove" | "removeReady"> {
  root: string;
  bytes: number;
  folderOf(key: string): string;
  lockOf(key: string): string;
  now(): number;
}

async function evict({ root, bytes, now, folderOf, lockOf, ...store }: Evictable): Promise<Set<string>> {
  const names = await list(root);
  for (const name of names) if (name.startsWith("gone-")) await removeTree(join(root, name));
  const keys = names.filter((name) => /^[0-9a-f]+$/.test(name));
  const mirrors = await Promise.all(
    keys.map(async (key) => ({
      key,
      usedAt: Math.max(await timeOf(join(folderOf(key), "used")), 0),
      bytes: await sizeOf(folderOf(key), await store.current(key)),
    })),
  );
  const byUse = mirrors.toSorted((one, other) => one.usedAt - other.usedAt);
  const shrunk = new Set<string>();
  let total = mirrors.reduce((sum, each) => sum + each.bytes, 0);
  for (const each of byUse) {
    if (total <= bytes) break;
    const removed = await store.removeReady(each.key, total - bytes);
    if (removed > 0) shrunk.add(each.key);
    each.bytes -= removed;
    total -= removed;
  }
  for (const each of byUse) {
    if (total <= bytes && now() - each.usedAt < unusedMs) break;
    const isGone = await withFileLock(lockOf(each.key), async () => {
      await store.remove(each.key);
      return true;
    });
    if (isGone) total -= each.bytes;
  }
  return shrunk;
}

function createSetUpStore(
  folderOf: (key: string) => string,
): Pick<MirrorStore, "findSetUp" | "publishSetUp"> {
  return {
    async findSetUp(key, name) {
      const found = (await list(folderOf(key))).find((each) => each.startsWith(`made-${name}`));
      return found === undefined ? undefined : join(folderOf(key), found);
    },

    async publishSetUp(key, name, from) {
      const made = (await list(folderOf(key))).map((each) => join(folderOf(key), each));
      const dated = await Promise.all(
        made
          .filter((path) => basename(path).startsWith("made-"))
          .map(async (path) => ({ path, madeAt: await timeOf(path) })),
      );
      const older = dated.toSorted((one, other) => other.madeAt - one.madeAt).map(({ path }) => path);
      const unfinished = made.filter((path) => basename(path).startsWith("making-"));
      for (const path of [...older.slice(keptSetUps - 1), ...unfinished]) await removeTree(path);
      const making = join(folderOf(key), `making-${randomBytes(16).toString("hex")}`);
      makeFolder(making, 0o755);
      for (const part of await listPlainFiles(from, partName)) {
        await takeOver(join(from, part), join(making, part));
      }
      await rename(making, join(folderOf(key), `made-${name}-${randomBytes(16).toString("hex")}`));
    },
  };
}

/** Another process has no other way to say that it has come to its end. */
export async function waitForOther(store: MirrorStore, key: string, signal: AbortSignal): Promise<void> {
  while ((await store.isTaken(key)) && !signal.aborted) await sleep(pollMs);
}

async function listPlainFiles(folder: string, names: RegExp): Promise<string[]> {
  const plain: string[] = [];
  for (const name of await list(folder)) {
    if (names.test(name) && (await isPlainFile(join(folder, name)))) plain.push(name);
  }
  return plain;
}

/** Of the newest state, of what set-ups have made, and of the clones that are ready. */
async function sizeOf(folder: string, state: string | undefined): Promise<number> {
  if (state === undefined) return 0;
  const names = await list(folder);
  const made = names.filter((name) => name.startsWith("made-")).map((name) => join(folder, name));
  const ready = names.reduce((sum, name) => sum + roomOf(name).bytes, 0);
  return ready + (await sumSizes([state, join(state, "pack"), ...made]));
}
