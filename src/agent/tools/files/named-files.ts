import { createHash } from "node:crypto";
import { posix } from "node:path";
import { type Sandbox, workspaceRoot } from "../../../sandbox/sandbox.ts";
import type { NamedFile } from "../../questions.ts";

/** At most so many paths are looked at: those with a slash or a dot first, then in the order of the command. */
const maxPaths = 64;
/** So many are told apart; a command with more words than that is data above all. */
const maxCandidates = 4_096;
const parallelReads = 8;
/** Of a larger file its size and its beginning count, in bytes. */
const maxBytes = 4 * 1024 * 1024;
/** The longest path of Linux. */
const maxPathChars = 4_096;

/** Programs whose next word is the folder that later words begin from. */
const entering = new Set(["cd", "pushd", "-C"]);

/**
 * The files of the workspace that the words of a command name, with what is in them. Any word counts, whatever the
 * command does with it, and one that names no file is left out: so a file that comes or goes is a difference too.
 */
export async function readNamedFiles(
  command: string,
  sandbox: Pick<Sandbox, "readFile">,
  signal: AbortSignal,
): Promise<NamedFile[]> {
  const left = listPaths(command);
  const found: NamedFile[] = [];
  while (left.length > 0) {
    const batch = left.splice(0, parallelReads);
    const hashes = await Promise.all(batch.map((path) => hashFile(path, sandbox, signal)));
    for (const [index, path] of batch.entries()) {
      const sha256 = hashes[index];
      if (sha256 !== undefined) found.push({ path, sha256 });
    }
  }
  return found;
}

/** The paths of files that are not as they were, or are new, or gone. */
export function listChanged(before: readonly NamedFile[], after: readonly NamedFile[]): string[] {
  const [then, since] = [before, after].map(
    (files) => new Map(files.map(({ path, sha256 }) => [path, sha256])),
  );
  const paths = new Set([...before, ...after].map(({ path }) => path));
  return [...paths].filter((path) => then?.get(path) !== since?.get(path));
}

async function hashFile(
  path: string,
  sandbox: Pick<Sandbox, "readFile">,
  signal: AbortSignal,
): Promise<string | undefined> {
  const read = await sandbox.readFile(path, { maxBytes, signal });
  if (!read.ok) return undefined;
  if (read.sha256 !== undefined) return read.sha256;
  return createHash("sha256").update(`${read.size}:`).update(read.data).digest("hex");
}

/** The paths in the workspace, relative to it, that the words of a command may be. */
export function listPaths(command: string): string[] {
  const folders = [workspaceRoot];
  const paths = new Set<string>();
  let before = "";
  for (const word of listWords(command)) {
    const isFolder = entering.has(before);
    before = word;
    if (word.length > maxPathChars || word.includes("\0")) continue;
    const resolved = folders.map((folder) => posix.resolve(folder, word));
    if (isFolder) folders.push(...resolved.filter((folder) => !folders.includes(folder)).slice(0, 4));
    for (const path of resolved) {
      if (path.startsWith(`${workspaceRoot}/`)) paths.add(path.slice(workspaceRoot.length + 1));
      if (paths.size >= maxCandidates) return keepLikely(paths);
    }
  }
  return keepLikely(paths);
}

/** So that words of a here-document do not crowd out the script behind it. */
function keepLikely(paths: ReadonlySet<string>): string[] {
  const isLikely = (path: string) => /[./]/.test(path);
  return [...paths].toSorted((a, b) => Number(isLikely(b)) - Number(isLikely(a))).slice(0, maxPaths);
}

/** Words as a shell splits them, roughly: whatever may be one, also inside of quotes, assignments and options. */
function listWords(command: string): Set<string> {
  const joined = command.replaceAll("\\\n", "");
  const quoted = [...joined.matchAll(/'([^']*)'|"([^"]*)"/g)].map(
    ([, single, double]) => single ?? double ?? "",
  );
  const escaped = joined
    .split(/(?<!\\)[\s;&|<>()`"']+/)
    .filter((word) => word.includes("\\"))
    .map((word) => word.replaceAll(/\\(.)/gs, "$1"));
  const bare = joined.split(/[\s;&|<>()`"'=]+/);
  // `sh x".sh"` is one word for a shell.
  const unquoted = joined.replaceAll(/["']/g, "").split(/[\s;&|<>()`=]+/);
  return new Set([...bare, ...unquoted, ...quoted, ...escaped].filter(Boolean));
}
