import type { Hunk, HunkLine } from "./patch-text.ts";

/** `lines`: where each hunk was found, from 1. `problem` is for the model. */
export type AppliedHunks = { ok: true; text: string; lines: number[] } | { ok: false; problem: string };

interface Place {
  start: number;
  end: number;
  /** The file's own lines where they stay, so that what no line of the patch changes stays byte for byte. */
  lines: string[];
}

const byteOrderMark = "\uFEFF";
/** Lines of one text that are compared at most: up to a second, in which the process does nothing else. */
const maxComparisons = 10_000_000;
/** Places of one hunk that are named; where it is in more of them nothing hangs on how many. */
const maxNamed = 10;

/** The lines in which hunks are looked for. */
interface Searched {
  lines: readonly string[];
  /** The same without spaces at their ends. */
  trimmed: readonly string[];
  /** How many may still be compared; below 0 the search is given up. */
  comparisons: number;
}

/**
 * Makes all changes in a text or none. Each is looked for in the text as it was, behind the one before, by its own lines:
 * where they are not there, or there more than once, nothing is changed. Spaces at the ends of lines may differ.
 */
export function applyHunks(content: string, hunks: readonly Hunk[]): AppliedHunks {
  const mark = findMark(content, hunks);
  const text = content.slice(mark.length);
  const lines = text === "" ? [] : text.replace(/\n$/, "").split("\n");
  const trimmed = lines.map((line) => line.trimEnd());
  const searched: Searched = { lines, trimmed, comparisons: maxComparisons };
  const places: Place[] = [];
  for (const [index, hunk] of hunks.entries()) {
    const found = findPlace(searched, hunk, places.at(-1)?.end ?? 0);
    if (searched.comparisons < 0)
      return { ok: false, problem: `hunk ${index + 1}: ${describeTooLong(lines)}` };
    if (typeof found === "string") return { ok: false, problem: `hunk ${index + 1}: ${found}` };
    places.push(found);
  }
  const parts: string[][] = [];
  let at = 0;
  for (const place of places) {
    parts.push(lines.slice(at, place.start), place.lines);
    at = place.end;
  }
  parts.push(lines.slice(at));
  const result = parts.flat();
  const told = places.at(-1)?.end === lines.length ? hunks.at(-1)?.endsInNewline : undefined;
  const endsInNewline = told ?? (text === "" || text.endsWith("\n"));
  return {
    ok: true,
    text: result.length === 0 ? mark : `${mark}${result.join("\n")}${endsInNewline ? "\n" : ""}`,
    lines: places.map(({ start }) => start + 1),
  };
}

/**
 * The byte order mark that a text begins with and that is no part of its first line: whoever reads the file is not shown
 * it. A patch that has it itself, as git makes them, may also take it away.
 */
function findMark(text: string, hunks: readonly Hunk[]): string {
  if (!text.startsWith(byteOrderMark)) return "";
  const isNamed = hunks.some((hunk) => hunk.lines.some((line) => line.text.startsWith(byteOrderMark)));
  return isNamed ? "" : byteOrderMark;
}

/** Where a hunk belongs, at or behind the line `from`; or what is wrong with it. */
function findPlace(searched: Searched, hunk: Hunk, from: number): Place | string {
  const { lines } = searched;
  let start = from;
  for (const anchor of hunk.anchors) {
    const at = findAnchor(searched, anchor, start);
    if (at < 0)
      return `its place “@@ ${anchor}” is not in the file${start > 0 ? " behind the hunk before" : ""}.`;
    start = at + 1;
  }
  const before = hunk.lines.filter(({ sign }) => sign !== "+");
  if (before.length === 0) return findInsertion(lines, hunk, start);
  const found = findAll(searched, before, hunk, start);
  if (found.length === 0) {
    return describeElsewhere(searched, before, hunk, { from, start }) ?? describeMissing(lines, before, from);
  }
  const hinted = hunk.line === undefined ? undefined : found.find((at) => at === (hunk.line ?? 0) - 1);
  const [first = 0] = found;
  const at = hinted ?? (found.length === 1 || hunk.anchors.length > 0 ? first : undefined);
  if (at === undefined) {
    const where = found.slice(0, maxNamed).map((index) => index + 1);
    const [count, others] = found.length > maxNamed ? [`more than ${maxNamed}`, ", …"] : [found.length, ""];
    return `its lines are in ${count} places, at lines ${where.join(", ")}${others}: add lines around them, or name the function behind @@.`;
  }
  return { start: at, end: at + before.length, lines: replaceLines(lines, hunk.lines, at) };
}

/** New lines only: behind the named place, at the numbered one or at the end. */
function findInsertion(lines: readonly string[], hunk: Hunk, start: number): Place | string {
  const put = (at: number) => ({ start: at, end: at, lines: replaceLines(lines, hunk.lines, at) });
  if (hunk.atEnd || lines.length === 0) return put(lines.length);
  if (hunk.anchors.length > 0) return put(start);
  // As diff counts, the line behind which they come.
  if (hunk.line !== undefined && hunk.line <= lines.length && hunk.line >= start) return put(hunk.line);
  return "it only adds lines and does not say where: add a line that stands before or behind them.";
}

function findAnchor(searched: Searched, anchor: string, start: number): number {
  const wanted = anchor.trim();
  for (let at = start; at < searched.lines.length && searched.comparisons >= 0; at++) {
    searched.comparisons -= 1;
    if (searched.lines[at]?.trim() === wanted) return at;
  }
  return -1;
}

/** Where the lines are, and whether they are at the hunk's own number; after the first few places no further ones. */
function findAll(searched: Searched, before: readonly HunkLine[], hunk: Hunk, start: number): number[] {
  const { lines, trimmed } = searched;
  const exact = before.map(({ text }) => text);
  const last = lines.length - before.length;
  const first = hunk.atEnd ? Math.max(last, start) : start;
  const hinted = (hunk.line ?? 0) - 1;
  // The first one behind a named place is meant.
  const enough = hunk.anchors.length > 0 ? 1 : maxNamed + 1;
  for (const [all, wanted] of [
    [lines, exact],
    [trimmed, exact.map((text) => text.trimEnd())],
  ] as const) {
    const isAt = (at: number) => {
      const equal = countEqual(all, wanted, at);
      searched.comparisons -= equal + 1;
      return equal === wanted.length;
    };
    const found: number[] = [];
    let at = first;
    for (; at <= last && found.length < enough && searched.comparisons >= 0; at++) {
      if (isAt(at)) found.push(at);
    }
    if (hinted >= at && hinted <= last && isAt(hinted)) found.push(hinted);
    if (found.length > 0) return found;
  }
  return [];
}

/** How many of the wanted lines stand at this place, until the first that does not. */
function countEqual(all: readonly string[], wanted: readonly string[], at: number): number {
  let equal = 0;
  while (equal < wanted.length && all[at + equal] === wanted[equal]) equal += 1;
  return equal;
}

function describeTooLong({ length }: readonly string[]): string {
  return `looking for it among ${length} lines takes too long: make the changes by several patches, by edits, or with bash.`;
}

function replaceLines(lines: readonly string[], changes: readonly HunkLine[], start: number): string[] {
  let at = start;
  return changes.flatMap(({ sign, text }) => {
    // Where some lines of a file end in CRLF, as the line does that it stands for, or one beside it.
    const beside = lines[at > start ? at - 1 : at] ?? lines[at - 1];
    if (sign === "+") return [beside?.endsWith("\r") ? `${text}\r` : text];
    at += 1;
    return sign === " " ? [lines[at - 1] ?? text] : [];
  });
}

/** Says where the lines are whose place is said wrongly. */
function describeElsewhere(
  searched: Searched,
  before: readonly HunkLine[],
  hunk: Hunk,
  { from, start }: { from: number; start: number },
): string | undefined {
  if (!hunk.atEnd && start === from) return undefined;
  const anywhere = { anchors: [], lines: hunk.lines, atEnd: false };
  const found = findAll(searched, before, anywhere, from);
  const at = found.find((index) => index >= start) ?? found[0];
  if (at === undefined) return undefined;
  const place = at < start ? `behind its place “@@ ${hunk.anchors.join(" @@ ")}”` : "at the end of the file";
  return `its lines are at line ${at + 1}, but not ${place}: read the file again and correct its place.`;
}

/** Says which line does not fit, where the others nearly do. */
function describeMissing(lines: readonly string[], before: readonly HunkLine[], from: number): string {
  const [first] = before;
  const again = "read the file again and copy its lines exactly.";
  const start = lines.findIndex((line, index) => index >= from && line.trimEnd() === first?.text.trimEnd());
  if (start < 0) {
    const behind = from > 0 ? ` behind line ${from}` : "";
    return `its first line “${first?.text.trim().slice(0, 80)}” is not in the file${behind}: ${again}`;
  }
  const wrong = before.findIndex(
    ({ text }, index) => (lines[start + index] ?? "").trimEnd() !== text.trimEnd(),
  );
  const there = lines[start + wrong]?.trim().slice(0, 80) ?? "the end of the file";
  return `line ${start + wrong + 1} of the file is “${there}”, not “${before[wrong]?.text.trim().slice(0, 80)}”: ${again}`;
}
