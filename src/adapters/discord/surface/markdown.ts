/**
 * CommonMark turned into what Discord shows. Discord knows no tables, no images and only three sizes of headings.
 * https://support.discord.com/hc/en-us/articles/210298617
 */

const fence = /^\s{0,20}(`{3,}|~{3,})/;
/** Of a line without blanks around it. */
const divider = /^\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?)?$/;
/** So many times as long as it was a table may become by its columns; a longer one is shown as it is. */
const mostGrowth = 4;

/** Tables become aligned text in a code block, images links, deep headings bold. Code stays as it is. */
export function discordMarkdown(markdown: string): string {
  const shown: string[] = [];
  const lines = markdown.split("\n");
  let open: string | undefined;
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const marker = fence.exec(line)?.[1];
    if (open !== undefined) {
      if (marker?.startsWith(open) && line.trim() === marker) open = undefined;
      shown.push(line);
    } else if (marker) {
      open = marker;
      shown.push(line);
    } else if (line.includes("|") && divider.test((lines[at + 1] ?? "").trim())) {
      const length = countTableLines(lines, at);
      const table = lines.slice(at, at + length).filter((_row, index) => index !== 1);
      shown.push("```", ...alignColumns(table.map(splitCells)), "```");
      at += length - 1;
    } else {
      shown.push(convertInline(line));
    }
  }
  return shown.join("\n");
}

/** How many lines the table has, with its head and divider. */
function countTableLines(lines: readonly string[], start: number): number {
  let end = start + 2;
  while (end < lines.length && lines[end]?.includes("|")) end += 1;
  return end - start;
}

function splitCells(row: string): string[] {
  const bare = row
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  return bare.split(/(?<!\\)\|/).map((cell) =>
    cell
      .trim()
      .replaceAll("\\|", "|")
      .replaceAll(/\*\*|`/g, ""),
  );
}

/** Rows with their columns under each other, and a line under the first. */
function alignColumns(rows: readonly string[][]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  }
  const written = rows.flat().reduce((length, cell) => length + cell.length + 1, 0);
  const width = widths.reduce((sum, column) => sum + column + 2, 0);
  const isNarrow = width * rows.length <= mostGrowth * written + 1_000;
  const lines = rows.map((row) =>
    row
      .map((cell, index) => (isNarrow ? cell.padEnd(widths[index] ?? 0) : cell))
      .join("  ")
      .trimEnd(),
  );
  const [head = "", ...body] = lines;
  return [head, ...(isNarrow ? [widths.map((column) => "─".repeat(column)).join("  ")] : []), ...body];
}

function convertInline(line: string): string {
  return line
    .replace(/^(\s{0,3})#{4,6}\s+(\S.*)$/, (_match, indent: string, text: string) => {
      // Looking back, so that a long gap is not read again from each of its blanks.
      return `${indent}**${text.trimEnd().replace(/(?<!\s)\s+#+$/, "")}**`;
    })
    .replaceAll(
      /!\[([^[\]]*)\]\(([^()\s]+)\)/g,
      (_match, label: string, url: string) => `[${label || "image"}](${url})`,
    );
}
