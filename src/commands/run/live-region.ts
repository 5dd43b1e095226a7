import type { WriteStream } from "node:tty";
import { countCells } from "../../adapters/discord/markdown/table.ts";

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

/** Columns that a line takes, with its tabs. */
export function measureWidth(line: string): number {
  const [first = "", ...rest] = line.split("\t");
  return rest.reduce((width, part) => width - (width % 8) + 8 + countCells(part), countCells(first));
}

function cutToWidth(text: string, columns: number): string {
  let width = 0;
  let cut = "";
  for (const sign of text) {
    // Behind another sign it makes that an emoji, which is wide.
    width += sign === "\uFE0F" ? 1 : countCells(sign);
    if (width > columns) return cut;
    cut += sign;
  }
  return cut;
}
