/**
 * Patches as models write them: the envelope `*** Begin Patch` that OpenAI's models are trained on, and unified diffs as
 * git prints them. Both become the same changes, and line numbers are only a hint, because models count badly.
 */

/** A line of a hunk: one that stays, one that goes, or a new one. */
export interface HunkLine {
  sign: " " | "-" | "+";
  text: string;
}

/** A piece of a file. */
export interface Hunk {
  lines: HunkLine[];
  /** Lines that come before the place, outermost first, e.g. the class and the function that it is in. */
  anchors: string[];
  /** Where it began when the diff was made, from 1. */
  line?: number;
  /** It must be at the end of the file. */
  atEnd: boolean;
  /** Whether the file's last line ends in a line break afterwards, where the patch says that this changes. */
  endsInNewline?: boolean;
}

export type FileChange =
  | { kind: "add"; path: string; lines: string[]; endsInNewline: boolean }
  | { kind: "delete"; path: string }
  | { kind: "update"; path: string; to?: string; hunks: Hunk[] };

/** `problem` is for the model. */
export type ParsedPatch = { ok: true; changes: FileChange[] } | { ok: false; problem: string };

class PatchError extends Error {}

/** Reads a patch; text around it, such as a code fence, counts for nothing. */
export function parsePatch(text: string): ParsedPatch {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const start = lines.findIndex((line) => line.trimEnd() === "*** Begin Patch");
  try {
    const changes = start >= 0 ? parseEnvelope(lines.slice(start + 1)) : parseUnified(lines);
    return changes.length > 0 ? { ok: true, changes } : { ok: false, problem: noFile };
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    return { ok: false, problem: error.message };
  }
}

const noFile =
  "the patch names no file: write “*** Begin Patch”, “*** Update File: path”, hunks that begin with @@, and “*** End Patch”, or a unified diff with --- and +++ lines.";

function parseEnvelope(lines: readonly string[]): FileChange[] {
  const changes: FileChange[] = [];
  let current: FileChange | undefined;
  let nextFilled = 0;
  for (const [at, line] of lines.entries()) {
    if (line.trimEnd() === "*** End Patch") return changes;
    if (at >= nextFilled) nextFilled = findFilled(lines, at);
    // Between two files of the patch it belongs to neither, and neither does it behind a file's name.
    if (line === "" && (isEnvelopeHead(lines[nextFilled]) || isEmpty(current))) continue;
    const [, action, path = ""] = /^\*\*\* (Add|Update|Delete) File: (.+)$/.exec(line) ?? [];
    if (action) {
      current = startChange(action, path.trim());
      changes.push(current);
    } else addLine(current, line);
  }
  throw new PatchError("the patch has no “*** End Patch”: it was cut, or its last line is missing.");
}

/** Whether the patch has not said yet what is done to the file. */
function isEmpty(change: FileChange | undefined): boolean {
  if (!change || change.kind === "delete") return true;
  return (change.kind === "add" ? change.lines : change.hunks).length === 0;
}

function addLine(change: FileChange | undefined, line: string): void {
  const moved = /^\*\*\* Move to: (.+)$/.exec(line)?.[1];
  if (change?.kind === "update" && moved !== undefined) change.to = moved.trim();
  else if (change?.kind === "add") addNewLine(change, line);
  else if (change?.kind === "update") addHunkLine(change, line);
  else if (line.trim() !== "")
    throw new PatchError(`“${line.slice(0, 80)}” belongs to no file of the patch.`);
}

function isEnvelopeHead(line = ""): boolean {
  return /^\*\*\* (?:(?:Add|Update|Delete) File: |End Patch)/.test(line);
}

function startChange(action: string, path: string): FileChange {
  switch (action) {
    case "Add":
      return { kind: "add", path, lines: [], endsInNewline: true };
    case "Delete":
      return { kind: "delete", path };
    default:
      return { kind: "update", path, hunks: [] };
  }
}

function addNewLine(change: Extract<FileChange, { kind: "add" }>, line: string): void {
  if (line.startsWith("+")) change.lines.push(line.slice(1));
  // Editors and models drop the sign of an empty line.
  else if (line.trim() === "") change.lines.push("");
  else
    throw new PatchError(
      `each line of the new file ${change.path} begins with +, not “${line.slice(0, 80)}”.`,
    );
}

function addHunkLine(change: Extract<FileChange, { kind: "update" }>, line: string): void {
  const anchor = /^@@ ?(.*)$/.exec(line)?.[1];
  let hunk = change.hunks.at(-1);
  if (anchor !== undefined) {
    // Several in a row name a place from the outside in.
    if (!hunk || hunk.lines.length > 0) change.hunks.push((hunk = createHunk()));
    const numbers = /^-(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@/.exec(anchor)?.[1];
    if (numbers !== undefined) hunk.line = Number(numbers);
    else if (anchor.replace(/@@$/, "").trim()) hunk.anchors.push(anchor.replace(/ ?@@$/, ""));
    return;
  }
  if (!hunk) change.hunks.push((hunk = createHunk()));
  if (line === "*** End of File") hunk.atEnd = true;
  else addBodyLine(hunk, line, change.path);
}

function createHunk(): Hunk {
  return { lines: [], anchors: [], atEnd: false };
}

function addBodyLine(hunk: Hunk, line: string, path: string): void {
  const text = line.slice(1);
  switch (line[0]) {
    case "+":
    case "-":
    case " ":
      hunk.lines.push({ sign: line[0], text });
      break;
    // Editors and models drop the space of an empty line.
    case undefined:
      hunk.lines.push({ sign: " ", text });
      break;
    // "\ No newline at end of file", said of the line before it. Where that stays, so does the file's end.
    case "\\": {
      const sign = hunk.lines.at(-1)?.sign;
      if (sign !== " ") hunk.endsInNewline = sign === "-";
      break;
    }
    default:
      throw new PatchError(
        `each line of a hunk of ${path} begins with a space, + or -, not “${line.slice(0, 80)}”.`,
      );
  }
}

function parseUnified(lines: readonly string[]): FileChange[] {
  const changes: FileChange[] = [];
  for (let at = 0; at < lines.length; ) {
    const from = /^--- (.+)$/.exec(lines[at] ?? "")?.[1];
    const to = /^\+\+\+ (.+)$/.exec(lines[at + 1] ?? "")?.[1];
    if (/^(?:GIT binary patch|Binary files )/.test(lines[at] ?? ""))
      throw new PatchError("it has a binary file, which no patch of text can change.");
    if (from === undefined || to === undefined) {
      const renamed = readRename(lines, at);
      if (renamed) changes.push(renamed);
      at += 1;
      continue;
    }
    const { hunks, next } = parseUnifiedHunks(lines, at + 2, to);
    changes.push(createUnifiedChange(readName(from), readName(to), hunks));
    at = next;
  }
  return changes;
}

/** A file that git only renames has no hunks. */
function readRename(lines: readonly string[], at: number): FileChange | undefined {
  const path = /^rename from (.+)$/.exec(lines[at] ?? "")?.[1];
  const to = /^rename to (.+)$/.exec(lines[at + 1] ?? "")?.[1];
  const hasHunks = /^(?:index .+)?$/.test(lines[at + 2] ?? "") && (lines[at + 3] ?? "").startsWith("--- ");
  if (path === undefined || to === undefined || hasHunks) return undefined;
  return { kind: "update", path: unquote(path), to: unquote(to), hunks: [] };
}

/** Without the time that diff writes behind it, and without git's `a/` and `b/`. */
function readName(name: string): string | undefined {
  const [told = ""] = name.split("\t", 1);
  const path = unquote(told.trim());
  return path === "/dev/null" ? undefined : path.replace(/^[abciow]\//, "");
}

const escapes: Record<string, string> = { a: "\u0007", b: "\b", t: "\t", n: "\n", v: "\v", f: "\f", r: "\r" };

/** A name as git writes it that has other letters than those of ASCII, in bytes (`core.quotePath` of git-config). */
function unquote(name: string): string {
  const quoted = /^"(.*)"$/.exec(name)?.[1];
  if (quoted === undefined) return name;
  return quoted.replaceAll(/((?:\\[0-7]{3})+)|\\(.)/g, (_whole, bytes: string | undefined, sign: string) =>
    bytes === undefined ? (escapes[sign] ?? sign) : decodeOctal(bytes),
  );
}

function decodeOctal(bytes: string): string {
  const [, ...digits] = bytes.split("\\");
  return Buffer.from(digits.map((byte) => Number.parseInt(byte, 8))).toString();
}

function createUnifiedChange(from: string | undefined, to: string | undefined, hunks: Hunk[]): FileChange {
  const path = from ?? to;
  if (path === undefined) throw new PatchError("a file of the patch is /dev/null on both sides.");
  const { endsInNewline = true } = hunks.at(-1) ?? {};
  if (from === undefined) return { kind: "add", path, lines: listNewLines(hunks), endsInNewline };
  if (to === undefined) return { kind: "delete", path };
  return { kind: "update", path, hunks, ...(to !== from && { to }) };
}

function listNewLines(hunks: readonly Hunk[]): string[] {
  return hunks.flatMap(({ lines }) => lines.flatMap(({ sign, text }) => (sign === "-" ? [] : [text])));
}

function parseUnifiedHunks(
  lines: readonly string[],
  start: number,
  path: string,
): { hunks: Hunk[]; next: number } {
  const hunks: Hunk[] = [];
  let at = start;
  for (; at < lines.length && !isFileHead(lines, at); at += 1) {
    const line = lines[at] ?? "";
    const hunk = hunks.at(-1);
    if (line.startsWith("@@")) hunks.push(startUnifiedHunk(line));
    else if (hunk && /^[ +\-\\]/.test(line)) addBodyLine(hunk, line, path);
    else if (hunk && line === "") {
      const filled = findFilled(lines, at);
      if (!isWithinHunk(lines[filled])) break;
      for (; at < filled; at += 1) addBodyLine(hunk, "", path);
      at -= 1;
    } else break;
  }
  return { hunks, next: at };
}

function isFileHead(lines: readonly string[], at: number): boolean {
  return lines[at]?.startsWith("--- ") === true && lines[at + 1]?.startsWith("+++ ") === true;
}

function startUnifiedHunk(head: string): Hunk {
  const begins = /^@@ -(\d+)/.exec(head)?.[1];
  return { ...createHunk(), ...(begins !== undefined && { line: Number(begins) }) };
}

/** The first line from there on that is not empty, or the end. */
function findFilled(lines: readonly string[], from: number): number {
  let at = from;
  while (lines[at] === "") at += 1;
  return at;
}

/** Whether empty lines before this one stand within a hunk, and not behind the patch. */
function isWithinHunk(line = ""): boolean {
  return /^[ +\-\\@]/.test(line);
}
