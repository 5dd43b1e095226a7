import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { access, lstat, rename } from "node:fs/promises";
import { join, posix } from "node:path";
import { promisify } from "node:util";
import type { Egress } from "../egress/egress.ts";
import type { EgressRepository } from "../egress/repository.ts";
import { workspaceRoot } from "../sandbox.ts";
import type { DiskRoom } from "../thread/disk.ts";
import type { ThreadFolder } from "../thread/host.ts";
import { shellCommand } from "../thread/shell.ts";
import { removeTree } from "../workspaces/staging.ts";
import { createDemand } from "./demand.ts";
import type { RunningClones } from "./running-clones.ts";
import { type MirrorStore, viewState } from "./store.ts";
import { type RunEnding, workApart, type WorkDeps } from "./work-apart.ts";

/** Who a clone is for. */
export interface Recipient {
  folder: ThreadFolder;
  hasRoom(room: DiskRoom): Promise<boolean>;
}

/** A clone in a thread's workspace, under a name that nobody could guess before. */
export interface GivenClone {
  /** bwrap arguments: how a program is told where it is. */
  view: readonly string[];
  /** Takes it away again if it still lies where it was put. */
  end(): Promise<void>;
}

/**
 * Clones made before anybody asks, since most of the time of a clone goes into making its files. Each is given to one
 * thread, which has it alone: it is moved into its workspace, and the next is made meanwhile. So many are kept as threads
 * have asked for at once lately, up to {@link mostReady}.
 */
export interface ReadyClones {
  /** Undefined where there is none, or none for this thread. Never rejects. */
  give(key: string, recipient: Recipient): Promise<GivenClone | undefined>;
  /** Makes what is missing, of the mirror's state and in the background. */
  prepare(repository: EgressRepository, wanted: { key: string; state: string }): void;
  /** Ends what is under way. */
  close(): Promise<void>;
}

/** Of one repository: each takes as much of the disk as a clone. */
const mostReady = 4;
/** Fewer files are written in no time. */
const leastFiles = 500;
const prepareMs = 600_000;
/** What did not work, or is not worth it, is not tried again so soon, in milliseconds. */
const pauseMs = 600_000;
const exitCodes = { small: 8 };

/**
 * `$1`: branch or nothing, `$2`: fewest files. As a thread clones from a mirror, at the branch that is most likely asked
 * for; what was guessed wrong, or is new since, the thread brings up to date. It is moved and may change its owner, which
 * changes each file's ctime: git would read every file again if it looked at that. Prints KiB and inodes.
 */
const prepareScript = `
set -euo pipefail
export GIT_TERMINAL_PROMPT=0 GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null LC_ALL=C.UTF-8
git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c gc.auto=0 "$@"; }
git init --quiet clone
cd clone
mkdir -p .git/objects/pack
cp --reflink=auto "$HEDDLE_MIRROR"/pack/* .git/objects/pack/
cp "$HEDDLE_MIRROR/packed-refs" .git/
git config core.trustctime false
commit=
for branch in \${1:+"$1"} main master trunk develop; do
  commit=$(git rev-parse --verify --quiet "refs/remotes/origin/$branch^{commit}") && break
done
[ -n "$commit" ] ||
  commit=$(git for-each-ref --sort=-committerdate --count=1 --format='%(objectname)' refs/remotes/origin)
[ "$(git ls-tree -r "$commit" | wc -l)" -ge "$2" ] || exit ${exitCodes.small}
git -c checkout.workers=4 checkout --quiet --detach "$commit"
rm -rf .git/logs
echo $(du -sk . | cut -f1) $(du -s --inodes . | cut -f1)
`;

interface WantedClone {
  key: string;
  state: string;
}

export interface ReadyClonesOptions extends WorkDeps {
  egress: Egress;
  store: MirrorStore;
  /** Who waits for a clone goes first: one more is made when nobody does. */
  running: Pick<RunningClones, "quiet">;
  log(line: string): void;
  now(): number;
}

export function createReadyClones(options: ReadyClonesOptions): ReadyClones {
  const { store, running, log, now } = options;
  const pausedUntil = new Map<string, number>();
  const current = new Map<string, Promise<void>>();
  const closed = new AbortController();
  const demand = createDemand(mostReady, now);

  async function makeMissing(repository: EgressRepository, wanted: WantedClone): Promise<void> {
    const isMissing = async () => (await store.countReady(wanted.key)) < demand.peak(wanted.key);
    do await running.quiet(closed.signal);
    while (!closed.signal.aborted && (await isMissing()) && (await makeOne(repository, wanted)));
  }

  /** Whether one was made that there is room for. */
  async function makeOne(repository: EgressRepository, { key, state }: WantedClone): Promise<boolean> {
    const problem = await store.exclusively(`${key}.clone`, () =>
      makeReady(options, repository, { key, state, signal: closed.signal }),
    );
    if (problem === undefined) return false; // Another worker of this host is at it.
    if (problem !== "" && problem !== "small" && !closed.signal.aborted) {
      log(`no clone of ${repository.name} is kept ready for now: ${problem}`);
    }
    const isKept = !(await store.evict()).has(key) && problem === "";
    if (!isKept) pausedUntil.set(key, now() + pauseMs);
    return isKept;
  }

  return {
    async give(key, { folder, hasRoom }) {
      if (await configuresGit(folder)) return undefined;
      demand.note(key);
      const clone = await store.takeReady(key, hasRoom).catch(() => undefined);
      if (clone === undefined) return undefined;
      const name = `.clone-${randomBytes(16).toString("hex")}`;
      const place = join(folder.path, "ws", name);
      try {
        if (folder.owner) await changeOwner(clone, folder.owner);
        await rename(clone, place);
      } catch (error) {
        pausedUntil.set(key, now() + pauseMs);
        log(`a clone that was ready could not be given to a thread: ${String(error)}`);
        await removeTree(clone).catch(() => {});
        return undefined;
      }
      return {
        view: ["--setenv", "HEDDLE_READY", posix.join(workspaceRoot, name)],
        async end() {
          // Away from the thread first: it could change what lies in a folder while that is removed.
          const gone = await rename(place, clone).then(
            () => clone,
            () => undefined,
          );
          if (gone !== undefined) await removeTree(gone).catch(() => {});
        },
      };
    },
    prepare(repository, { key, state }) {
      const isPaused = now() < (pausedUntil.get(key) ?? 0);
      if (isPaused || current.has(key) || closed.signal.aborted) return;
      const making = makeMissing(repository, { key, state })
        .catch((error: unknown) => {
          pausedUntil.set(key, now() + pauseMs);
          log(`no clone of ${repository.name} is kept ready for now: ${String(error)}`);
        })
        .finally(() => current.delete(key));
      current.set(key, making);
    },
    async close() {
      closed.abort();
      await Promise.all(current.values());
    },
  };
}

/** In a sandbox of its own, which reaches nothing. Gives why there is none; empty where there is one. */
async function makeReady(
  options: ReadyClonesOptions,
  { name, setUp }: EgressRepository,
  { key, state, signal }: WantedClone & { signal: AbortSignal },
): Promise<string> {
  const { store } = options;
  const work = await store.workFolder(key, "clone");
  const place = { id: `clone:${name}`, name: `clone:${name} ${key}`, folder: work };
  try {
    const made = await workApart(options, place, signal, ({ run }) =>
      run({
        program: shellCommand(prepareScript, [setUp?.branch ?? "", String(leastFiles)]),
        view: viewState(state),
        joins: undefined,
        timeoutMs: prepareMs,
        floodBytes: 65_536,
      }),
    );
    const [, kib, inodes] = /^(\d{1,12}) (\d{1,9})\n$/.exec(made.stdout.toString()) ?? [];
    const clone = join(work, "ws", "clone");
    const isMade = made.end === "exit" && made.exitCode === 0 && (await lstat(clone)).isDirectory();
    if (!isMade || kib === undefined) return explain(made);
    await store.addReady(key, clone, { bytes: Number(kib) * 1_024, inodes: Number(inodes) });
    return "";
  } finally {
    await removeTree(work);
  }
}

function explain({ end, exitCode, problem, stderr }: RunEnding): string {
  if (exitCode === exitCodes.small) return "small";
  const said = stderr.toString().trim().slice(-300);
  return problem ?? (said || `git was ended (${end})`);
}

/** Then its files may be others than those of a clone that was made without that: line ends, filters. */
async function configuresGit({ path }: ThreadFolder): Promise<boolean> {
  const isThere = async (file: string) =>
    await access(join(path, "ws", file)).then(
      () => true,
      () => false,
    );
  return (await isThere(".gitconfig")) || (await isThere(".config/git"));
}

const run = promisify(execFile);

/** By a process of its own, which follows no link: there are so many files that this one would stand still. */
async function changeOwner(path: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
  const all = ["--recursive", "--no-dereference", `${uid}:${gid}`, "--", path];
  await run("chown", all, { env: { PATH: "/usr/bin:/bin" } });
}
