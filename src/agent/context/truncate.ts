/**
 * The one truncator: whatever is too long for the model is cut here, at line ends where possible, and a notice
 * in its place says what was left out and where all of it can be read.
 */

/** How much text may stay. */
export interface TextLimits {
  /** Lines of the text that are kept at most, a finite number; the notice comes on top. */
  lines: number;
  /** Size of the whole result, notice included, in the unit of `measure`. */
  size: number;
  /** Characters of each line; what a longer one has more is left out without a notice. Default: as many as it has. */
  lineChars?: number;
  /** Default: bytes in UTF-8. It may be approximate (tokens): the final result is measured as a whole. */
  measure?(text: string): number;
}

/** Which part of a text matters. */
export type TruncateMode = "head" | "tail" | "both";

/** What each end may take. A tail also gets the size that its head leaves over. */
const shares: Record<TruncateMode, { head: number; tail: number }> = {
  head: { head: 1, tail: 0 },
  tail: { head: 0, tail: 1 },
  both: { head: 0.5, tail: 0.5 },
};

interface TruncateOptions {
  keep: TruncateMode;
  /** Ends the notice: where the full text lies and how to read it, as a sentence. */
  more?: string;
  /** The number of the text's first line in the notice. Default 1. */
  firstLine?: number;
  /** What the caller left out already. What is on each side of it must be larger than the limits' size. */
  gap?: Gap;
}

/** Whole lines in the middle of a text that is not there as a whole, because it would be too large. */
export interface Gap {
  lines: number;
  bytes: number;
}

export function fits(text: string, limits: TextLimits): boolean {
  return measureOf(limits)(text) <= limits.size && countLines(text) <= limits.lines;
}

/**
 * Returns `text` itself when it fits `limits`, else its head, tail or both around a notice, never larger than
 * `limits.size`. A surrogate pair is never cut.
 */
export function truncate(text: string, limits: TextLimits, options: TruncateOptions): string {
  if (options.gap === undefined && fits(text, limits)) return text;
  const measure = measureOf(limits);
  const share = shares[options.keep];

  let budget = limits.size - measure(describeCut(text, 0, text.length, options));
  while (budget > 0) {
    const head = takeFirst(text, Math.ceil(limits.lines * share.head), budget * share.head, measure);
    const tailBudget = share.tail > 0 ? budget - measure(text.slice(0, head)) : 0;
    const tail = takeLast(text, head, Math.floor(limits.lines * share.tail), tailBudget, measure);
    const result = joinParts(text.slice(0, head), describeCut(text, head, tail, options), text.slice(tail));
    const excess = measure(result) - limits.size;
    if (excess <= 0) return result;
    budget -= Math.max(excess, 1);
  }

  const bare = describeCut(text, 0, text.length, options);
  return bare.slice(0, takeFirst(bare, 1, limits.size, measure));
}

/** A final line without a line end counts. */
export function countLines(text: string): number {
  let lines = 0;
  for (let at = 0; at < text.length; lines++) at = findLineEnd(text, at);
  return lines;
}

function measureOf(limits: TextLimits): (text: string) => number {
  return limits.measure ?? Buffer.byteLength;
}

function joinParts(head: string, middle: string, tail: string): string {
  const before = head === "" || head.endsWith("\n") ? head : `${head}\n`;
  return tail === "" ? before + middle : `${before}${middle}\n${tail}`;
}

function describeCut(text: string, from: number, to: number, options: TruncateOptions): string {
  const { more, firstLine = 1, gap = { lines: 0, bytes: 0 } } = options;
  const bytes = Buffer.byteLength(text.slice(from, to)) + gap.bytes;
  const first = firstLine + countLines(text.slice(0, from));
  const last = first + countLines(text.slice(from, to)) + gap.lines - 1;
  const wholeLines = atLineStart(text, from) && atLineStart(text, to);
  const what = wholeLines
    ? `lines ${first} to ${last}, ${bytes} bytes`
    : `${bytes} of ${Buffer.byteLength(text) + gap.bytes} bytes`;
  return `[left out: ${what}.${more ? ` ${more}` : ""}]`;
}

/** The end of as many whole lines as fit, or of a part of the first one when not even that fits. */
function takeFirst(
  text: string,
  maxLines: number,
  budget: number,
  measure: (text: string) => number,
): number {
  let at = 0;
  let used = 0;
  for (let lines = 0; lines < maxLines && at < text.length; lines++) {
    const next = findLineEnd(text, at);
    used += measure(text.slice(at, next));
    if (used > budget) break;
    at = next;
  }
  if (at > 0 || maxLines < 1) return at;
  const end = findLineEnd(text, 0);
  const length = findLargest(end, (size) => measure(text.slice(0, size)) <= budget);
  return splitsPair(text, length) ? length - 1 : length;
}

/** The start of as many whole last lines as fit, not before `from`, or of a part of the last one. */
function takeLast(
  text: string,
  from: number,
  maxLines: number,
  budget: number,
  measure: (text: string) => number,
): number {
  let at = text.length;
  let used = 0;
  for (let lines = 0; lines < maxLines && at > from; lines++) {
    const start = Math.max(findLineStart(text, at), from);
    used += measure(text.slice(start, at));
    if (used > budget) break;
    at = start;
  }
  if (at < text.length || maxLines < 1) return at;
  const room = text.length - Math.max(findLineStart(text, at), from);
  const length = findLargest(room, (size) => measure(text.slice(text.length - size)) <= budget);
  const start = text.length - length;
  return splitsPair(text, start) ? start + 1 : start;
}

/** The largest size up to `max` that passes; larger sizes are taken to pass less. */
function findLargest(max: number, passes: (size: number) => boolean): number {
  let low = 0;
  let high = max;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (passes(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Just behind the line break that ends the line at `at`. */
function findLineEnd(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end + 1;
}

/** The start of the line that ends at `end` (its line break included). */
function findLineStart(text: string, end: number): number {
  return end < 2 ? 0 : text.lastIndexOf("\n", end - 2) + 1;
}

function atLineStart(text: string, at: number): boolean {
  return at === 0 || at === text.length || text[at - 1] === "\n";
}

function splitsPair(text: string, at: number): boolean {
  return at > 0 && at < text.length && /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(at - 1, at + 1));
}
