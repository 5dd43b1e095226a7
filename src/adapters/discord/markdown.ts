/**
 * CommonMark turned into what Discord shows. Discord knows no tables, no images and only three sizes of headings.
 * https://support.discord.com/hc/en-us/articles/210298617
 */

const fence = /^\s{0,20}(`{3,}|~{3,})/;
const divider = /^\s*\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?\s*)?\|?\s*$/;

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
    } else if (line.includes("|") && divider.test(lines[at + 1] ?? "")) {
      const length = tableLength(lines, at);
      const table = lines.slice(at, at + length).filter((_row, index) => index !== 1);
      shown.push("```", ...align(table.map(cells)), "```");
      at += length - 1;
    } else {
      shown.push(inline(line));
    }
  }
  return shown.join("\n");
}

/** How many lines the table has, with its head and divider. */
function tableLength(lines: readonly string[], start: number): number {
  let end = start + 2;
  while (end < lines.length && lines[end]?.includes("|")) end += 1;
  return end - start;
}

function cells(row: string): string[] {
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
function align(rows: readonly string[][]): string[] {
  const columns = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_column, index) =>
    Math.max(...rows.map((row) => row[index]?.length ?? 0)),
  );
  const lines = rows.map((row) =>
    widths
      .map((width, index) => (row[index] ?? "").padEnd(width))
      .join("  ")
      .trimEnd(),
  );
  const [head = "", ...body] = lines;
  return [head, widths.map((width) => "─".repeat(width)).join("  "), ...body];
}

function inline(line: string): string {
  return line
    .replace(/^(\s{0,3})#{4,6}\s+(.+?)\s*#*\s*$/, "$1**$2**")
    .replaceAll(
      /!\[([^\]]*)\]\(([^()\s]+)\)/g,
      (_match, label: string, url: string) => `[${label || "image"}](${url})`,
    );
}
