/**
 * Finds the files below a folder, for scripts that run inside a sandbox.
 *
 * What a repository's `.gitignore` names can be left out. Git itself says what that is; a repository may be hostile, so
 * each question has a time limit, and an answer that breaks off counts for nothing: then more is shown, never less.
 */

/** How many repositories below the folder are asked what they ignore, and for how long, in seconds. */
const askedRepositories = 50;
const askedSeconds = 5;

/** How many ignored folders are not even walked through; what is in others is left out one by one. */
const prunedFolders = 200;

const askGit = [
  `timeout -k 1 ${askedSeconds} git -c safe.directory='*' -c core.fsmonitor=false -c core.excludesFile=/dev/null`,
  "ls-files --others --ignored --exclude-standard --directory -z",
].join(" ");

/**
 * Defines `walk FOLDER LEAVE_OUT_IGNORED NAMES UNUSABLE`: prints type, bytes and path relative to the folder, NUL after
 * each. LEAVE_OUT_IGNORED is empty or not, NAMES is a regular expression of {@link globToRegex} that limits the list to
 * files, or empty, UNUSABLE a pattern of paths to pass over. Nothing inside a `.git` is listed.
 *
 * Repositories near the folder are looked for first, so that what they ignore is not walked through for further ones.
 * The pattern of a folder to pass over has no escapes: one with a character that would need them is walked.
 */
export const walkFunction = `
ignored() {
  { cd -- "$1" && ${askGit} && printf '//\\0'; } 2>/dev/null | BASE=$2 awk '
    BEGIN { RS = ORS = "\\0"; base = ENVIRON["BASE"] }
    $0 == "//" { for (n = 1; n <= folders; n++) print base folder[n]; for (n = 1; n <= files; n++) print base file[n] }
    $0 == "./" { next }
    /\\/$/ { folder[++folders] = $0; next }
    { file[++files] = $0 }'
}
hide() {
  local told path
  mapfile -d "" told < <(LC_ALL=C ignored "$root$1" "$1")
  hidden+=("\${told[@]%/}")
  for path in "\${told[@]:0:${prunedFolders}}"; do
    [[ $path == */ && $root$path != *[\\\\*?[]* ]] && [ "\${#prune[@]}" -lt ${3 * prunedFolders} ] &&
      prune+=(-o -path "$root\${path%/}")
  done
}
walk() {
  local root=\${1%/}/ hidden=() prune=() repositories path depth
  local -A asked=()
  if [ "$2" ] && [ -d "$1" ] && command -v git >/dev/null; then
    hide ""
    for depth in 3 100; do
      mapfile -d "" repositories < <(LC_ALL=C find -H "$1" -mindepth 1 -maxdepth "$depth" \\
        '(' -name node_modules "\${prune[@]}" ')' -prune -o -name .git -prune -printf '%P\\0' 2>/dev/null |
        sort -z | head -z -n ${askedRepositories})
      for path in "\${repositories[@]%.git}"; do
        [ "$path" ] && [ -z "\${asked[$path]}" ] && [ "$SECONDS" -lt ${2 * askedSeconds} ] || continue
        asked[$path]=yes
        hide "$path"
      done
    done
  fi
  LC_ALL=C NAMES=$3 awk '
    BEGIN { RS = ORS = "\\0"; names = ENVIRON["NAMES"] }
    FILENAME == ARGV[1] { hidden[$0]; next }
    {
      path = $0
      sub(/^[^\\t]*\\t[^\\t]*\\t/, "", path)
      if (skipped != "" && index(path, skipped) == 1) next
      if (path in hidden) { skipped = path "/"; next }
      if (names == "" || (!/^d/ && path ~ names)) print
    }' <([ "\${#hidden[@]}" -eq 0 ] || printf '%s\\0' "\${hidden[@]}") <(
    LC_ALL=C find -H "$1" -mindepth "$([ -d "$1" ] && echo 1 || echo 0)" '(' -path "$4" "\${prune[@]}" ')' -prune \\
      -o '(' -name .git -type d -prune , -printf '%y\\t%s\\t%P\\0' ')' 2>/dev/null)
}
`;

/**
 * A glob as an extended regular expression of paths relative to the listed folder. As in a `.gitignore`, one without a
 * slash is a file's name in any folder.
 *
 * @returns for `src/*.{ts,js}`, for example, `^src/[^/]*\.(ts|js)$`
 */
export function globToRegex(glob: string): string {
  const parts = glob.match(/\*\*\/|\*\*|\[[!^]?\]?(?:\[:[a-z]+:\]|[^\]/])+\]|[\s\S]/gu) ?? [];
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
        return part.length > 1 && part.startsWith("[")
          ? toBracketExpression(part)
          : part.replace(/[\\^$.[\]|()+]/, String.raw`\$&`);
    }
  });
  const body = regex.join("") + ")".repeat(alternatives);
  return glob.includes("/") ? `^${body.replace(/^\.?\//, "").replace(/^\\\.\//, "")}$` : `(^|/)${body}$`;
}

/** `[abc]`, `[a-z]` or `[!abc]` of a glob. One whose range runs backwards is no regular expression: it means itself. */
function toBracketExpression(glob: string): string {
  const [, negation = "", listed = ""] = /^\[([!^]?)(.*)\]$/s.exec(glob) ?? [];
  const members = listed.replaceAll("\\", String.raw`\\`).replace(/^\]/, String.raw`\]`);
  try {
    RegExp(`[${members.replaceAll(/[[\]]/g, "")}]`);
  } catch {
    return glob.replaceAll(/[\\^$.[\]|()+]/g, String.raw`\$&`);
  }
  return negation ? `[^${members}/]` : `[${members}]`;
}
