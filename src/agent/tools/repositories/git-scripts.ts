import { ownFolderVariable, unusableMirror } from "../../../sandbox/sandbox.ts";

/**
 * Scripts that run in the sandbox, where whatever git finds in the workspace was written by whoever steers the agent. So
 * git is told to run nothing that a repository names, and its address comes from the operator and not from `.git/config`.
 */

/** Git without hooks, replaced objects, programs for differences, or questions. */
const prepare = `
set -euo pipefail
export GIT_TERMINAL_PROMPT=0 GIT_NO_REPLACE_OBJECTS=1 GIT_ASKPASS=true LC_ALL=C.UTF-8
git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c commit.gpgSign=false -c gc.auto=0 "$@"; }
`;

/** Of the commits that are pushed. */
const ownEmail = "agent@sandbox.invalid";

/** Of objects that are put into one pack, before they are compressed: it is a file, and no file may be as large as all of them. */
const packBytes = 16_777_216;

/** Exit code where git could not fetch. */
const hostFailed = 4;

/**
 * `$1`: address, `$2`: folder, `$3`: branch or nothing; then files. Prints what was done, the commit and a hash of what it
 * says of the files, its branch, its first words, and whether there is an AGENTS.md.
 *
 * Where there is a mirror, what it holds is copied, and only what is new comes from the host, which also says anew what
 * there is: the clone is what it would be without the mirror. Where the host is at fault, that is told: without the mirror
 * it would only take longer. A clone that is ready is brought up to date in the same way. Tags may be moved at the host, and
 * a branch may be in the place of another one.
 */
export const cloneScript = `${prepare}
address=$1 folder=$2 branch=$3
shift 3
options=(-c http.lowSpeedLimit=1000 -c http.lowSpeedTime=60 -c checkout.workers=4)
fetch_new() {
  local said
  said=$(git "\${options[@]}" fetch --quiet --force --prune --prune-tags origin 2>&1) && return
  printf '%s\n' "$said" >&2
  case $said in *'unable to access'* | *'RPC failed'* | *'early EOF'* | *'hung up'*) exit ${hostFailed} ;; esac
  return 1
}
copy_mirror() {
  if [ -n "\${HEDDLE_READY:-}" ]; then mv "$HEDDLE_READY" "$folder.part" && cd "$folder.part"
  else
    git init --quiet "$folder.part" && cd "$folder.part" && mkdir -p .git/objects/pack &&
      cp --reflink=auto "$HEDDLE_MIRROR"/pack/* .git/objects/pack/ && cp "$HEDDLE_MIRROR/packed-refs" .git/
  fi &&
    git remote add origin "$address" &&
    fetch_new && git remote set-head origin --auto > /dev/null &&
    { [ -n "$branch" ] || branch=$(git symbolic-ref refs/remotes/origin/HEAD); } &&
    branch=\${branch#refs/remotes/origin/} && git "\${options[@]}" checkout --quiet --track -B "$branch" "origin/$branch"
}
if [ -e "$folder" ]; then
  [ "$(git -C "$folder" rev-parse --show-toplevel 2>/dev/null)" = "$(realpath "$folder")" ] || { echo "$folder is there already and is no clone; move it away" >&2; exit 3; }
  git -C "$folder" "\${options[@]}" fetch --quiet --force --prune --tags "$address" '+refs/heads/*:refs/remotes/origin/*'
  echo there
else
  rm -rf "$folder.part"
  if [ -n "\${HEDDLE_MIRROR:-}" ]; then
    (copy_mirror) || {
      code=$?
      rm -rf "$folder.part"
      [ "$code" -ne ${hostFailed} ] || exit "$code"
      exit ${unusableMirror}
    }
  else
    git "\${options[@]}" clone --quiet \${branch:+--branch "$branch"} -- "$address" "$folder.part" || { rm -rf "$folder.part"; exit ${hostFailed}; }
  fi
  mv "$folder.part" "$folder"
  echo cloned
fi
cd "$folder"
git rev-parse --verify --quiet HEAD || echo
if [ $# -gt 0 ]; then git ls-tree HEAD -- "$@" | git hash-object --stdin; else git rev-parse --verify --quiet HEAD || echo; fi
git symbolic-ref --short -q HEAD || echo "(no branch)"
git log -1 --format='%h %s' 2>/dev/null || echo "(no commit yet)"
for name in AGENTS.md CLAUDE.md; do if [ -f "$name" ]; then echo "$name"; exit; fi; done
echo
`;

/** Unpacks what the set-up has made of the same, over nothing that is there; {@link noSetUp} where there is nothing. */
const noSetUp = 76;
export const unpackScript = `
set -euo pipefail
[ -n "\${HEDDLE_SET_UP:-}" ] || exit ${noSetUp}
cat "$HEDDLE_SET_UP"/part-* | tar --extract --skip-old-files --no-same-owner
`;

/**
 * `$1`: address, `$2`: folder, `$3`: base branch or nothing, `$4`: branch to go on with or nothing, `$5`: prefix of the
 * thread's branches, `$6`: name for a new branch. What the folder holds as one tree, and what it follows:
 *
 * - a first push has one parent, where the work left the base;
 * - a further one has the branch as it is at the host, and the base too where the work has taken in more of it. What others
 *   have put on the branch has to be in the work then: the tree would take it back.
 *
 * Prints lines `key value`. Nothing is changed but the objects and references of git.
 */
export const proposeScript = `${prepare}
address=$1 folder=$2 base=$3 branch=$4 prefix=$5 fresh=$6
fail() { echo "$1" >&2; exit 1; }
[ -e "$folder" ] || fail "$folder is not there; call open_repository first"
cd "$folder"
if [ -z "$base" ]; then
  base=$(git ls-remote --symref "$address" HEAD | sed -n 's|^ref: refs/heads/\\(.*\\)\\tHEAD$|\\1|p')
fi
if [ -z "$base" ]; then
  heads=$(git ls-remote --heads "$address")
  [ -n "$heads" ] || fail "the repository has no commit, and so no branch that this could go to: a person must make its first commit at the host"
  fail "the host names no default branch; give base"
fi
current=$(git symbolic-ref --short -q HEAD || true)
if [ -z "$branch" ]; then
  case $current in "$prefix"*) branch=$current ;; *) branch=$fresh ;; esac
fi
tip=$(git ls-remote "$address" "refs/heads/$branch" | cut -f1)
git fetch --quiet --no-tags "$address" "refs/heads/$base"
from=$(git rev-parse FETCH_HEAD)
if [ -n "$tip" ]; then
  git fetch --quiet --no-tags "$address" "refs/heads/$branch"
  others=$(git log --no-show-signature --format=%ce "$tip" --not HEAD "$from" | grep -cvFx '${ownEmail}' || true)
  if [ "$others" -gt 0 ]; then
    fail "commits of others on $branch, $others of them, are not in your work, which would take them back; commit it, then git fetch origin $branch and git merge FETCH_HEAD, and call this again"
  fi
fi
index=$(mktemp)
trap 'rm -f "$index"' EXIT
cp "$(git rev-parse --git-path index)" "$index"
export GIT_INDEX_FILE=$index
git add --all
tree=$(git write-tree)
common=$(git merge-base "$from" HEAD) || fail "the work shares no commit with $base"
if [ -z "$tip" ]; then parents=$common since=$common
elif git merge-base --is-ancestor "$common" "$tip"; then parents=$tip since=$tip
else parents="$tip $common" since=$common
fi
printf '%s %s\\n' base "$base" branch "$branch" tree "$tree" parents "$parents" since "$since" isNew "\${tip:-new}"
`;

/**
 * `$1`: folder, `$2`: address, then what {@link proposeScript} has said: `$3`: base branch, `$4`: branch, `$5`: `new` or
 * nothing, `$6`: parents, `$7`: what it is compared with, `$8`: tree; `$9`: bytes. Every file with its lines, each with a zero
 * byte behind and one more at the end, then so much of the difference.
 *
 * Nothing in the workspace is believed, where jobs of the thread go on writing:
 *
 * - git does not ask whether an object is what its id says when it reads one, but `index-pack` names each by what is in it.
 *   So all that the difference is made of (what is alike on both sides is not read) goes through that into a repository of
 *   its own, which no other command sees. There are no settings or attributes of the folder's either, which could pass a
 *   file off as one that is not to be shown.
 * - The work has to follow from what the host itself says is there, or what is in between would be pushed unseen. For that
 *   the commits from there to the base are proven in the same way.
 */
export const differenceScript = `${prepare}
folder=$1 address=$2 base=$3 branch=$4 is_new=$5 parents=$6 since=$7 tree=$8 bytes=$9
fail() { echo "$1" >&2; exit 1; }
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_ATTR_NOSYSTEM=1
cd "$folder"
objects=$(realpath "$(git rev-parse --git-path objects)")
shallow=$(realpath "$(git rev-parse --git-path shallow)")
format=$(git rev-parse --show-object-format)
own=$(mktemp -d "\${${ownFolderVariable}:-/tmp}/shown-XXXXXXXXXX")
trap 'rm -rf "$own"' EXIT
export HOME=$own TMPDIR=$own GIT_DIR=$own/git
git init --quiet --bare --template= --object-format="$format" "$GIT_DIR"
cd "$GIT_DIR"
found() { GIT_OBJECT_DIRECTORY=$objects git "$@"; }
from= tip=
heads=$(git ls-remote "$address" "refs/heads/$base" "refs/heads/$branch")
while read -r id ref; do
  if [ "$ref" = "refs/heads/$base" ]; then from=$id; fi
  if [ "$ref" = "refs/heads/$branch" ]; then tip=$id; fi
done <<< "$heads"
moved="the branches at the host have moved on meanwhile; call this again"
[ "\${tip:-new}" = "\${is_new:-$tip}" ] || fail "$moved"
found cat-file -e "$from" 2> /dev/null || fail "$moved"
case " $parents " in *" $since "*) ;; *) fail "the work does not follow from what it is compared with" ;; esac
case " $parents " in *" \${tip:-$since} "*) ;; *) fail "$moved" ;; esac
if [ -f "$shallow" ]; then cat "$shallow" > shallow; fi
for parent in $parents; do
  if [ "$parent" != "$tip" ]; then found rev-list --boundary "$from" "^$parent"; fi
done > between
changed='s/^:([0-7]+) ([0-7]+) ([0-9a-f]+) ([0-9a-f]+) .*/\\1 \\3\\n\\2 \\4/p'
{
  tr -d - < between
  printf '%s\\n' $parents "$from" "$tree"
  found rev-parse "$since^{tree}"
  found diff-tree -r -t --raw --no-abbrev --no-renames "$since" "$tree" | sed -nE "$changed" | sed -nE '/^(000000|160000) /!s/.* //p'
} | sort -u > wanted
mkdir parts
found cat-file --batch-check='%(objectsize) %(objectname)' < wanted | sed -nE '/^[0-9]+ [0-9a-f]+$/p' |
  awk '{ sum += $1; print $2 > ("parts/" int(sum / ${packBytes})) }'
for part in parts/*; do
  found -c pack.compression=1 pack-objects --quiet --stdout --window=0 < "$part" | git index-pack --stdin > index-pack
done
other=$(git cat-file --batch-check < wanted | sed -n 's/ missing$//p')
[ -z "$other" ] || fail "what git keeps in $folder as \${other:0:\${#tree}} is missing or something else, so nobody can be shown what would be pushed: remove the folder and open the repository again"
{ sed -n 's/^-//p' between; printf '%s\\n' $parents; } >> shallow
for parent in $parents; do
  [ "$parent" = "$tip" ] || git merge-base --is-ancestor "$parent" "$from" 2> /dev/null ||
    fail "the work does not follow from $base as it is at the host; git fetch and git merge that, and call this again"
done
options=(-r -M --no-ext-diff --no-textconv --no-color)
git -c core.attributesFile=/dev/null diff-tree "\${options[@]}" -z --numstat "$since" "$tree"
printf '\\0'
git -c core.attributesFile=/dev/null diff-tree "\${options[@]}" --patch "$since" "$tree" | { head -c "$bytes"; cat > /dev/null; }
`;

/** `$1`: folder, `$2`: tree, `$3`: parents, `$4`: message. Prints the commit. */
export const commitScript = `${prepare}
cd "$1"
export GIT_AUTHOR_NAME=Heddle GIT_COMMITTER_NAME=Heddle GIT_AUTHOR_EMAIL=${ownEmail} GIT_COMMITTER_EMAIL=${ownEmail}
options=()
for parent in $3; do options+=(-p "$parent"); done
printf '%s\\n' "$4" | git commit-tree "\${options[@]}" "$2"
`;

/** `$1`: folder, `$2`: address, `$3`: commit, `$4`: branch. Then the folder is on that branch. */
export const pushScript = `${prepare}
cd "$1"
git -c advice.pushUpdateRejected=false push --quiet --no-verify "$2" "$3:refs/heads/$4"
git update-ref "refs/heads/$4" "$3"
git update-ref "refs/remotes/origin/$4" "$3"
git symbolic-ref HEAD "refs/heads/$4"
git reset --quiet --mixed
`;
