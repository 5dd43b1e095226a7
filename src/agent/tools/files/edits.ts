import { fits, truncate } from "../../context/truncate.ts";
import { decodeUtf8, placeInFile, type Replaced, toLf } from "./file-text.ts";
import { countBreaks } from "./numbered-lines.ts";

export interface Edit {
  old_text: string;
  new_text: string;
  replace_all: boolean;
}

type Edited = { ok: true; data: Uint8Array; diff: string } | { ok: false; problem: string };

interface Span extends Replaced {
  /** Which edit it belongs to, from 1. */
  edit: number;
}

/** How much of a diff the model needs to see that it got what it wanted. */
const diffLimits = { lines: 80, size: 8_000 };
/** Places that one call changes at most. */
const maxPlaces = 200_000;
/** Matches of one ambiguous text that are looked for: each is read whole, and they may overlap. */
const maxMatches = 1_000;
/** Matches of it whose lines are named. */
const maxNamed = 20;

/**
 * Makes all edits in a file's content or none. Every edit is looked for in the original, so none can change what
 * another one made. Whatever no edit touches stays byte for byte, a byte order mark included. In a file with CRLF an
 * edit is found as its text is shown, with LF, and its lines get the ends of those that they stand for.
 */
export function applyEdits(content: Uint8Array, edits: readonly Edit[]): Edited {
  const raw = decodeUtf8(content);
  if (raw === undefined) return { ok: false, problem: "this is not UTF-8 text; use bash to change it." };
  const hasCrlf = raw.includes("\r\n");
  const text = hasCrlf ? toLf(raw) : raw;

  const spans: Span[] = [];
  for (const [index, edit] of edits.entries()) {
    const wanted = hasCrlf ? { ...edit, old_text: toLf(edit.old_text) } : edit;
    const found = find(text, wanted, index + 1);
    if (typeof found === "string") return { ok: false, problem: `edit ${index + 1}: ${found}` };
    if (spans.length + found.length > maxPlaces) {
      return { ok: false, problem: `more than ${maxPlaces} places would change; use bash, for example sed.` };
    }
    // One by one: a call takes no more than some hundred thousand arguments.
    for (const span of found) spans.push(span);
  }
  spans.sort((a, b) => a.start - b.start);
  for (const [index, span] of spans.entries()) {
    const next = spans[index + 1];
    if (next && next.start < span.end) {
      const line = 1 + countBreaks(text, 0, next.start);
      return {
        ok: false,
        problem: `edits ${span.edit} and ${next.edit} overlap at line ${line}; merge them into one.`,
      };
    }
  }
  if (!hasCrlf)
    return { ok: true, data: Buffer.from(splice(raw, spans, 0, raw.length)), diff: diff(raw, spans) };
  const result = splice(raw, placeInFile(raw, spans), 0, raw.length);
  const shown = spans.map((span) => ({ ...span, replacement: toLf(span.replacement) }));
  return { ok: true, data: Buffer.from(result), diff: diff(text, shown) };
}

/** The places that an edit replaces, or what is wrong with it. */
function find(text: string, { old_text, new_text, replace_all }: Edit, edit: number): Span[] | string {
  if (old_text === "") return "old_text is empty; give the text to replace.";
  if (old_text === new_text) return "old_text and new_text are the same; nothing would change.";
  const starts: number[] = [];
  // Overlapping matches count as well, except where all are replaced: any of them could be meant.
  const step = replace_all ? old_text.length : 1;
  const most = 1 + (replace_all ? maxPlaces : maxMatches);
  for (
    let at = text.indexOf(old_text);
    at >= 0 && starts.length < most;
    at = text.indexOf(old_text, at + step)
  ) {
    starts.push(at);
  }
  if (starts.length === 0)
    return "old_text does not occur in the file; read it again and copy the text exactly.";
  if (starts.length > 1 && !replace_all) {
    const count = starts.length > maxMatches ? `more than ${maxMatches}` : starts.length;
    const lines = listLines(text, starts.slice(0, maxNamed));
    const where = `${count} matches at lines ${lines.join(", ")}${starts.length > maxNamed ? ", …" : ""}`;
    return `old_text has ${where}; add surrounding text to choose one, or set replace_all.`;
  }
  return starts.map((start) => ({ start, end: start + old_text.length, replacement: new_text, edit }));
}

/** `text` from `from` to `to` with the spans in it replaced. */
function splice(text: string, spans: readonly Replaced[], from: number, to: number): string {
  let result = "";
  let at = from;
  for (const { start, end, replacement } of spans) {
    result += text.slice(at, start) + replacement;
    at = end;
  }
  return result + text.slice(at, to);
}

/** A stretch of whole lines with the spans in it. */
interface ChangedLines {
  from: number;
  to: number;
  spans: Span[];
}

/**
 * The changed lines, neighbouring spans together, unchanged lines around them as context. Compared are only those that
 * are shown: a replacement of all may change each line of a large file.
 */
function diff(text: string, spans: readonly Span[]): string {
  const hunks = groupByLines(text, spans);
  const numbers = listLines(
    text,
    hunks.map(({ from }) => from),
  );
  let shown = "";
  let count = 0;
  for (const { from, to, spans: inside } of hunks) {
    if (!fits(shown, diffLimits)) break;
    const lines = compare(splitLines(text.slice(from, to)), splitLines(splice(text, inside, from, to)));
    shown += [`${count > 0 ? "\n" : ""}@@ line ${numbers[count]} @@`, ...lines].join("\n");
    count += 1;
  }
  const others = hunks.length - count;
  const more = others > 0 ? `Changed places not shown: ${others}.` : "";
  return truncate(shown, diffLimits, { keep: "head", more });
}

function groupByLines(text: string, spans: readonly Span[]): ChangedLines[] {
  const hunks: ChangedLines[] = [];
  for (const span of spans) {
    const last = hunks.at(-1);
    const isInLast = last !== undefined && span.start < last.to;
    // A line may be as long as the file: its end is not looked for again for each span in it.
    const to = isInLast && span.end < last.to ? last.to : findLineEnd(text, span.end);
    if (isInLast) {
      last.to = to;
      last.spans.push(span);
    } else {
      hunks.push({ from: text.lastIndexOf("\n", span.start - 1) + 1, to, spans: [span] });
    }
  }
  return hunks;
}

function findLineEnd(text: string, at: number): number {
  const next = text.indexOf("\n", at);
  return next < 0 ? text.length : next + 1;
}

function compare(before: string[], after: string[]): string[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  return [
    ...before.slice(0, head).map((line) => ` ${line}`),
    ...before.slice(head, before.length - tail).map((line) => `-${line}`),
    ...after.slice(head, after.length - tail).map((line) => `+${line}`),
    ...before.slice(before.length - tail).map((line) => ` ${line}`),
  ];
}

function splitLines(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** The lines of ascending places, from 1. */
function listLines(text: string, places: readonly number[]): number[] {
  let line = 1;
  let at = 0;
  return places.map((place) => {
    line += countBreaks(text, at, place);
    at = place;
    return line;
  });
}
