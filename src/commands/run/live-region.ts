import type { WriteStream } from "node:tty";

export type Output = Pick<WriteStream, "write"> & Partial<Pick<WriteStream, "isTTY" | "columns" | "rows">>;

/** The last lines of a terminal, which are drawn again and again and disappear when something else is written. */
export interface LiveRegion {
  draw(lines: readonly string[]): void;
  clear(): void;
}

export function createLiveRegion(output: Output): LiveRegion {
  let drawn = 0;
  const clear = () => {
    if (drawn > 0) output.write(`\r\u001b[${drawn}A\u001b[J`);
    drawn = 0;
  };
  return {
    clear,
    draw(lines) {
      // A pseudo-terminal without a size says 0.
      const columns = output.columns || 80;
      const rows = output.rows || 24;
      clear();
      // A line that wraps, or leaves the screen, could not be erased.
      const shown = lines.slice(-Math.max(1, rows - 2)).map((line) => cutToWidth(line, columns - 1));
      for (const line of shown) output.write(`\u001b[2m${line}\u001b[22m\n`);
      drawn = shown.length;
    },
  };
}

/** Columns that a text takes, where wide characters take two. */
export function measureWidth(text: string): number {
  return [...text].reduce((sum, sign) => sum + (sign > "\u10ff" ? 2 : 1), 0);
}

function cutToWidth(text: string, columns: number): string {
  let width = 0;
  let cut = "";
  for (const sign of text) {
    width += measureWidth(sign);
    if (width > columns) return cut;
    cut += sign;
  }
  return cut;
}
