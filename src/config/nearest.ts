/** Changes of one letter that a slip of the fingers takes; two letters in the wrong order are two. */
const slips = 2;

/** The name that was probably meant by another, if one is that near. */
export function findNearest(written: string, names: readonly string[]): string | undefined {
  const [best] = names
    .map((name) => ({ name, changes: measureDistance(written.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, changes }) => changes <= slips && changes < name.length / 2)
    .toSorted((a, b) => a.changes - b.changes);
  return best?.name;
}

/** Levenshtein's: letters to insert, to remove or to replace. */
function measureDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [line, letter] of [...a].entries()) {
    const next = [line + 1];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (letter === b[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
