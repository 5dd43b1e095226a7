/**
 * The block part of the page's Markdown, the subset that people and models use. It yields plain data:
 *
 * Block = { type: "paragraph" | "heading", children, level? } | { type: "code", language, text } | { type: "rule" }
 *       | { type: "quote", blocks } | { type: "list", ordered, start, items: { checked, blocks }[] }
 *       | { type: "table", aligns, rows: Inline[][][] }   (the first row is the head)
 *
 * A line break stays a line break, as in every chat. HTML is text like any other.
 */
import { parseInline } from "./inline.js";

/** Deeper quotes and lists stay text. */
const maxDepth = 8;

const fence = /^ {0,3}(`{3,}|~{3,})/;
const heading = /^ {0,3}(#{1,6})(?: +|$)/;
const rule = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const quote = /^ {0,3}> ?/;
const marker = /^( *)([-*+]|\d{1,9}[.)])(?: +|$)/;
const task = /^\[([ xX])\] +/;

export function parseMarkdown(text) {
  return parseBlocks(text.replaceAll("\r\n", "\n").replaceAll("\t", "    ").split("\n"), 0);
}

function parseBlocks(lines, depth) {
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (lines[at].trim() === "") {
      at += 1;
      continue;
    }
    const [block, next] = parseBlock(lines, at, depth);
    blocks.push(block);
    at = next;
  }
  return blocks;
}

/** The block that begins at this line, and the line after it. */
function parseBlock(lines, at, depth) {
  const line = lines[at];
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
function startsCode(line) {
  const found = fence.exec(line);
  return found !== null && !line.slice(found[0].length).includes("`");
}

function parseCode(lines, at) {
  const [prefix, mark] = fence.exec(lines[at]);
  const language = lines[at].slice(prefix.length).trim();
  const closes = (line) => {
    const end = line.trim();
    return end.length >= mark.length && end === mark[0].repeat(end.length);
  };
  let end = at + 1;
  while (end < lines.length && !closes(lines[end])) end += 1;
  return [{ type: "code", language, text: lines.slice(at + 1, end).join("\n") }, end + 1];
}

function parseHeading(line, [prefix, hashes]) {
  const words = line.slice(prefix.length).trim().split(" ");
  if (/^#+$/.test(words.at(-1))) words.pop();
  return { type: "heading", level: hashes.length, children: parseInline(words.join(" ").trim()) };
}

function parseQuote(lines, at, depth) {
  let end = at;
  while (end < lines.length && quote.test(lines[end])) end += 1;
  const inside = lines.slice(at, end).map((line) => line.replace(quote, ""));
  return [{ type: "quote", blocks: parseBlocks(inside, depth + 1) }, end];
}

function parseList(lines, at, depth) {
  const [, indent, bullet] = marker.exec(lines[at]);
  const ordered = /\d/.test(bullet);
  const items = [];
  let next = at;
  while (next < lines.length) {
    const found = marker.exec(lines[next]);
    const sameList = found && found[1].length < indent.length + 2 && /\d/.test(found[2]) === ordered;
    if (!sameList || rule.test(lines[next])) break;
    const end = endOfItem(lines, next, found[1].length);
    items.push(parseItem(lines.slice(next, end), found[0].length, depth));
    next = end;
  }
  return [{ type: "list", ordered, start: ordered ? Number.parseInt(bullet, 10) : 1, items }, next];
}

/** An item owns the lines that are indented below it, and the plain lines that directly follow its text. */
function endOfItem(lines, at, indent) {
  let end = at + 1;
  while (end < lines.length) {
    const line = lines[end];
    if (line.trim() === "") {
      const following = nextFilled(lines, end);
      if (following === lines.length || indentOf(lines[following]) < indent + 2) return following;
      end = following;
    } else if (indentOf(line) >= indent + 2 || !(startsBlock(line) || marker.test(line))) end += 1;
    else return end;
  }
  return end;
}

function parseItem(lines, width, depth) {
  const content = lines.map((line, row) => line.slice(row === 0 ? width : Math.min(indentOf(line), width)));
  const box = task.exec(content[0]);
  if (box) content[0] = content[0].slice(box[0].length);
  return { checked: box ? box[1] !== " " : null, blocks: parseBlocks(content, depth + 1) };
}

function startsTable(lines, at) {
  if (!lines[at].includes("|")) return false;
  const delimiters = cells(lines[at + 1] ?? "");
  return delimiters.every((cell) => /^:?-+:?$/.test(cell)) && delimiters.length === cells(lines[at]).length;
}

function parseTable(lines, at) {
  const aligns = cells(lines[at + 1]).map((cell) => {
    if (!cell.endsWith(":")) return "start";
    return cell.startsWith(":") ? "center" : "end";
  });
  const rows = [cells(lines[at])];
  let end = at + 2;
  while (end < lines.length && lines[end].trim() !== "" && lines[end].includes("|")) {
    const row = cells(lines[end]);
    rows.push(aligns.map((_, column) => row[column] ?? ""));
    end += 1;
  }
  return [{ type: "table", aligns, rows: rows.map((row) => row.map(parseInline)) }, end];
}

/** The cells of a table's line; `\|` is a bar inside a cell. */
function cells(line) {
  const parts = [""];
  for (const piece of line.trim().split(/(\\?\|)/)) {
    if (piece === "|") parts.push("");
    else parts[parts.length - 1] += piece === "\\|" ? "|" : piece;
  }
  if (parts.length > 1 && parts[0].trim() === "") parts.shift();
  if (parts.length > 1 && parts.at(-1).trim() === "") parts.pop();
  return parts.map((cell) => cell.trim());
}

function parseParagraph(lines, at, depth) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() !== "" && !interrupts(lines, end, depth)) end += 1;
  const text = lines
    .slice(at, end)
    .map((line) => line.trim())
    .join("\n");
  return [{ type: "paragraph", children: parseInline(text) }, end];
}

function interrupts(lines, at, depth) {
  if (startsBlock(lines[at]) || startsTable(lines, at)) return depth < maxDepth || !quote.test(lines[at]);
  // "In\n1986. It was a year" is no list.
  const bullet = marker.exec(lines[at])?.[2];
  return (
    depth < maxDepth && bullet !== undefined && (!/\d/.test(bullet) || Number.parseInt(bullet, 10) === 1)
  );
}

function startsBlock(line) {
  return startsCode(line) || heading.test(line) || rule.test(line) || quote.test(line);
}

function nextFilled(lines, at) {
  let next = at;
  while (next < lines.length && lines[next].trim() === "") next += 1;
  return next;
}

function indentOf(line) {
  return line.length - line.trimStart().length;
}
