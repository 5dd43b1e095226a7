/**
 * The block part of the page's Markdown, the subset that people and models use. It yields plain data.
 * A line break stays a line break, as in every chat. HTML is text like any other, but for `<br>` and `<details>`.
 */
import { type Inline, parseInline } from "./inline.ts";
import { indentOf, lineAt, nextFilled } from "./lines.ts";
import { parseTable, startsTable, type Table } from "./table.ts";

export type Block =
  | { type: "paragraph"; children: Inline[] }
  | { type: "heading"; level: number; children: Inline[] }
  | { type: "code"; language: string; text: string }
  | { type: "rule" }
  | { type: "quote"; blocks: Block[] }
  | { type: "list"; ordered: boolean; start: number; items: ListItem[] }
  | Table
  | { type: "details"; open: boolean; summary: Inline[]; blocks: Block[] }
  /** The footnotes of the text, at its end. */
  | { type: "notes"; notes: { label: string; blocks: Block[] }[] };

export interface ListItem {
  /** Null where it is no task. */
  checked: boolean | null;
  blocks: Block[];
}

/** A block, and the line after it. */
type Parsed = [block: Block, next: number];

interface Context {
  depth: number;
  /** The labels of the footnotes that the text defines. */
  notes: ReadonlySet<string>;
}

/** Deeper quotes and lists stay text. */
const maxDepth = 8;

const fence = /^ {0,3}(`{3,}|~{3,})/;
const heading = /^ {0,3}(#{1,6})(?: +|$)/;
const rule = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const quote = /^ {0,3}> ?/;
const marker = /^( *)([-*+]|\d{1,9}[.)])(?: +|$)/;
const task = /^\[([ xX])\] +/;
const setext = /^ {0,3}(?:={2,}|-{2,}) *$/;
const indented = /^ {4,}\S/;
const detailsStart = /^ {0,3}<details( open)?> *(?:<summary>(.{0,500}?)<\/summary>)? *$/i;
const detailsEnd = /^ {0,3}<\/details> *$/i;
const summary = /^ {0,3}<summary>(.{0,500}?)<\/summary> *$/i;
const note = /^ {0,3}\[\^([^\s\]]{1,40})\]: */;

/** A longer paragraph above a line is no heading. */
const headingChars = 200;

export function parseMarkdown(text: string): Block[] {
  const all = text.replaceAll("\r\n", "\n").replaceAll("\t", "    ").split("\n");
  const { lines, notes } = takeNotes(all);
  const context = { depth: 0, notes: new Set(notes.keys()) };
  const blocks = parseBlocks(lines, context);
  if (notes.size === 0) return blocks;
  const defined = [...notes].map(([label, written]) => ({ label, blocks: parseBlocks(written, context) }));
  return [...blocks, { type: "notes", notes: defined }];
}

/** Takes the definitions of footnotes out of the text, but for what looks like one in code. */
function takeNotes(all: string[]): { lines: string[]; notes: Map<string, string[]> } {
  const notes = new Map<string, string[]>();
  const lines: string[] = [];
  let isCode = false;
  let open: string[] | undefined;
  for (const line of all) {
    if (fence.test(line)) isCode = !isCode;
    const label = isCode ? undefined : note.exec(line)?.[1];
    if (label !== undefined && !notes.has(label)) {
      open = [line.replace(note, "")];
      notes.set(label, open);
    } else if (open && !isCode && / {2,}\S/y.test(line)) open.push(line.trim());
    else {
      open = undefined;
      lines.push(line);
    }
  }
  return { lines, notes };
}

function parseBlocks(lines: string[], context: Context): Block[] {
  const blocks: Block[] = [];
  let at = nextFilled(lines, 0);
  while (at < lines.length) {
    const [block, next] = parseBlock(lines, at, context);
    blocks.push(block);
    at = nextFilled(lines, next);
  }
  return blocks;
}

/** The block that begins at this line. */
function parseBlock(lines: string[], at: number, context: Context): Parsed {
  const line = lineAt(lines, at);
  const isShallow = context.depth < maxDepth;
  if (startsCode(line)) return parseCode(lines, at);
  const hashes = heading.exec(line);
  if (hashes) return [parseHeading(line, hashes, context), at + 1];
  if (rule.test(line)) return [{ type: "rule" }, at + 1];
  if (isShallow && quote.test(line)) return parseQuote(lines, at, context);
  if (isShallow && marker.test(line)) return parseList(lines, at, context);
  if (isShallow && detailsStart.test(line)) return parseDetails(lines, at, context);
  if (indented.test(line)) return parseIndented(lines, at);
  if (startsTable(lines, at)) return parseTable(lines, at, context.notes);
  return parseParagraph(lines, at, context);
}

/** The context of what is inside a block. */
function inside({ depth, notes }: Context): Context {
  return { depth: depth + 1, notes };
}

/** Lines that begin with four blanks, and the empty ones between them. */
function parseIndented(lines: string[], at: number): Parsed {
  let end = at;
  for (let next = at; next < lines.length; next += 1) {
    const line = lineAt(lines, next);
    if (indented.test(line)) end = next + 1;
    else if (line.trim() !== "") break;
  }
  const text = lines.slice(at, end).map((line) => line.slice(4));
  return [{ type: "code", language: "", text: text.join("\n") }, end];
}

/** The one element of HTML that answers of models and read-me files have in their text; without an end it has all that follows. */
function parseDetails(lines: string[], at: number, context: Context): Parsed {
  const [, open, beside] = detailsStart.exec(lineAt(lines, at)) ?? [];
  let level = 1;
  let end = at + 1;
  for (; end < lines.length; end += 1) {
    if (detailsStart.test(lineAt(lines, end))) level += 1;
    else if (detailsEnd.test(lineAt(lines, end))) level -= 1;
    if (level === 0) break;
  }
  const content = lines.slice(at + 1, end);
  const below = beside === undefined ? summary.exec(content[0] ?? "")?.[1] : undefined;
  if (below !== undefined) content.shift();
  const title = (beside ?? below ?? "").replaceAll(/<\/?\w{1,10}>/g, "").trim();
  const block: Block = {
    ...{ type: "details", open: open !== undefined },
    summary: parseInline(title || "Details", context.notes),
    blocks: parseBlocks(content, inside(context)),
  };
  return [block, end + 1];
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

function parseHeading(line: string, [prefix, hashes = ""]: RegExpExecArray, { notes }: Context): Block {
  const words = line.slice(prefix.length).trim().split(" ");
  if (/^#+$/.test(words.at(-1) ?? "")) words.pop();
  return { type: "heading", level: hashes.length, children: parseInline(words.join(" ").trim(), notes) };
}

function parseQuote(lines: string[], at: number, context: Context): Parsed {
  let end = at;
  while (end < lines.length && quote.test(lineAt(lines, end))) end += 1;
  const quoted = lines.slice(at, end).map((line) => line.replace(quote, ""));
  return [{ type: "quote", blocks: parseBlocks(quoted, inside(context)) }, end];
}

function parseList(lines: string[], at: number, context: Context): Parsed {
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
    items.push(parseItem(lines.slice(next, end), whole.length, context));
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

function parseItem([head = "", ...rest]: string[], width: number, context: Context): ListItem {
  const first = head.slice(width);
  const box = task.exec(first);
  const content = rest.map((line) => line.slice(Math.min(indentOf(line), width)));
  const blocks = parseBlocks([first.slice(box?.[0].length ?? 0), ...content], inside(context));
  return { checked: box ? box[1] !== " " : null, blocks };
}

function parseParagraph(lines: string[], at: number, context: Context): Parsed {
  let end = at + 1;
  const isHeading = lineAt(lines, at).length <= headingChars && setext.test(lineAt(lines, end));
  if (isHeading) {
    const level = lineAt(lines, end).includes("=") ? 1 : 2;
    return [
      { type: "heading", level, children: parseInline(lineAt(lines, at).trim(), context.notes) },
      end + 1,
    ];
  }
  while (lineAt(lines, end).trim() !== "" && !interrupts(lines, end, context)) end += 1;
  const text = lines
    .slice(at, end)
    .map((line) => line.trim())
    .join("\n");
  return [{ type: "paragraph", children: parseInline(text, context.notes) }, end];
}

function interrupts(lines: string[], at: number, context: Context): boolean {
  const line = lineAt(lines, at);
  const isShallow = context.depth < maxDepth;
  if (isShallow && detailsStart.test(line)) return true;
  if (startsBlock(line) || startsTable(lines, at)) return isShallow || !quote.test(line);
  // "In\n1986. It was a year" is no list.
  const bullet = marker.exec(line)?.[2];
  return isShallow && bullet !== undefined && (!/\d/.test(bullet) || Number.parseInt(bullet, 10) === 1);
}

function startsBlock(line: string): boolean {
  return startsCode(line) || heading.test(line) || rule.test(line) || quote.test(line);
}
