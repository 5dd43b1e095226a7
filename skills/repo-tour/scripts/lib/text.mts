export function thousands(number: number): string {
  return String(number).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}

export function amount(count: number, noun: string): string {
  return `${thousands(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** With one decimal. Ties go to the even digit; `toFixed` takes the larger. */
export function percent(part: number, whole: number): string {
  const tenths = (1000 * part) / whole;
  const below = Math.floor(tenths);
  const isTie = 2000 * part === (2 * below + 1) * whole;
  return `${((isTie ? below + (below % 2) : Math.round(tenths)) / 10).toFixed(1)}%`;
}

/** The most frequent first. */
export function byCount([a, x]: readonly [string, number], [b, y]: readonly [string, number]): number {
  return y - x || compare(a, b);
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function padEnd(text: string, length: number): string {
  return text + " ".repeat(Math.max(0, length - [...text].length));
}

/** Adds to a count. */
export function tally(counts: Map<string, number>, name: string, by = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}
