/** Tables of the page's Markdown. */
import { type Inline, parseInline } from "./inline.ts";
import { lineAt } from "./lines.ts";

/** The first row is the head. */
export type Table = { type: "table"; aligns: ("start" | "center" | "end")[]; rows: Inline[][][] };

/** What becomes of a table that is too wide for what is in it. */
type Paragraph = { type: "paragraph"; children: Inline[] };

/** Whether a table begins at this line. */
export function startsTable(lines: string[], at: number): boolean {
  const line = lineAt(lines, at);
  if (!line.includes("|")) return false;
  const delimiters = splitCells(lineAt(lines, at + 1));
  return delimiters.every((cell) => /^:?-+:?$/.test(cell)) && delimiters.length === splitCells(line).length;
}

/** The table that begins at this line, and the line after it. @param notes see `parseInline` */
export function parseTable(
  lines: string[],
  at: number,
  notes: ReadonlySet<string>,
): [table: Table | Paragraph, next: number] {
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
    return [{ type: "paragraph", children: parseInline(written, notes) }, end];
  }
  const rows = [lineAt(lines, at), ...body].map((line) => {
    const cells = splitCells(line);
    return aligns.map((_, column) => parseInline(cells[column] ?? "", notes));
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
