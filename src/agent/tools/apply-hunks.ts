import type { Hunk, HunkLine } from "./patch-text.ts";

/** `lines`: where each hunk was found, from 1. `problem` is for the model. */
export type AppliedHunks = { ok: true; text: string; lines: number[] } | { ok: false; problem: string };

interface Place {
  start: number;
  end: number;
  /** The file's own lines where they stay, so that what no line of the patch changes stays byte for byte. */
  lines: string[];
}

/**
 * Makes all changes in a text or none. Each is looked for in the text as it was, behind the one before, by its own lines:
 * where they are not there, or there more than once, nothing is changed. Spaces at the ends of lines may differ.
 */
export function applyHunks(text: string, hunks: readonly Hunk[]): AppliedHunks {
  const lines = text === "" ? [] : text.replace(/\n$/, "").split("\n");
  const places: Place[] = [];
  for (const [index, hunk] of hunks.entries()) {
    const found = findPlace(lines, hunk, places.at(-1)?.end ?? 0);
    if (typeof found === "string") return { ok: false, problem: `hunk ${index + 1}: ${found}` };
    places.push(found);
  }
  const result: string[] = [];
  let at = 0;
  for (const place of places) {
    result.push(...lines.slice(at, place.start), ...place.lines);
    at = place.end;
  }
  result.push(...lines.slice(at));
  const endsInNewline = text === "" || text.endsWith("\n");
  return {
    ok: true,
    text: result.length === 0 ? "" : `${result.join("\n")}${endsInNewline ? "\n" : ""}`,
    lines: places.map(({ start }) => start + 1),
  };
}

/** Where a hunk belongs, at or behind the line `from`; or what is wrong with it. */
function findPlace(lines: readonly string[], hunk: Hunk, from: number): Place | string {
  let start = from;
  for (const anchor of hunk.anchors) {
    const at = lines.findIndex((line, index) => index >= start && line.trim() === anchor.trim());
    if (at < 0)
      return `its place “@@ ${anchor}” is not in the file${start > 0 ? " behind the hunk before" : ""}.`;
    start = at + 1;
  }
  const before = hunk.lines.filter(({ sign }) => sign !== "+");
  if (before.length === 0) return findInsertion(lines, hunk, start);
  const found = findAll(lines, before, hunk, start);
  if (found.length === 0) return describeMissing(lines, before, from);
  const hinted = hunk.line === undefined ? undefined : found.find((at) => at === (hunk.line ?? 0) - 1);
  const [first = 0] = found;
  // The first one behind a named place is meant.
  const at = hinted ?? (found.length === 1 || hunk.anchors.length > 0 ? first : undefined);
  if (at === undefined) {
    const where = found.slice(0, 10).map((index) => index + 1);
    return `its lines are in ${found.length} places, at lines ${where.join(", ")}${found.length > 10 ? ", …" : ""}: add lines around them, or name the function behind @@.`;
  }
  return { start: at, end: at + before.length, lines: replaceLines(lines, hunk.lines, at) };
}

/** New lines only: behind the named place, at the numbered one or at the end. */
function findInsertion(lines: readonly string[], hunk: Hunk, start: number): Place | string {
  const added = hunk.lines.map(({ text }) => text);
  const put = (at: number) => ({ start: at, end: at, lines: added });
  if (hunk.atEnd || lines.length === 0) return put(lines.length);
  if (hunk.anchors.length > 0) return put(start);
  // As diff counts, the line behind which they come.
  if (hunk.line !== undefined && hunk.line <= lines.length && hunk.line >= start) return put(hunk.line);
  return "it only adds lines and does not say where: add a line that stands before or behind them.";
}

function findAll(lines: readonly string[], before: readonly HunkLine[], hunk: Hunk, start: number): number[] {
  for (const isEqual of [
    (a: string, b: string) => a === b,
    (a: string, b: string) => a.trimEnd() === b.trimEnd(),
  ]) {
    const found: number[] = [];
    const last = lines.length - before.length;
    for (let at = hunk.atEnd ? Math.max(last, start) : start; at <= last; at += 1) {
      if (before.every(({ text }, index) => isEqual(lines[at + index] ?? "", text))) found.push(at);
    }
    if (found.length > 0) return found;
  }
  return [];
}

function replaceLines(lines: readonly string[], changes: readonly HunkLine[], start: number): string[] {
  let at = start;
  return changes.flatMap(({ sign, text }) => {
    if (sign === "+") return [text];
    at += 1;
    return sign === " " ? [lines[at - 1] ?? text] : [];
  });
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
