/**
 * Finds the files below a folder, for scripts that run inside a sandbox.
 *
 * What a repository's `.gitignore` names can be left out. Git itself says what that is; a repository may be hostile, so
 * each question has a time limit, and an answer that breaks off counts for nothing: then more is shown, never less.
 */

/** How many repositories below the folder are asked what they ignore, and for how long, in seconds. */
const askedRepositories = 50;
const askedSeconds = 5;

const askGit = [
  `timeout -k 1 ${askedSeconds} git -c safe.directory='*' -c core.fsmonitor=false -c core.excludesFile=/dev/null`,
  "ls-files --others --ignored --exclude-standard --directory -z",
].join(" ");

/**
 * Defines `walk FOLDER LEAVE_OUT_IGNORED NAMES UNUSABLE`: prints type, bytes and path relative to the folder, NUL after
 * each. LEAVE_OUT_IGNORED is empty or not, NAMES is a regular expression of {@link globToRegex} that limits the list to
 * files, or empty, UNUSABLE a pattern of paths to pass over. Nothing inside a `.git` is listed.
 */
export const walkFunction = `
ignored() {
  command -v git >/dev/null && cd -- "$1" || return
  printf '/\\0'; ${askGit} && printf '//\\0'
  find . -name .git -prune -printf '%h\\0' -o -name node_modules -prune | sort -z | head -z -n ${askedRepositories} |
    while IFS= read -r -d '' repository && [ "$SECONDS" -lt ${2 * askedSeconds} ]; do
      [ "$repository" = . ] && continue
      printf '/%s/\\0' "\${repository#./}"
      (cd -- "$repository" && ${askGit}) && printf '//\\0'
    done
}
walk() {
  local leaves=$2
  [ -d "$1" ] || leaves=
  LC_ALL=C NAMES=$3 awk '
    BEGIN { RS = ORS = "\\0"; names = ENVIRON["NAMES"] }
    FILENAME == ARGV[1] && $0 == "//" { for (path in told) hidden[path]; split("", told); next }
    FILENAME == ARGV[1] && /^\\// { split("", told); base = substr($0, 2); next }
    FILENAME == ARGV[1] { sub(/\\/$/, ""); if ($0 != ".") told[base $0]; next }
    {
      path = $0
      sub(/^[^\\t]*\\t[^\\t]*\\t/, "", path)
      if (skipped != "" && index(path, skipped) == 1) next
      if (path in hidden) { skipped = path "/"; next }
      if (names == "" || (!/^d/ && path ~ names)) print
    }' <([ "$leaves" ] && LC_ALL=C ignored "$1" 2>/dev/null) <(
    LC_ALL=C find -H "$1" -mindepth "$([ -d "$1" ] && echo 1 || echo 0)" \\
      -path "$4" -prune -o '(' -name .git -type d -prune , -printf '%y\\t%s\\t%P\\0' ')' 2>/dev/null)
}
`;

/**
 * A glob as an extended regular expression of paths relative to the listed folder. As in a `.gitignore`, one without a
 * slash is a file's name in any folder.
 *
 * @returns for `src/*.{ts,js}`, for example, `^src/[^/]*\.(ts|js)$`
 */
export function globToRegex(glob: string): string {
  const parts = glob.match(/\*\*\/|\*\*|[\s\S]/gu) ?? [];
  let alternatives = 0;
  const regex = parts.map((part) => {
    switch (part) {
      case "**/":
        return "(.*/)?";
      case "**":
        return ".*";
      case "*":
        return "[^/]*";
      case "?":
        return "[^/]";
      case "{":
        alternatives += 1;
        return "(";
      case "}":
        if (alternatives === 0) return "[}]";
        alternatives -= 1;
        return ")";
      case ",":
        return alternatives > 0 ? "|" : ",";
      default:
        return part.replace(/[\\^$.[\]|()+]/, String.raw`\$&`);
    }
  });
  const body = regex.join("") + ")".repeat(alternatives);
  return glob.includes("/") ? `^${body.replace(/^\.?\//, "").replace(/^\\\.\//, "")}$` : `(^|/)${body}$`;
}
