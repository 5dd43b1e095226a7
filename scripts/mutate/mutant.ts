/** One small change of a source file, which some test should notice. */
export interface Mutant {
  /** Where it begins and ends in the text, in UTF-16 units, the end not included. */
  start: number;
  end: number;
  replacement: string;
}

export function applyMutant(source: string, { start, end, replacement }: Mutant): string {
  return source.slice(0, start) + replacement + source.slice(end);
}

/** `12: a < b → a <= b`, with the line that is changed. */
export function describeMutant(source: string, mutant: Mutant): string {
  const { start, end, replacement } = mutant;
  const line = lineOf(source, mutant);
  const from = source.lastIndexOf("\n", start - 1) + 1;
  const lineEnd = source.indexOf("\n", end);
  const to = lineEnd === -1 ? source.length : lineEnd;
  const show = (text: string) => shorten(text.trim().replaceAll(/\s+/g, " "));
  const changed = source.slice(from, start) + replacement + source.slice(end, to);
  return `${line}: ${show(source.slice(from, to))} → ${show(changed) || "(nothing)"}`;
}

/** Counted from 1. */
export function lineOf(source: string, { start }: Mutant): number {
  return source.slice(0, start).split("\n").length;
}

function shorten(text: string): string {
  return text.length > 110 ? `${text.slice(0, 109)}…` : text;
}

/** Only numbers up to this are changed by one: nothing can notice that a time-out is a millisecond longer. */
export const largestConstant = 100;

/** Up to `most` of them in their order, chosen by the seed. */
export function sample<T>(all: readonly T[], most: number, seed: number): T[] {
  const random = mulberry32(seed);
  const chosen = all
    .map((item, index) => ({ item, index, rank: random() }))
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, most);
  return chosen.toSorted((a, b) => a.index - b.index).map(({ item }) => item);
}

/** https://gist.github.com/tommyettinger/46a874533244883189143505d203312c: small, and good enough for a sample. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
