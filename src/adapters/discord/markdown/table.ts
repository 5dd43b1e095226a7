/** Tables, which Discord does not know: text in columns of a fixed width. */
export interface Table {
  rows: string[][];
  align: ("left" | "right" | "center")[];
}

/** So many times as long as its text a table may become by its columns; a longer one is shown without them. */
const mostGrowth = 4;

/** Rows with their columns under each other, and a line under the first. */
export function alignColumns({ rows, align }: Table): string {
  const sizes = rows.map((row) => row.map(countCells));
  const widths: number[] = [];
  for (const row of sizes) {
    for (const [index, size] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, size);
  }
  const written = sizes.flat().reduce((length, size) => length + size + 1, 0);
  const width = widths.reduce((sum, column) => sum + column + 2, 0);
  if (width * rows.length > mostGrowth * written + 1_000) return rows.map((row) => row.join("  ")).join("\n");
  const lines = rows.map((row, at) =>
    row
      .map((cell, index) => {
        const gap = (widths[index] ?? 0) - (sizes[at]?.[index] ?? 0);
        const before = align[index] === "right" ? gap : align[index] === "center" ? Math.floor(gap / 2) : 0;
        return " ".repeat(before) + cell + " ".repeat(gap - before);
      })
      .join("  ")
      .trimEnd(),
  );
  const divider = widths.map((column) => "─".repeat(Math.max(1, column))).join("  ");
  const [head = "", ...body] = lines;
  return [head, divider, ...body].join("\n");
}

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
/** East Asian scripts and signs that Unicode calls wide or full width. https://www.unicode.org/reports/tr11 */
const wide =
  /^[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{17000}-\u{18AFF}\u{1B000}-\u{1B2FF}\u{20000}-\u{3FFFD}]/u;
const emoji = /^(?:\p{Emoji_Presentation}|\p{Regional_Indicator}|.\uFE0F)/u;
const invisible = /^(?:\p{Mn}|\p{Me}|\p{Cf}|\p{Cc})+$/u;

/** How many cells of a fixed-width font the text takes. */
export function countCells(text: string): number {
  if (/^[\x20-\x7E]*$/.test(text)) return text.length;
  let cells = 0;
  for (const { segment } of graphemes.segment(text)) {
    if (invisible.test(segment)) continue;
    cells += wide.test(segment) || emoji.test(segment) ? 2 : 1;
  }
  return cells;
}
