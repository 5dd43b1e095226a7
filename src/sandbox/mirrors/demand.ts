/** How many threads want the same at once. */
export interface Demand {
  /** Somebody wants it now. */
  note(key: string): void;
  /** The most that have wanted it together, in the last day; at least one. */
  peak(key: string): number;
}

/** Before one that is taken can be replaced, in milliseconds. */
const togetherMs = 30_000;
const rememberedMs = 86_400_000;
/** Enough to see every peak that counts. */
const keptTimes = 100;

/** @param most more than that many are not counted */
export function createDemand(most: number, now: () => number): Demand {
  const wanted = new Map<string, readonly number[]>();
  const timesOf = (key: string) => (wanted.get(key) ?? []).filter((at) => now() - at < rememberedMs);
  return {
    note: (key) => void wanted.set(key, [...timesOf(key).slice(1 - keptTimes), now()]),
    peak(key) {
      const times = timesOf(key);
      const together = times.map((from) => times.filter((at) => at >= from && at - from < togetherMs).length);
      return Math.min(most, Math.max(1, ...together));
    },
  };
}
