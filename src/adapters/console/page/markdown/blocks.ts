/**
 * The block part of the page's Markdown, the subset that people and models use. It yields plain data.
 * A line break stays a line break, as in every chat. HTML is text like any other.
 */
import { type Inline, parseInline } from "./inline.ts";

export type Block =
  | { type: "paragraph"; children: Inline[] }
  | { type: "heading"; level: number; children: Inline[] }
  | { type: "code"; language: string; text: string }
  | { type: "rule" }
  | { type: "quote"; blocks: Block[] }
  | { type: "list"; ordered: boolean; start: number; items: ListItem[] }
  /** The first row is the head. */
  | { type: "table"; aligns: ("start" | "center" | "end")[]; rows: Inline[][][] };

export interface ListItem {
  /** Null where it is no task. */
  checked: boolean | null;
  blocks: Block[];
}

/** A block, and the line after it. */
type Parsed = [block: Block, next: number];

/** Deeper quotes and lists stay text. */
const maxDepth = 8;

const fence = /^ {0,3}(`{3,}|~{3,})/;
const heading = /^ {0,3}(#{1,6})(?: +|$)/;
const rule = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const quote = /^ {0,3}> ?/;
const marker = /^( *)([-*+]|\d{1,9}[.)])(?: +|$)/;
const task = /^\[([ xX])\] +/;

export function parseMarkdown(text: string): Block[] {
  return parseBlocks(text.replaceAll("\r\n", "\n").replaceAll("\t", "    ").split("\n"), 0);
}

function parseBlocks(lines: string[], depth: number): Block[] {
  const blocks: Block[] = [];
  let at = nextFilled(lines, 0);
  while (at < lines.length) {
    const [block, next] = parseBlock(lines, at, depth);
    blocks.push(block);
    at = nextFilled(lines, next);
  }
  return blocks;
}

/** The block that begins at this line. */
function parseBlock(lines: string[], at: number, depth: number): Parsed {
  const line = lineAt(lines, at);
  if (startsCode(line)) return parseCode(lines, at);
  const hashes = heading.exec(line);
  if (hashes) return [parseHeading(line, hashes), at + 1];
  if (rule.test(line)) return [{ type: "rule" }, at + 1];
  if (depth < maxDepth && quote.test(line)) return parseQuote(lines, at, depth);
  if (depth < maxDepth && marker.test(line)) return parseList(lines, at, depth);
  if (startsTable(lines, at)) return parseTable(lines, at);
  return parseParagraph(lines, at, depth);
}

/** After backticks there may be words but no further backtick: that would be code within a line. */
function startsCode(line: string): boolean {
  const found = fence.exec(line);
  return found !== null && !line.slice(found[0].length).includes("`");
}

function parseCode(lines: string[], at: number): Parsed {
  const [prefix = "", mark = ""] = fence.exec(lineAt(lines, at)) ?? [];
  const language = lineAt(lines, at).slice(prefix.length).trim();
  const closes = (line: string) => {
    const end = line.trim();
    return end.length >= mark.length && end === mark.charAt(0).repeat(end.length);
  };
  let end = at + 1;
  while (end < lines.length && !closes(lineAt(lines, end))) end += 1;
  return [{ type: "code", language, text: lines.slice(at + 1, end).join("\n") }, end + 1];
}

function parseHeading(line: string, [prefix, hashes = ""]: RegExpExecArray): Block {
  const words = line.slice(prefix.length).trim().split(" ");
  if (/^#+$/.test(words.at(-1) ?? "")) words.pop();
  return { type: "heading", level: hashes.length, children: parseInline(words.join(" ").trim()) };
}

function parseQuote(lines: string[], at: number, depth: number): Parsed {
  let end = at;
  while (end < lines.length && quote.test(lineAt(lines, end))) end += 1;
  const inside = lines.slice(at, end).map((line) => line.replace(quote, ""));
  return [{ type: "quote", blocks: parseBlocks(inside, depth + 1) }, end];
}

function parseList(lines: string[], at: number, depth: number): Parsed {
  const [, first = "", firstBullet = ""] = marker.exec(lineAt(lines, at)) ?? [];
  const ordered = /\d/.test(firstBullet);
  const items: ListItem[] = [];
  let next = at;
  while (next < lines.length) {
    const line = lineAt(lines, next);
    const [whole, indent = "", bullet = ""] = marker.exec(line) ?? [];
    const isOfList = whole !== undefined && indent.length < first.length + 2 && /\d/.test(bullet) === ordered;
    if (!isOfList || rule.test(line)) break;
    const end = endOfItem(lines, next, indent.length);
    items.push(parseItem(lines.slice(next, end), whole.length, depth));
    next = end;
  }
  return [{ type: "list", ordered, start: ordered ? Number.parseInt(firstBullet, 10) : 1, items }, next];
}

/** An item owns the lines that are indented below it, and the plain lines that directly follow its text. */
function endOfItem(lines: string[], at: number, indent: number): number {
  let end = at + 1;
  while (end < lines.length) {
    const line = lineAt(lines, end);
    if (line.trim() === "") {
      const following = nextFilled(lines, end);
      if (following === lines.length || indentOf(lineAt(lines, following)) < indent + 2) return following;
      end = following;
    } else if (indentOf(line) >= indent + 2 || !(startsBlock(line) || marker.test(line))) end += 1;
    else return end;
  }
  return end;
}

function parseItem([head = "", ...rest]: string[], width: number, depth: number): ListItem {
  const first = head.slice(width);
  const box = task.exec(first);
  const content = rest.map((line) => line.slice(Math.min(indentOf(line), width)));
  const blocks = parseBlocks([first.slice(box?.[0].length ?? 0), ...content], depth + 1);
  return { checked: box ? box[1] !== " " : null, blocks };
}

function startsTable(lines: string[], at: number): boolean {
  const line = lineAt(lines, at);
  if (!line.includes("|")) return false;
  const delimiters = splitCells(lineAt(lines, at + 1));
  return delimiters.every((cell) => /^:?-+:?$/.test(cell)) && delimiters.length === splitCells(line).length;
}

function parseTable(lines: string[], at: number): Parsed {
  const aligns = splitCells(lineAt(lines, at + 1)).map((cell) => {
    if (!cell.endsWith(":")) return "start";
    return cell.startsWith(":") ? "center" : "end";
  });
  let end = at + 2;
  while (lineAt(lines, end).includes("|")) end += 1;
  const body = lines.slice(at + 2, end);
  const written = lines.slice(at, end).join("\n");
  // Short rows get the cells that they lack: a wide head above many of them would make millions out of nothing.
  if (aligns.length * (body.length + 1) > written.length) {
    return [{ type: "paragraph", children: parseInline(written) }, end];
  }
  const rows = [lineAt(lines, at), ...body].map((line) => {
    const cells = splitCells(line);
    return aligns.map((_, column) => parseInline(cells[column] ?? ""));
  });
  return [{ type: "table", aligns, rows }, end];
}

/** The cells of a table's line; `\|` is a bar inside a cell. */
function splitCells(line: string): string[] {
  const parts = line
    .trim()
    .split(/(?<!\\)\|/)
    .map((cell) => cell.replaceAll("\\|", "|").trim());
  if (parts.length > 1 && parts[0] === "") parts.shift();
  if (parts.length > 1 && parts.at(-1) === "") parts.pop();
  return parts;
}

function parseParagraph(lines: string[], at: number, depth: number): Parsed {
  let end = at + 1;
  while (lineAt(lines, end).trim() !== "" && !interrupts(lines, end, depth)) end += 1;
  const text = lines
    .slice(at, end)
    .map((line) => line.trim())
    .join("\n");
  return [{ type: "paragraph", children: parseInline(text) }, end];
}

function interrupts(lines: string[], at: number, depth: number): boolean {
  const line = lineAt(lines, at);
  if (startsBlock(line) || startsTable(lines, at)) return depth < maxDepth || !quote.test(line);
  // "In\n1986. It was a year" is no list.
  const bullet = marker.exec(line)?.[2];
  return (
    depth < maxDepth && bullet !== undefined && (!/\d/.test(bullet) || Number.parseInt(bullet, 10) === 1)
  );
}

function startsBlock(line: string): boolean {
  return startsCode(line) || heading.test(line) || rule.test(line) || quote.test(line);
}

/** Empty after the last one. */
function lineAt(lines: string[], at: number): string {
  return lines[at] ?? "";
}

function nextFilled(lines: string[], at: number): number {
  let next = at;
  while (next < lines.length && lineAt(lines, next).trim() === "") next += 1;
  return next;
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
