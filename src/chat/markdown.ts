/**
 * Cuts Markdown to the size of a message so that every part still reads correctly: code fences are closed at the end of
 * a part and reopened, with their language, in the next one.
 */

interface Fence {
  /** Blanks; those of an item that begins with the fence stand where its mark does. */
  indent: string;
  marker: string;
  info: string;
}

// Longer markers or info strings do not occur in practice; refusing them bounds the space that reopening takes.
const fenceLine =
  /^([ \t]{0,20})((?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}){0,2})(`{3,20}(?!`)|~{3,20}(?!~))(.{0,60})$/;

/**
 * The text in parts of at most `limit` characters (UTF-16 units; at least 400). A part ends after a paragraph
 * if possible, else after a line, inside a fence only if the fence alone is too long, within a line only if
 * the line alone is too long. Nothing but white space at the cuts is lost. Never empty.
 */
export function splitMarkdown(text: string, limit: number): [string, ...string[]] {
  const parts: string[] = [];
  let rest = text;
  while (rest.length > limit) {
    const { head, tail } = cut(rest, limit);
    if (head.trim() !== "") parts.push(head);
    rest = tail;
  }
  if (rest.trim() !== "") parts.push(rest);
  const [first = text, ...others] = parts;
  return [first, ...others];
}

/** The file for an answer that would take too many messages, which is posted with its beginning; undefined for others. */
export function keepWholeAnswer(
  markdown: string,
  mostChars: number,
): { name: string; data: Buffer; comment: string } | undefined {
  if (markdown.length <= mostChars) return undefined;
  return { name: "answer.md", data: Buffer.from(markdown), comment: "The whole answer is in this file." };
}

/** The beginning of the text, with an ellipsis if something was left out; at most `limit` characters. */
export function cutMarkdown(text: string, limit: number): string {
  const ellipsis = "\n…";
  if (text.length <= limit) return text;
  return splitMarkdown(text, limit - ellipsis.length)[0] + ellipsis;
}

/**
 * The end of the text, behind an ellipsis if something was left out: about `limit` characters. It begins with a paragraph
 * if possible, else with a line, whose fence is opened again and whose table keeps its headings.
 */
export function cutMarkdownStart(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const { at, fence, isLine } = findStart(text, text.length - limit, limit / 2);
  const tail = text.slice(at);
  if (fence) return `…\n\n${openFence(fence)}\n${tail}`;
  if (!isLine) return `…${tail}`;
  return `…\n\n${repeatTableHead(text.slice(0, at - 1).trimEnd(), tail)}${tail}`;
}

interface Start {
  at: number;
  /** Open there. */
  fence: Fence | undefined;
  /** Whether a line begins there. */
  isLine: boolean;
}

/** Where a text may begin from `from` on; a paragraph may be looked for in so many characters. */
function findStart(text: string, from: number, room: number): Start {
  let fence: Fence | undefined;
  let first: Start | undefined;
  for (let start = 0, isParagraph = false; start < text.length && start <= from + room; ) {
    const here: Start = { at: start, fence, isLine: true };
    const end = text.indexOf("\n", start);
    const content = text.slice(start, end === -1 ? text.length : end);
    if (start >= from && content.trim() !== "") {
      if (isParagraph) return here;
      first ??= here;
    }
    fence = findFence(fence, content);
    isParagraph = !fence && content.trim() === "";
    if (end === -1) break;
    start = end + 1;
  }
  if (first) return first;
  return { at: splitsPair(text, from) ? from + 1 : from, fence, isLine: false };
}

/** Cuts a text that is longer than `limit`. The tail is shorter than the text. */
function cut(text: string, limit: number): { head: string; tail: string } {
  let fence: Fence | undefined;
  let paragraph = 0;
  let line = 0;
  let inFence: { at: number; fence: Fence } | undefined;

  // The head ends before the line break in front of `start`, which therefore may be one past the limit.
  for (let start = 0, number = 0; start <= limit + 1; number++) {
    if (!fence) line = start;
    // Line 0 opens the fence and line 1 must stay with it, or the cut would get nowhere.
    else if (number >= 2 && start + closeFence(fence).length <= limit) inFence = { at: start, fence };

    const end = text.indexOf("\n", start);
    // A fence that closes past the limit is still open at the cut.
    if (end === -1 || end > limit) break;
    const content = text.slice(start, end);
    if (!fence && content.trim() === "") paragraph = end + 1;
    fence = findFence(fence, content);
    start = end + 1;
  }

  if (paragraph > limit + 1) paragraph = 0;
  const at = paragraph > limit / 2 ? paragraph : line;
  if (at > 0) {
    const head = text.slice(0, at - 1).trimEnd();
    return { head, tail: `${repeatTableHead(head, text.slice(at))}${text.slice(at)}` };
  }
  if (inFence) return cutInFence(text, inFence.at, inFence.fence, text.slice(0, inFence.at - 1));
  if (!fence) {
    const place = findCutInLine(text, limit);
    return { head: text.slice(0, place), tail: text.slice(place) };
  }
  const place = findCutInLine(text, limit - closeFence(fence).length - 1);
  return cutInFence(text, place, fence, text.slice(0, place));
}

/** Of a line without blanks around it. */
const tableDivider = /^\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?)?$/;

/**
 * The first two lines of a table that is cut, for its rows in the tail; empty where none is cut, or where they would
 * fill too much of every part.
 */
function repeatTableHead(head: string, tail: string): string {
  if (!/^.*\|/.test(tail)) return "";
  const lines = head.split("\n");
  const start = lines.findLastIndex((line) => !line.includes("|")) + 1;
  const [headings = "", divider = "", row] = lines.slice(start);
  const both = `${headings}\n${divider}\n`;
  return row !== undefined && tableDivider.test(divider.trim()) && both.length < head.length / 2 ? both : "";
}

function cutInFence(text: string, at: number, fence: Fence, head: string): { head: string; tail: string } {
  return { head: `${head}\n${closeFence(fence)}`, tail: `${openFence(fence)}\n${text.slice(at)}` };
}

function openFence({ indent, marker, info }: Fence): string {
  return indent + marker + info;
}

function closeFence(fence: Fence): string {
  return fence.indent + fence.marker;
}

/** The fence that is open after a line. */
function findFence(open: Fence | undefined, line: string): Fence | undefined {
  const match = fenceLine.exec(line);
  if (!match) return open;
  const [, blanks = "", item = "", marker = "", info = ""] = match;
  if (open) return item === "" && marker.startsWith(open.marker) && info.trim() === "" ? undefined : open;
  const indent = blanks + " ".repeat(item.length);
  return marker.startsWith("`") && info.includes("`") ? undefined : { indent, marker, info: info.trimEnd() };
}

/**
 * Where to cut within a line: after a space if one is near `limit`, never within a surrogate pair, and not
 * where the next part would begin with what looks like a fence.
 */
function findCutInLine(text: string, limit: number): number {
  const space = text.lastIndexOf(" ", limit - 1) + 1;
  let at = space > limit * 0.8 ? space : limit;
  while (at > limit / 2 && /^[ \t]*(?:```|~~~)/.test(text.slice(at, at + 24))) at--;
  return splitsPair(text, at) ? at - 1 : at;
}

/** Whether a cut there would divide a character. */
function splitsPair(text: string, at: number): boolean {
  return /[\uDC00-\uDFFF]/.test(text.charAt(at));
}
