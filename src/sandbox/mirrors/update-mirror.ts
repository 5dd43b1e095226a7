import { join } from "node:path";
import type { WaysOut } from "../egress/egress.ts";
import { type EgressRepository, plainAddress } from "../egress/repository.ts";
import { buildProxyVariables } from "../thread/network.ts";
import { shellCommand } from "../thread/shell.ts";
import { viewState } from "./store.ts";
import { workApart, type WorkDeps } from "./work-apart.ts";

/** The whole of an update, in milliseconds. git itself gives up on a host that is silent for half a minute. */
const updateMs = 600_000;
const exitCodes = { empty: 8, broken: 9 };

/**
 * `$1`: address, `$2`: whether to look at every byte first. Leaves packs and references in the folder and prints whether
 * they are `whole`, or `more` than those of the mirror. Packs are put together when there are many. What is there already
 * is named as another folder of objects, so that nothing of it is fetched again, nor can be written.
 */
const updateScript = `
set -euo pipefail
export GIT_TERMINAL_PROMPT=0 GIT_ASKPASS=true GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null LC_ALL=C.UTF-8
shopt -s nullglob
find . -mindepth 1 -delete
git init --quiet --bare --template= new.git
cd new.git
mirror=\${HEDDLE_MIRROR:-}
check() {
  [ -n "$mirror" ] || return 0
  git for-each-ref --format='%(objecttype)' > /dev/null || exit ${exitCodes.broken}
  for index in "$mirror"/pack/*.idx; do git verify-pack "$index" || exit ${exitCodes.broken}; done
}
if [ -n "$mirror" ]; then
  mkdir -p objects/info
  echo "$mirror" > objects/info/alternates
  cp "$mirror/packed-refs" packed-refs
fi
if [ -n "$2" ]; then check; fi
git -c fetch.unpackLimit=1 -c gc.auto=0 -c http.lowSpeedLimit=1000 -c http.lowSpeedTime=30 -c protocol.version=2 \
  fetch --quiet --prune --no-write-fetch-head -- "$1" '+refs/heads/*:refs/remotes/origin/*' '+refs/tags/*:refs/tags/*' \
  || { check; exit 1; }
git pack-refs --all
[ -n "$(git for-each-ref --count=1)" ] || exit ${exitCodes.empty}
how=more
[ -n "$mirror" ] || how=whole
packs=("$mirror"/pack/*.pack objects/pack/*.pack)
if [ "\${#packs[@]}" -gt 16 ]; then
  git repack -a -d --quiet
  how=whole
fi
for file in objects/pack/pack-*; do mv "$file" ..; done
mv packed-refs ..
echo $how
`;

/** `problem` is a clause for the log. `gone`: the host no longer gives it to us. `broken`: what was there is of no use. */
export type MirrorUpdate =
  | { ok: true; folder: string; isWhole: boolean }
  | { ok: false; reason: "gone" | "broken" | "failed"; problem: string };

export interface UpdateRequest {
  name: string;
  /** Where the sandbox may write. */
  work: string;
  repository: EgressRepository;
  /** To this repository and nowhere else, signed in by its proxy. */
  ways: WaysOut;
  /** The state that there is. */
  current: string | undefined;
  isDoubted: boolean;
  signal: AbortSignal;
}

/**
 * Brings a mirror up to date, in a sandbox of its own: what git reads was written by whoever can push, and its program
 * is no place for a credential. Nothing runs in the folder any more when this resolves.
 */
export async function updateMirror(deps: WorkDeps, request: UpdateRequest): Promise<MirrorUpdate> {
  const { name, work, repository, ways, current, isDoubted, signal } = request;
  const place = { id: `mirror:${repository.name}`, name, folder: work, ways };
  return await workApart(deps, place, signal, async ({ joins, run }) => {
    if (!joins) return { ok: false, reason: "failed", problem: "its network could not be opened" };
    const { end, exitCode, problem, stdout, stderr } = await run({
      program: shellCommand(updateScript, [plainAddress(repository), isDoubted ? "doubted" : ""]),
      view: [...(current === undefined ? [] : viewState(current)), ...buildProxyVariables({})],
      joins,
      timeoutMs: updateMs,
      floodBytes: 1_048_576,
    });
    const said = stderr.toString().trim().split("\n").slice(-3).join("; ").slice(-500);
    if (end === "exit" && exitCode === 0) {
      const isWhole = stdout.toString().trim().endsWith("whole");
      return { ok: true, folder: join(work, "ws"), isWhole };
    }
    if (exitCode === exitCodes.broken) return { ok: false, reason: "broken", problem: said };
    if (exitCode === exitCodes.empty) return { ok: false, reason: "gone", problem: "it has no branch" };
    const reason = refusals.test(said) ? "gone" : "failed";
    return { ok: false, reason, problem: (problem ?? said) || `git was ended (${end})` };
  });
}

/** What git says, or repeats of the proxy's answer, when the host does not let us read it. */
const refusals = /returned error: (?:401|403|404)|not found|does not accept Heddle's credential/i;
