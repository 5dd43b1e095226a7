import { createHash, randomBytes } from "node:crypto";
import type { FileEntry, FileFailure, Sandbox } from "../sandbox.ts";
import { globToRegex, walkFunction } from "../walk.ts";
import { formatPath, resolveInside, threadFolders } from "./inside-path.ts";
import type { Ending } from "./spawner.ts";

export interface ScriptRequest {
  script: string;
  arguments: readonly string[];
  stdin?: Uint8Array;
  /**
   * A word that nobody can guess: where the script finds the thread's folder (`/<word>`), so that no link of a tenant
   * leads there, and the file that it makes in `new` there, which must not stay.
   */
  staged?: string;
  /** Bytes of output that the script may produce. */
  maxOutputBytes: number;
  signal?: AbortSignal | undefined;
}

/** Runs a fixed script inside the thread's sandbox; what comes from outside is only ever its arguments. */
export type RunScript = (request: ScriptRequest) => Promise<Ending & { stdout: Buffer; stderr: Buffer }>;

type FileTools = Pick<Sandbox, "readFile" | "writeFile" | "listFiles">;

const defaultReadBytes = 16 * 1024 * 1024;
const defaultListLimit = 1_000;
/** PATH_MAX of Linux, with its NUL: no program can use a longer path, though folders can be nested deeper. */
const longestPathBytes = 4096;
/** The longest path, plus type and size. */
export const longestEntryBytes = longestPathBytes + 64;
/** A pattern (for find and tar, in the C locale) of paths that are too long to be used. */
export const unusablePath = `${"?".repeat(longestPathBytes)}*`;

/** Exit codes of the scripts for what no error text of a program names. */
const notAFile = 101;
const conflict = 102;
const incomplete = 103;
/** How bash reports a script that was killed: by itself, because a file could not be opened in time. */
const neverOpened = 128 + 9;

/** How long a file may take to be opened. What was a file a moment ago may be a pipe by then, which opens never. */
const openSeconds = 2;
/** Opens a file as descriptor 4. Fails where it is no file, also when it became something else meanwhile. */
const openFunction = `
open() {
  (sleep ${openSeconds}; kill -KILL $$) >/dev/null 2>&1 &
  exec 4<"$1" || return 1
  kill $!
  [ -f /dev/fd/4 ] || return ${notAFile}
}
`;

/** Arguments: path, bytes to skip, bytes to give. Prints the size, then the bytes. */
const readScript = `${openFunction}
[ -d "$1" ] && { echo "Is a directory" >&2; exit 1; }
[ -e "$1" ] && ! [ -f "$1" ] && exit ${notAFile}
open "$1" || exit
stat -L -c %s /dev/fd/4 && tail -c "+$(($2 + 1))" <&4 | head -c "$3"
`;

/** What {@link threadFolders} are called in the thread's folder. */
const namesOfFolders = ["ws", "tmp", "shm"];

/**
 * Arguments: path, bytes that standard input must deliver, what must be there now (`any`, `absent` or a SHA-256), a new
 * file in the thread's folder, and pairs of what is mounted from that folder and where it is in it. The new content is
 * complete before it takes its place in one step, and until then where no command can see it; such a step needs both in
 * one mount, so the place is reached by way of the thread's folder as well.
 */
const writeScript = `${openFunction}
path=$1 bytes=$2 expected=$3 new=$4
[ -L "$path" ] && { path=$(readlink -vf -- "$path") || exit 1; }
[ -d "$path" ] && { echo "Is a directory" >&2; exit 1; }
[ -e "$path" ] && ! [ -f "$path" ] && exit ${notAFile}
folder=\${path%/*}
fail() { rm -f -- "$new"; exit "$1"; }
[ -d "$folder" ] || mkdir -p -- "$folder" || exit 1
cd -P -- "$folder" || exit 1
folder=$PWD place=
for ((pair = 5; pair < $#; pair += 2)); do
  cd -P -- "\${!pair}" || exit 1
  name=$((pair + 1))
  case $folder/ in "$PWD"/*) place=\${!name}\${folder#"$PWD"} ;; esac
done
[ "$place" ] || { echo "Permission denied" >&2; exit 1; }
path=$place/\${path##*/}
cat >"$new" || fail $?
[ "$(stat -c %s -- "$new")" = "$bytes" ] || fail ${incomplete}
[ -e "$path" ] && { chmod --reference="$path" -- "$new" || fail 1; }
case $expected in
  any) ;;
  absent) ln -T -- "$new" "$path" 2>/dev/null || fail ${conflict}; fail 0 ;;
  *) open "$path" && [ "$(sha256sum <&4)" = "$expected  -" ] || fail ${conflict} ;;
esac
mv -f -T -- "$new" "$path" || fail 1
`;

/**
 * Arguments: path, entries to give, {@link unusablePath}, and two of `walk`. Prints what `walk` does, with slash and 0x01
 * in each other's place: so sorted, a folder's content comes right behind it.
 */
const listScript = `${walkFunction}
path=$1 limit=$2 unusable=$3
[ -e "$path" ] || { echo "No such file or directory" >&2; exit 1; }
walk "$path" "$4" "$5" "$unusable" |
  tr '/\\001' '\\001/' | LC_ALL=C sort -z -t "$(printf '\\t')" -k 3 | head -z -n "$limit"
`;

/** The file operations of a sandbox. All of them happen inside, where only the thread's own files exist. */
export function createFileTools(run: RunScript, limits: { fileBytes: number }): FileTools {
  return {
    async readFile(path, options = {}) {
      const inside = resolveInside(path, "read");
      if (!inside.ok) return inside;
      const offset = options.offset ?? 0;
      const maxBytes = options.maxBytes ?? defaultReadBytes;
      const result = await run({
        script: readScript,
        arguments: [inside.path, String(offset), String(maxBytes)],
        maxOutputBytes: maxBytes + 32,
        signal: options.signal,
      });
      if (result.exitCode !== 0) return toFileFailure(result, path);
      const lineEnd = result.stdout.indexOf("\n");
      const size = Number(result.stdout.toString("latin1", 0, lineEnd));
      const data = result.stdout.subarray(lineEnd + 1);
      const truncated = offset + data.length < size;
      return { ok: true, data, size, truncated, ...(data.length === size && { sha256: sha256(data) }) };
    },

    async writeFile(path, data, options = {}) {
      const inside = resolveInside(path, "write");
      if (!inside.ok) return inside;
      if (data.length > limits.fileBytes) {
        const message = `${path}: ${data.length} bytes are more than a file may have (${limits.fileBytes}).`;
        return { ok: false, reason: "too-large", message };
      }
      const { ifSha256 } = options;
      const staged = randomBytes(16).toString("hex");
      const result = await run({
        script: writeScript,
        arguments: [
          inside.path,
          String(data.length),
          ifSha256 === undefined ? "any" : (ifSha256 ?? "absent"),
          `/${staged}/new/${staged}`,
          ...threadFolders.flatMap((mounted, index) => [mounted, `/${staged}/${namesOfFolders[index]}`]),
        ],
        staged,
        stdin: data,
        maxOutputBytes: 4096,
        signal: options.signal,
      });
      return result.exitCode === 0 ? { ok: true, sha256: sha256(data) } : toFileFailure(result, path);
    },

    async listFiles(path = ".", options = {}) {
      const inside = resolveInside(path, "read");
      if (!inside.ok) return inside;
      const limit = options.limit ?? defaultListLimit;
      const result = await run({
        script: listScript,
        // One more than asked for tells whether there are more.
        arguments: [
          inside.path,
          String(limit + 1),
          unusablePath,
          options.leaveOutIgnored ? "yes" : "",
          options.glob === undefined ? "" : globToRegex(options.glob),
        ],
        maxOutputBytes: (limit + 1) * longestEntryBytes,
        signal: options.signal,
      });
      if (result.exitCode !== 0) return toFileFailure(result, path);
      const records = result.stdout.toString().split("\0").slice(0, -1);
      const entries = records.slice(0, limit).map((record) => parseEntry(record, inside.path));
      return { ok: true, entries, truncated: records.length > limit };
    },
  };
}

function parseEntry(record: string, base: string): FileEntry {
  const [kind = "", bytes = "", ...name] = record.split("\t");
  const path = name
    .join("\t")
    .split("/")
    .map((part) => part.replaceAll("\u0001", "/"))
    .join("\u0001");
  return {
    path: formatPath(path === "" ? base : `${base}/${path}`),
    type: kind === "f" ? "file" : kind === "d" ? "directory" : kind === "l" ? "link" : "other",
    bytes: Number(bytes),
  };
}

/** What the programs say (in English: the language is not set), by what the caller can do about it. */
const knownErrors: [RegExp, FileFailure["reason"], string][] = [
  [/No such file or directory/, "not-found", "does not exist"],
  [/Is a directory/, "is-directory", "is a folder, not a file"],
  [/Not a directory|File exists/, "not-a-file", "has a file where its path needs a folder"],
  [/Permission denied|Read-only file system|Operation not permitted/, "denied", "may not be accessed"],
  [/No space left|Disk quota exceeded/, "disk-full", "does not fit: the disk is full"],
  [/File too large/, "too-large", "is larger than a file may be"],
];

/** What a script has failed of. @param path as the caller named it */
export function toFileFailure(result: Ending & { stderr: Buffer }, path: string): FileFailure {
  const failure = (reason: FileFailure["reason"], text: string): FileFailure => {
    return { ok: false, reason, message: `${path === "." ? "The workspace" : path} ${text}.` };
  };
  switch (result.end) {
    case "exit":
      break;
    case "disk":
      return failure("disk-full", "does not fit: the workspace is full");
    case "failed":
      return { ok: false, reason: "failed", message: result.problem ?? "The sandbox failed." };
    case "stopped":
      return failure("failed", "was not handled: the operation was stopped");
    case "timeout":
    case "memory":
    case "processes":
    case "output":
      return failure("failed", `could not be handled within the limits of the sandbox (${result.end})`);
  }
  if (result.exitCode === notAFile || result.exitCode === neverOpened)
    return failure("not-a-file", "is neither a file nor a folder");
  if (result.exitCode === conflict) return failure("conflict", "has changed meanwhile: read it again");
  if (result.exitCode === incomplete) return failure("failed", "was not written: its content did not arrive");
  const said = result.stderr.toString().trim();
  for (const [pattern, reason, text] of knownErrors) if (pattern.test(said)) return failure(reason, text);
  return failure(
    "failed",
    `could not be handled: ${said.split("\n").at(-1) || `exit code ${result.exitCode}`}`,
  );
}

function sha256(data: Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}
