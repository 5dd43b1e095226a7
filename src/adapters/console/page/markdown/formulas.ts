/** Formulas in Markdown: they are shown as they were written, and nothing in them is a mark of Markdown. */

const marks = [
  ["$$", "$$"],
  ["$", "$"],
  ["\\(", "\\)"],
  ["\\[", "\\]"],
] as const;

/**
 * Finds the formulas of a text from its beginning on. Only those count that Markdown would take something from: with a
 * backslash in them.
 *
 * @example
 * createFormulaFinder(String.raw`$x\,dx$`)(0) // → 7, the length of the formula that begins there
 */
export function createFormulaFinder(text: string): (at: number) => number {
  /** Beginnings of which no end comes any more, so that looking for it costs nothing. */
  const unclosed = new Set<string>();
  return (at) => {
    const [mark, end] = marks.find(([beginning]) => text.startsWith(beginning, at)) ?? [];
    if (mark === undefined || unclosed.has(mark)) return 0;
    const to = text.indexOf(end, at + mark.length);
    if (to === -1) {
      unclosed.add(mark);
      return 0;
    }
    const inside = text.slice(at + mark.length, to);
    const isFormula = inside.includes("\\") && (mark !== "$" || isNoPrice(inside, text[to + 1]));
    return isFormula ? to + end.length - at : 0;
  };
}

/** Of what stands between two signs, and behind them: as Pandoc tells formulas from sums of money. */
function isNoPrice(inside: string, after = ""): boolean {
  return !/^\s|\s$|\n/.test(inside) && !/\d/.test(after);
}
