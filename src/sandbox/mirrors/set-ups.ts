import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Egress } from "../egress/egress.ts";
import { type EgressRepository, plainAddress, type RepositorySetUp } from "../egress/repository.ts";
import { buildProxyVariables } from "../thread/network.ts";
import { showFiles } from "../thread/shown-files.ts";
import { removeTree } from "../workspaces/staging.ts";
import { shellCommand } from "../thread/shell.ts";
import { shareWork, type SharedWork } from "./shared-work.ts";
import { type MirrorStore, viewState, waitForOther } from "./store.ts";
import { type RunEnding, workApart, type WorkDeps } from "./work-apart.ts";

/** What set-ups of repositories have made, for the threads that clone the same. */
export interface SetUps {
  /**
   * The folder with what the repository's set-up makes of the commit, in pieces of one archive. It is made once, for all
   * who wait. Undefined where that does not work; who asked runs it himself. Never rejects.
   */
  open(repository: EgressRepository, wanted: WantedSetUp): Promise<string | undefined>;
}

export interface WantedSetUp {
  /** The mirror's key, and its state, which has the commit. */
  key: string;
  state: string;
  commit: string;
  /** The same for commits whose set-ups make the same; looked into before it is believed. */
  content: string;
  /** bwrap arguments: tool chains. */
  view: readonly string[];
  signal: AbortSignal | undefined;
}

const setUpMs = 600_000;
const pauseMs = 600_000;

const environment = `
set -euo pipefail
export GIT_TERMINAL_PROMPT=0 GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null LC_ALL=C.UTF-8
git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false "$@"; }
`;

/**
 * `$1`: folder's name, `$2`: address, `$3`: commit, `$4`: branch that must have it, or nothing, `$5`: content, `$6`: the
 * command; then the files that the content is of. Who asks for a commit may have been told what to ask for: one that is
 * on no branch is not set up, and where several commits share what is made, only what the operator's branch has.
 */
const makeScript = `${environment}
name=$1 address=$2 commit=$3 branch=$4 content=$5 command=$6
shift 6
find . /tmp -mindepth 1 -delete
git init --quiet "$name"
cd "$name"
mkdir -p .git/objects/info
echo "$HEDDLE_MIRROR" > .git/objects/info/alternates
cp "$HEDDLE_MIRROR/packed-refs" .git/
git remote add origin "$address"
[ -n "$(git for-each-ref --count=1 --contains "$commit" \${branch:+"refs/remotes/origin/$branch"})" ]
if [ $# -gt 0 ]; then [ "$(git ls-tree "$commit" -- "$@" | git hash-object --stdin)" = "$content" ]; fi
git -c checkout.workers=4 checkout --quiet --detach "$commit"
unset -f git
unset GIT_CONFIG_NOSYSTEM GIT_CONFIG_GLOBAL HEDDLE_MIRROR
exec bash --noprofile --norc -c "$command"
`;

/** `$1`: folder's name, `$2`: bytes of a piece. What is there beside the repository's own files, without caches. */
const packScript = `${environment}
find /tmp -mindepth 1 -delete
{
  git -C "$1" ls-files --others -z | sed -z "s|^|./$1/|"
  find . -mindepth 1 -maxdepth 1 ! -name "$1" ! -name .npm ! -name .cache -print0
} | tar --create --null --files-from=- | split -b "$2" - /tmp/part-
`;

export interface SetUpsOptions extends WorkDeps {
  egress: Egress;
  store: MirrorStore;
  log(line: string): void;
  now(): number;
}

export function createSetUps(options: SetUpsOptions): SetUps {
  const { store, log, now } = options;
  const current = new Map<string, SharedWork<string | undefined>>();
  const pausedUntil = new Map<string, number>();

  async function make(
    repository: EgressRepository & { setUp: RepositorySetUp },
    wanted: WantedSetUp & { name: string },
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { key, name } = wanted;
    const lock = `${key}.set-up`;
    const problem = await store.exclusively(
      lock,
      async () =>
        (await store.findSetUp(key, name)) === undefined &&
        (await runSetUp(options, repository, wanted, signal)),
    );
    // Another worker of this host is at it, or at another one of the same repository.
    if (problem === undefined) await waitForOther(store, lock, signal);
    if (typeof problem === "string" && !signal.aborted) {
      pausedUntil.set(name, now() + pauseMs);
      log(`the set-up of ${repository.name} is left to its threads for now: ${problem}`);
    }
    return await store.findSetUp(key, name);
  }

  return {
    async open({ setUp, ...repository }, { content: told, ...asked }) {
      if (!setUp || !/^[0-9a-f]{40,64}$/.test(asked.commit)) return undefined;
      const wanted = { ...asked, content: setUp.files.length > 0 ? told : asked.commit };
      const name = createHash("sha256")
        .update(JSON.stringify([setUp.command, setUp.files, wanted.content, wanted.view]))
        .digest("hex");
      const found = await store.findSetUp(wanted.key, name);
      if (found !== undefined || now() < (pausedUntil.get(name) ?? 0)) return found;
      pausedUntil.delete(name);
      const id = `${wanted.key} ${name}`;
      const work =
        current.get(id) ??
        shareWork(
          (signal) =>
            make({ ...repository, setUp }, { ...wanted, name }, signal).catch((error: unknown) => {
              log(`the set-up of ${repository.name} did not work: ${String(error)}`);
              return undefined;
            }),
          () => current.delete(id),
        );
      current.set(id, work);
      return await work.wait(wanted.signal);
    },
  };
}

/** In a sandbox of its own, which reaches the repository's registries and nothing else. Gives why it did not work. */
async function runSetUp(
  options: SetUpsOptions,
  repository: EgressRepository & { setUp: RepositorySetUp },
  { key, name, state, commit, content, view }: WantedSetUp & { name: string },
  signal: AbortSignal,
): Promise<string | false> {
  const { host, egress, store, log } = options;
  const { setUp } = repository;
  const id = `set-up:${repository.name}`;
  const work = await store.workFolder(key, "set-up");
  const ways = egress.within({ ...setUp.reach, credentials: [] });
  const wayOut = () => [
    ...buildProxyVariables(setUp.reach.variables),
    ...showFiles(host, setUp.reach.files ?? {}),
  ];
  const parameters = [
    repository.name,
    plainAddress(repository),
    commit,
    setUp.branch ?? "",
    content,
    setUp.command,
  ];
  const limits = { timeoutMs: setUpMs, floodBytes: host.limits.outputBytes * 16 };
  try {
    return await workApart(
      options,
      { id, name: `${id} ${key}`, folder: work, ways },
      signal,
      async ({ joins, run }) => {
        const made = await run({
          program: shellCommand(makeScript, [...parameters, ...setUp.files]),
          view: [...viewState(state), ...view, ...(joins ? wayOut() : [])],
          joins,
          ...limits,
        });
        const failure =
          explainFailure(made) ??
          explainFailure(
            await run({
              program: shellCommand(packScript, [repository.name, String(host.limits.fileBytes)]),
              view: [],
              joins: undefined,
              ...limits,
            }),
          );
        if (failure !== undefined) return failure;
        await store.publishSetUp(key, name, join(work, "tmp"));
        return false;
      },
    );
  } finally {
    await removeTree(work).catch((error: unknown) => log(`${work} could not be removed: ${String(error)}`));
  }
}

/** Why a program did not do its work; undefined where it did. */
function explainFailure({ end, exitCode, problem, stdout, stderr }: RunEnding): string | undefined {
  if (end === "exit" && exitCode === 0) return undefined;
  const said = Buffer.concat([stdout, stderr]).toString().trim().slice(-300);
  return problem ?? `${end === "exit" ? `exit code ${exitCode}` : end}: ${said}`;
}
