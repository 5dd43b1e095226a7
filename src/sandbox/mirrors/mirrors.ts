import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Egress } from "../egress/egress.ts";
import { type EgressRepository, plainAddress } from "../egress/repository.ts";
import { createMirrorStore, type MirrorStore } from "./store.ts";
import { type MirrorUpdate, type UpdateDeps, updateMirror } from "./update-mirror.ts";

/**
 * What this host keeps of repositories, so that a thread's clone copies files instead of fetching them. Workers that
 * share the host's folder share it. A mirror belongs to one entry of the settings, as its credential does.
 */
export interface Mirrors {
  /**
   * The folder of its newest state, once the host has been asked what is new: everybody who waits for that waits for one
   * fetch. Undefined where there is none to be had; who wanted to save time does without. Never rejects.
   */
  open(repository: EgressRepository, signal?: AbortSignal): Promise<string | undefined>;
  /** Somebody could make nothing of it: it is looked at, byte by byte, before anybody gets it again. */
  doubt(repository: EgressRepository): void;
}

/** Nothing is asked again so soon, in milliseconds. */
const freshMs = 60_000;
/** What did not work is not tried again so soon: everybody would wait for it. In milliseconds. */
const pauseMs = 600_000;
const pollMs = 200;

/** What this process knows of a mirror. */
interface Known {
  pausedUntil: number;
  isDoubted: boolean;
  current?: { ended: Promise<string | undefined>; waiting: number; aborter: AbortController };
}

export interface MirrorsOptions extends UpdateDeps {
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
  const nameOf = (repository: EgressRepository) => `mirror:${repository.name} ${plainAddress(repository)}`;

  const isFresh = (key: string) => now() - store.freshAt(key) < freshMs;

  function look(key: string): Known {
    const found = known.get(key) ?? { pausedUntil: 0, isDoubted: false };
    known.set(key, found);
    return found;
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
    if (problem === undefined) return isFresh(key) ? store.current(key) : undefined;
    if (problem !== "") {
      each.pausedUntil = now() + pauseMs;
      options.log(`${repository.name} has no mirror here for now: ${problem}`);
      return undefined;
    }
    each.isDoubted = false;
    await store.evict();
    const state = store.current(key);
    if (state === undefined) {
      each.pausedUntil = now() + pauseMs;
      options.log(`${repository.name} has no mirror here: it is larger than sandbox.mirrorMb`);
    }
    return state;
  }

  return {
    async open(repository, signal) {
      if (bytes === 0 || signal?.aborted) return undefined;
      const key = host.keyOf(nameOf(repository));
      const each = look(key);
      if (now() < each.pausedUntil) return undefined;
      store.touch(key);
      if (isFresh(key) && !each.isDoubted) return store.current(key);
      each.current ??= begin(each, (ends) =>
        update(repository, each, ends).catch((error: unknown) => {
          each.pausedUntil = now() + pauseMs;
          options.log(`${repository.name} has no mirror here for now: ${String(error)}`);
          return undefined;
        }),
      );
      return await waitFor(each.current, signal);
    },
    doubt(repository) {
      look(host.keyOf(nameOf(repository))).isDoubted = true;
    },
  };
}

function begin(
  each: Known,
  work: (signal: AbortSignal) => Promise<string | undefined>,
): NonNullable<Known["current"]> {
  const aborter = new AbortController();
  const ended = work(aborter.signal).finally(() => delete each.current);
  return { ended, waiting: 0, aborter };
}

/** Whoever waits can leave; with the last of them it ends. */
async function waitFor(
  current: NonNullable<Known["current"]>,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  current.waiting += 1;
  const left = Promise.withResolvers<undefined>();
  const leave = () => left.resolve(undefined);
  signal?.addEventListener("abort", leave, { once: true });
  try {
    return await Promise.race([current.ended, left.promise]);
  } finally {
    signal?.removeEventListener("abort", leave);
    current.waiting -= 1;
    if (current.waiting === 0) current.aborter.abort();
  }
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
  const once = () =>
    updateMirror(options, {
      ...{ name, work: store.workFolder(key), repository, ways: options.egress.reading(repository) },
      ...{ current: store.current(key), isDoubted, signal },
    });
  let made: MirrorUpdate = await once();
  if (!made.ok && made.reason === "broken") {
    options.log(`the mirror of ${repository.name} was broken and is made anew: ${made.problem}`);
    store.remove(key);
    made = await once();
  }
  if (made.ok) {
    store.publish(key, made.folder, made);
    store.markFresh(key);
    return "";
  }
  if (made.reason !== "failed") store.remove(key);
  return made.problem;
}

/** Another process has no other way to say that it has come to its end. */
async function waitForOther(store: MirrorStore, key: string, signal: AbortSignal): Promise<void> {
  while (store.isTaken(key) && !signal.aborted) await sleep(pollMs);
}
