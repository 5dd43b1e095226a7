/** A text as its lines. */

/** That line; empty after the last one. */
export function lineAt(lines: string[], at: number): string {
  return lines[at] ?? "";
}

/** The next line from there on that is not blank; how many there are where none is. */
export function nextFilled(lines: string[], at: number): number {
  let next = at;
  while (next < lines.length && lineAt(lines, next).trim() === "") next += 1;
  return next;
}

/** How many blanks it begins with. */
export function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
