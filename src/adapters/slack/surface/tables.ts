import type { types } from "@slack/bolt";
import createMarkdownIt, { type Token } from "markdown-it";

/**
 * Tables of Markdown as Slack's own, which people sort, filter and turn the pages of.
 * https://docs.slack.dev/reference/block-kit/blocks/data-table-block
 */

type Cell = types.DataTableBlock["rows"][number][number];
type CellElement = types.RichTextSection["elements"][number];

/** With the header. */
const mostRows = 101;
const mostColumns = 20;
/** Over the cells of all tables of a message. */
const mostChars = 10_000;
/** A longer table has pages. */
const pageRows = 20;
const captionChars = 150;

const parser = createMarkdownIt({ html: true, linkify: true });
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });

/**
 * The text with its tables as blocks, in order. A table that Slack's own could not show whole stays Markdown; undefined
 * where all do.
 *
 * @example
 * splitTables("Both fail:\n\n| file | line |\n|---|---|\n| a.ts | 7 |");
 * // → ["Both fail:", { type: "data_table", … }]
 */
export function splitTables(markdown: string): (string | types.DataTableBlock)[] | undefined {
  if (!markdown.includes("|")) return undefined;
  const tokens = parser.parse(markdown, {});
  // As the parser counts them.
  const lines = markdown.split(/\r\n?|\n/);
  const parts: (string | types.DataTableBlock)[] = [];
  let written = 0;
  let chars = 0;
  for (const [at, token] of tokens.entries()) {
    // In a list or a quotation it would leave it.
    if (token.type !== "table_open" || token.level > 0 || !token.map) continue;
    const rows = readRows(tokens.slice(at));
    const table = rows && toBlock(rows);
    const size = rows?.flat().reduce((sum, cell) => sum + countChars(cell), 0) ?? 0;
    if (!table || chars + size > mostChars) continue;
    chars += size;
    const [start, end] = token.map;
    parts.push(joinLines(lines.slice(written, start)), table);
    written = end;
  }
  if (parts.length === 0) return undefined;
  return [...parts, joinLines(lines.slice(written))].filter((part) => part !== "");
}

/** Without the blank lines at both ends. */
function joinLines(lines: readonly string[]): string {
  const isText = (line: string) => line.trim() !== "";
  const first = lines.findIndex(isText);
  return first < 0 ? "" : lines.slice(first, lines.findLastIndex(isText) + 1).join("\n");
}

/** Each cell as what stands in it, the header first; undefined where one holds what a cell of Slack's cannot. */
function readRows(tokens: readonly Token[]): CellElement[][][] | undefined {
  const end = tokens.findIndex(({ type }) => type === "table_close");
  const rows: CellElement[][][] = [];
  for (const token of tokens.slice(0, end)) {
    if (token.type === "tr_open") rows.push([]);
    if (token.type !== "inline") continue;
    const cell = readCell(token.children ?? []);
    if (!cell) return undefined;
    rows.at(-1)?.push(cell);
  }
  return rows;
}

const styleOf: Record<string, "bold" | "italic" | "strike"> = { strong: "bold", em: "italic", s: "strike" };

function readCell(tokens: readonly Token[]): CellElement[] | undefined {
  const elements: CellElement[] = [];
  const styles: Partial<Record<"bold" | "italic" | "strike", true>> = {};
  let url: string | undefined;
  const add = (text: string, style: types.RichTextStyleable["style"]) => {
    if (text === "") return;
    const styled = Object.keys(style ?? {}).length > 0 ? { style: { ...style } } : {};
    elements.push(
      url === undefined ? { type: "text", text, ...styled } : { type: "link", url, text, ...styled },
    );
  };
  for (const token of tokens) {
    const { type, content } = token;
    const [, mark = "", what] = /^(strong|em|s|link)_(open|close)$/.exec(type) ?? [];
    const style = styleOf[mark];
    if (style) {
      if (what === "open") styles[style] = true;
      else delete styles[style];
    } else if (mark === "link") {
      url = what === "open" ? String(token.attrGet("href") ?? "") : undefined;
      if (url !== undefined && !/^https?:\/\//.test(url)) return undefined;
    } else if (type === "code_inline") add(content, { ...styles, code: true });
    else if (type === "text" || type === "text_special") add(content, styles);
    else return undefined;
  }
  return elements;
}

function toBlock([header = [], ...body]: CellElement[][][]): types.DataTableBlock | undefined {
  const columns = header.length;
  const isShown = body.length > 0 && body.length < mostRows && columns > 0 && columns <= mostColumns;
  if (!isShown) return undefined;
  const isNumeric = header.map((_, column) => body.every((row) => isPlainNumber(row[column] ?? [])));
  const names = header.map(plainText);
  return {
    type: "data_table",
    caption: names.join(", ").slice(0, captionChars).toWellFormed().trim() || "Table",
    page_size: Math.min(body.length, pageRows),
    rows: [
      names.map(toText),
      ...body.map((row) => header.map((_, column) => toCell(row[column] ?? [], isNumeric[column] === true))),
    ],
  };
}

function toCell(elements: CellElement[], isNumber: boolean): Cell {
  const text = plainText(elements);
  if (isNumber) return { type: "raw_number", value: Number(text), text };
  const isPlain = elements.every((element) => element.type === "text" && element.style === undefined);
  if (isPlain) return toText(text);
  return { type: "rich_text", elements: [{ type: "rich_text_section", elements }] };
}

/** Slack takes no empty cell. */
function toText(text: string): types.RawTextElement {
  return { type: "raw_text", text: text === "" ? "\u00A0" : text };
}

function plainText(elements: readonly CellElement[]): string {
  return elements.map((element) => ("text" in element ? (element.text ?? "") : "")).join("");
}

function countChars(elements: readonly CellElement[]): number {
  return Math.max(1, plainText(elements).length);
}

/** Whether it is a number that reads the same again: no version, no code with zeros before it. */
function isPlainNumber(elements: readonly CellElement[]): boolean {
  const text = plainText(elements);
  const isPlain = elements.every((element) => element.type === "text" && element.style === undefined);
  return isPlain && text !== "" && Number.isFinite(Number(text)) && String(Number(text)) === text;
}
