import { access } from "node:fs/promises";
import { join } from "node:path";
import type { Egress } from "../egress/egress.ts";
import { type EgressRepository, plainAddress } from "../egress/repository.ts";
import { createReadyClones, type GivenClone, type Recipient } from "./ready-clones.ts";
import { removeTree } from "../workspaces/staging.ts";
import { createRunningClones, type RunningClones } from "./running-clones.ts";
import { createSetUps, type WantedSetUp } from "./set-ups.ts";
import { shareWork, type SharedWork } from "./shared-work.ts";
import { createMirrorStore, type MirrorStore, waitForOther } from "./store.ts";
import { type MirrorUpdate, updateMirror } from "./update-mirror.ts";
import type { WorkDeps } from "./work-apart.ts";

/**
 * What this host keeps of repositories, so that a thread's clone copies files instead of fetching them. Workers that
 * share the host's folder share it. A mirror belongs to one entry of the settings, as its credential does.
 */
export interface Mirrors {
  /**
   * The folder of its newest state, once the host has been asked what is new: everybody who waits for that waits for one
   * fetch. Undefined where there is none to be had; who wanted to save time does without. Never rejects.
   *
   * @param commit that one of its branches must be at, or the host is asked now
   */
  open(
    repository: EgressRepository,
    options?: { signal?: AbortSignal | undefined; commit?: string | undefined },
  ): Promise<string | undefined>;
  /**
   * The folder with what the repository's set-up makes of a commit, made once for all that clone it. Undefined where that
   * does not work. Never rejects.
   *
   * @param wanted.state of the mirror, just opened
   */
  openSetUp(repository: EgressRepository, wanted: Omit<WantedSetUp, "key">): Promise<string | undefined>;
  /** A clone of it that was made before, for this thread alone. Undefined where none is ready. Never rejects. */
  giveReady(repository: EgressRepository, recipient: Recipient): Promise<GivenClone | undefined>;
  /** A thread copies a mirror: what is done in the background waits until that is called which it gives. */
  beginClone: RunningClones["begin"];
  /** Somebody has cloned from the state: a clone is made ready for the next who does. */
  prepareNext(repository: EgressRepository, state: string): void;
  /** Somebody could make nothing of it: it is looked at, byte by byte, before anybody gets it again. */
  doubt(repository: EgressRepository): Promise<void>;
  /** Ends what is done in the background. */
  close(): Promise<void>;
}

/** Nothing is asked again so soon, in milliseconds. */
const freshMs = 60_000;
/** What did not work is not tried again so soon: everybody would wait for it. In milliseconds. */
const pauseMs = 600_000;
/** Where there is a mirror already: then threads save more by the next try than they lose. */
const shortPauseMs = 60_000;

/** Clones for later are made in the end, also while threads clone all the time. In milliseconds. */
const quietMs = 60_000;

/** What this process knows of a mirror. */
interface Known {
  pausedUntil: number;
  isDoubted: boolean;
  current?: SharedWork<string | undefined>;
}

export interface MirrorsOptions extends WorkDeps {
  egress: Egress;
  /** Of all mirrors of the host; 0: there are none. */
  bytes: number;
  log(line: string): void;
  now?(): number;
}

export function createMirrors(options: MirrorsOptions): Mirrors {
  const { host, bytes, now = Date.now } = options;
  const known = new Map<string, Known>();
  const store = createMirrorStore(join(host.root, "mirrors"), bytes, now);
  const setUps = createSetUps({ ...options, store, now });
  const running = createRunningClones(quietMs);
  const readyClones = createReadyClones({ ...options, store, running, now });
  const nameOf = (repository: EgressRepository) => `mirror:${repository.name} ${plainAddress(repository)}`;

  const isFresh = async (key: string) => now() - (await store.freshAt(key)) < freshMs;

  function look(key: string): Known {
    const found = known.get(key) ?? { pausedUntil: 0, isDoubted: false };
    known.set(key, found);
    return found;
  }

  /** Whether nobody has to be asked before the state that there is can be shown. */
  async function isCurrent(key: string, { isDoubted }: Known, commit: string | undefined): Promise<boolean> {
    await store.touch(key);
    const isKnown = commit === undefined || (await store.hasTip(key, commit));
    return isKnown && !isDoubted && (await isFresh(key));
  }

  async function update(
    repository: EgressRepository,
    each: Known,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const name = nameOf(repository);
    const key = host.keyOf(name);
    const { isDoubted } = each;
    const problem = await store.exclusively(key, () =>
      bringUpToDate(options, store, { repository, name, key, isDoubted, signal }),
    );
    // Another worker of this host is at it.
    if (problem === undefined) await waitForOther(store, key, signal);
    if (signal.aborted) return undefined;
    if (problem === undefined) return (await isFresh(key)) ? await store.current(key) : undefined;
    if (problem !== "") {
      const isThere = (await store.current(key)) !== undefined;
      each.pausedUntil = now() + (isThere ? shortPauseMs : pauseMs);
      options.log(`${repository.name} has no mirror here for now: ${problem}`);
      return undefined;
    }
    each.isDoubted = false;
    await store.evict();
    const state = await store.current(key);
    if (state === undefined) {
      each.pausedUntil = now() + pauseMs;
      options.log(`${repository.name} has no mirror here: it is larger than sandbox.mirrorMb`);
    }
    return state;
  }

  return {
    async open(repository, { signal, commit } = {}) {
      if (bytes === 0 || signal?.aborted) return undefined;
      const key = host.keyOf(nameOf(repository));
      const each = look(key);
      if (now() < each.pausedUntil) return undefined;
      if (await isCurrent(key, each, commit).catch(() => false)) return await store.current(key);
      each.current ??= shareWork(
        (ends) =>
          update(repository, each, ends).catch((error: unknown) => {
            each.pausedUntil = now() + pauseMs;
            options.log(`${repository.name} has no mirror here for now: ${String(error)}`);
            return undefined;
          }),
        () => delete each.current,
      );
      return await each.current.wait(signal);
    },
    async openSetUp(repository, { state, ...wanted }) {
      const key = host.keyOf(nameOf(repository));
      const made = await setUps.open(repository, { ...wanted, state, key });
      if (made !== undefined) await store.evict();
      const isThere =
        made !== undefined &&
        (await access(made).then(
          () => true,
          () => false,
        ));
      return isThere ? made : undefined;
    },
    giveReady: (repository, recipient) => readyClones.give(host.keyOf(nameOf(repository)), recipient),
    beginClone: running.begin,
    prepareNext(repository, state) {
      readyClones.prepare(repository, { key: host.keyOf(nameOf(repository)), state });
    },
    async doubt(repository) {
      const key = host.keyOf(nameOf(repository));
      look(key).isDoubted = true;
      await store.removeReady(key);
    },
    close: readyClones.close,
  };
}

/** The way to this repository and nowhere else. */
function readOnly(egress: Egress, repository: EgressRepository) {
  const repositories = [{ ...repository, refusePush: () => "nothing is pushed from here" }];
  return egress.within({ hosts: [], credentials: [], repositories });
}

interface MirrorOfTurn {
  repository: EgressRepository;
  name: string;
  key: string;
  isDoubted: boolean;
  signal: AbortSignal;
}

/** Gives what did not work, as a clause; empty where it did. One that is broken is made anew. */
async function bringUpToDate(
  options: MirrorsOptions,
  store: MirrorStore,
  { repository, name, key, isDoubted, signal }: MirrorOfTurn,
): Promise<string> {
  const work = await store.workFolder(key);
  const once = async () =>
    await updateMirror(options, {
      ...{ name, work, repository, ways: readOnly(options.egress, repository) },
      ...{ current: await store.current(key), isDoubted, signal },
    });
  let made: MirrorUpdate = await once();
  if (!made.ok && made.reason === "broken") {
    options.log(`the mirror of ${repository.name} was broken and is made anew: ${made.problem}`);
    await store.remove(key);
    await store.workFolder(key);
    made = await once();
  }
  if (made.ok) {
    await store.publish(key, made.folder, made);
    await store.markFresh(key);
  }
  await removeTree(work);
  if (made.ok) return "";
  if (made.reason !== "failed") await store.remove(key);
  return made.problem;
}
