import { type CodeBlock, type CodeLine, isBlank, type Line, type TextLine } from "./lines.ts";
import { type Run, writeRuns } from "./runs.ts";

/**
 * The lines as messages of at most `limit` characters, each whole by itself: a block of code that is cut is closed in
 * one and opened again in the next, and so are marks. A message ends after a paragraph if possible, else after a line,
 * within a block only if the block alone is too long, within a line only if that line alone is. Never empty.
 */
export function layOut(lines: readonly Line[], limit: number): [string, ...string[]] {
  const messages: string[] = [];
  let rest = trimBlank(lines);
  while (rest.length > 0) {
    const { head, tail } = takeMessage(rest, limit);
    messages.push(write(head));
    rest = trimBlank(tail);
  }
  const [first = "", ...others] = messages;
  return [first, ...others];
}

function trimBlank(lines: readonly Line[]): Line[] {
  const start = lines.findIndex((line) => !isBlank(line));
  return start < 0 ? [] : lines.slice(start, lines.findLastIndex((line) => !isBlank(line)) + 1);
}

function openFence({ language }: CodeBlock): string {
  return `\`\`\`${language}\n`;
}

const closingFence = "\n```";
/** Stands in a block without a word, of which Discord would show the fences. */
const emptyBlock = " ";

function writeText({ prefix, runs }: TextLine): string {
  const text = writeRuns(runs).trimEnd();
  // Without its blank, the sign of a quotation is none.
  return text === "" && !prefix.endsWith("> ") ? prefix.trimEnd() : prefix + text;
}

/** What a line adds to a message at most, fences included. */
function lengthOf(line: Line, previous: Line | undefined): number {
  const lineBreak = previous ? 1 : 0;
  if (line.kind === "text") return lineBreak + writeText(line).length;
  const opens = previous?.kind !== "code" || previous.block !== line.block;
  const fences = opens ? openFence(line.block).length + closingFence.length : 0;
  return lineBreak + fences + (opens ? Math.max(emptyBlock.length, line.text.length) : line.text.length);
}

function write(lines: readonly Line[]): string {
  const pieces: string[] = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at];
    if (line?.kind !== "code") {
      if (line) pieces.push(writeText(line));
      at += 1;
      continue;
    }
    const end = lines.findIndex((other, index) => index > at && !isInside(line, other));
    const block = lines.slice(at, end < 0 ? lines.length : end);
    const text = block.map((one) => (one.kind === "code" ? one.text : "")).join("\n");
    pieces.push(openFence(line.block) + (text.trim() === "" ? emptyBlock : text) + closingFence);
    at += block.length;
  }
  return pieces.join("\n");
}

interface Cut {
  head: readonly Line[];
  tail: readonly Line[];
}

function takeMessage(lines: readonly Line[], limit: number): Cut {
  let length = 0;
  /** The last blank line that leaves the message more than half full. */
  let paragraph = 0;
  /** The last line before which no block of code is cut. */
  let whole = 0;
  for (const [at, line] of lines.entries()) {
    const previous = lines[at - 1];
    if (!isInside(previous, line)) whole = at;
    if (isBlank(line) && length > limit / 2) paragraph = at;
    length += lengthOf(line, previous);
    if (length <= limit) continue;
    if (paragraph > 0) return cutBefore(lines, paragraph);
    if (whole === at && at > 0) return cutBefore(lines, at);
    // The block began here: one that fits into a message is not cut.
    if (line.kind === "code" && whole < at && (whole === 0 || lengthOfBlock(lines, whole) > limit))
      return cutBefore(lines, at);
    if (whole > 0) return cutBefore(lines, whole);
    return at > 0 ? cutBefore(lines, at) : cutLine(lines, limit);
  }
  return { head: lines, tail: [] };
}

function isInside(previous: Line | undefined, line: Line): boolean {
  return previous?.kind === "code" && line.kind === "code" && previous.block === line.block;
}

function lengthOfBlock(lines: readonly Line[], start: number): number {
  let length = 0;
  for (let at = start; at < lines.length; at += 1) {
    const line = lines[at];
    const previous = at > start ? lines[at - 1] : undefined;
    if (!line || (previous && !isInside(previous, line))) break;
    length += lengthOf(line, previous);
  }
  return length;
}

/** A table that is cut begins with its headings again. */
function cutBefore(lines: readonly Line[], at: number): Cut {
  const head = lines.slice(0, at);
  const [previous, line] = [lines[at - 1], lines[at]];
  if (line?.kind !== "code" || !previous || !isInside(previous, line)) return { head, tail: lines.slice(at) };
  const { block } = line;
  const repeated = block.head.map((text): CodeLine => ({ kind: "code", block, text }));
  const size = block.head.reduce((sum, text) => sum + text.length + 1, 0);
  const blockStart = head.findIndex((one) => one.kind === "code" && one.block === block);
  const isWorth = at - blockStart > block.head.length && size < write(head).length / 2;
  return { head, tail: [...(isWorth ? repeated : []), ...lines.slice(at)] };
}

/** Cuts the first line, which alone is too long. */
function cutLine([line, ...others]: readonly Line[], limit: number): Cut {
  if (!line) return { head: [], tail: [] };
  if (line.kind === "code") {
    const at = findCut(line.text, limit - openFence(line.block).length - closingFence.length);
    const [head, tail] = [line.text.slice(0, at), line.text.slice(at)];
    return { head: [{ ...line, text: head }], tail: [{ ...line, text: tail }, ...others] };
  }
  const characters = line.runs.reduce((sum, run) => sum + lengthOfRun(run), 0);
  let count = Math.min(characters - 1, limit);
  let [head, tail] = cutRuns(line.runs, count);
  for (;;) {
    const { length } = writeText({ ...line, runs: head });
    if (length <= limit || count <= 1) break;
    count = Math.max(1, Math.min(count - 1, Math.floor((count * limit) / length)));
    [head, tail] = cutRuns(line.runs, count);
  }
  return {
    head: [{ ...line, runs: head }],
    tail: [{ ...line, prefix: line.rest, runs: tail }, ...others],
  };
}

function lengthOfRun(run: Run): number {
  return run.kind === "link" ? writeRuns([run]).length : run.text.length;
}

/** The runs up to about so many characters, and the others. A link is cut only where nothing else is left to. */
function cutRuns(runs: readonly Run[], count: number): [Run[], Run[]] {
  const head: Run[] = [];
  let left = count;
  for (const [at, run] of runs.entries()) {
    const length = lengthOfRun(run);
    if (length <= left) {
      head.push(run);
      left -= length;
      continue;
    }
    if (run.kind === "link" && head.length > 0) return [head, runs.slice(at)];
    const whole: Exclude<Run, { kind: "link" }> =
      run.kind === "link" ? { kind: "text", text: writeRuns([run]), marks: run.marks } : run;
    const place = findCut(whole.text, left);
    if (place > 0) head.push({ ...whole, text: whole.text.slice(0, place) });
    return [head, [{ ...whole, text: whole.text.slice(place) }, ...runs.slice(at + 1)]];
  }
  return [head, []];
}

/** Where to cut within a line: after a blank if one is near, never within a surrogate pair. */
function findCut(text: string, limit: number): number {
  const space = text.lastIndexOf(" ", limit - 1) + 1;
  const at = space > limit * 0.8 ? space : limit;
  return /[\uDC00-\uDFFF]/.test(text.charAt(at)) ? at - 1 : at;
}
