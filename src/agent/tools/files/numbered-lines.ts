import type { Gap } from "../../context/truncate.ts";

/** A text's lines, each behind its number, as the model reads them; of a long text both ends alone. */
export interface NumberedLines {
  text: string;
  /** What lies between the ends; `truncate` tells of it. */
  gap?: Gap;
}

/**
 * Puts its number before each line. A file may have millions of lines of which a few thousand are shown, so from each
 * end whole lines are numbered until they have `maxChars`, and those between are only counted.
 */
export function numberLines(text: string, firstLine: number, maxChars: number): NumberedLines {
  const head: string[] = [];
  let at = 0;
  for (let chars = 0; at <= text.length && chars < maxChars; chars += head.at(-1)?.length ?? 0) {
    const end = findBreak(text, at);
    head.push(numberLine(firstLine + head.length, text.slice(at, end)));
    at = end + 1;
  }
  const left = at > text.length ? 0 : countBreaks(text, at) + 1;
  const lastLine = firstLine + head.length + left - 1;

  const tail: string[] = [];
  let end = text.length;
  for (let chars = 0; end >= at && chars < maxChars; chars += tail.at(-1)?.length ?? 0) {
    const start = text.lastIndexOf("\n", end - 1) + 1;
    tail.push(numberLine(lastLine - tail.length, text.slice(start, end)));
    end = start - 1;
  }
  const numbered = [...head, ...tail.toReversed()].join("\n");
  if (end < at) return { text: numbered };

  const lines = left - tail.length;
  const bytes = Buffer.byteLength(text.slice(at, end + 1)) + measureNumbers(firstLine + head.length, lines);
  return { text: numbered, gap: { lines, bytes } };
}

/** Line breaks from `from` up to `to`. A loop over characters: a search for each break takes many times as long. */
export function countBreaks(text: string, from = 0, to = text.length): number {
  let breaks = 0;
  for (let at = from; at < to; at++) if (text.charCodeAt(at) === 10) breaks += 1;
  return breaks;
}

/** Where the line begins that comes `lines` lines behind the one that begins at `from`. There must be as many. */
export function skipLines(text: string, from: number, lines: number): number {
  let at = from;
  for (let left = lines; left > 0 && at < text.length; at++) if (text.charCodeAt(at) === 10) left -= 1;
  return at;
}

function numberLine(number: number, line: string): string {
  return `${String(number).padStart(numberChars)}|${line}`;
}

const numberChars = 6;

/** Bytes of the numbers of so many lines. */
function measureNumbers(firstLine: number, lines: number): number {
  let bytes = (numberChars + 1) * lines;
  const past = firstLine + lines;
  // Each further digit.
  for (let from = 10 ** numberChars; from < past; from *= 10) bytes += past - Math.max(from, firstLine);
  return bytes;
}

function findBreak(text: string, from: number): number {
  const at = text.indexOf("\n", from);
  return at < 0 ? text.length : at;
}
