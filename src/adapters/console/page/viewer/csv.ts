/** Tables in text: RFC 4180, with the delimiters that programs use. */

const delimiters = [",", ";", "\t", "|"];

/** The rows of the text, at most `limit` of them, and whether there are more. The time is linear in its length. */
export function parseCsv(text: string, limit: number): { rows: string[][]; hasMore: boolean } {
  const delimiter = findDelimiter(text);
  const escaped = delimiter === "|" ? "\\|" : delimiter;
  // A cell in quotes, or up to the delimiter or the end of the line; and what ends it.
  const cell = new RegExp(
    `(?:"((?:[^"]|"")*)"[^${delimiter}\r\n]*|([^${delimiter}\r\n]*))(${escaped}|\r\n|\n|\r|$)`,
    "y",
  );
  const rows: string[][] = [];
  let row: string[] = [];
  while (cell.lastIndex < text.length) {
    if (rows.length === limit) return { rows, hasMore: true };
    const [, quoted, plain = "", end] = cell.exec(text) ?? [];
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === delimiter && cell.lastIndex < text.length) continue;
    if (end === delimiter) row.push("");
    rows.push(row);
    row = [];
  }
  return { rows, hasMore: false };
}

/** The one that is most often in the first line. */
function findDelimiter(text: string): string {
  const [line = ""] = text.slice(0, 10_000).split("\n", 1);
  const counted = delimiters.map((one) => [one, line.split(one).length] as const);
  const [[best] = [","]] = counted.toSorted(([, a], [, b]) => b - a);
  return best;
}
