/** How one set of samples lies, in the unit of the samples. */
export interface Spread {
  count: number;
  p50: number;
  p95: number;
  max: number;
}

/** @throws RangeError without samples: a figure without any is missing, not zero */
export function spread(samples: readonly number[]): Spread {
  if (samples.length === 0) throw new RangeError("There is no sample to take quantiles of.");
  const sorted = samples.toSorted((a, b) => a - b);
  // Nearest rank, so that every quantile is something that was measured.
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
  return { count: sorted.length, p50: at(0.5), p95: at(0.95), max: at(1) };
}

/** One thing to measure, run many times; gives the samples of one run. */
export interface Variant<Name extends string> {
  name: Name;
  run(): Promise<readonly number[]>;
}

/**
 * Interleaves the variants, so that whatever else the machine does affects all of them alike, and so that
 * ratios between them hold where the times themselves do not. Each round begins with another variant.
 *
 * @param warmUp rounds that run first and do not count
 */
export async function interleave<Name extends string>(
  variants: readonly Variant<Name>[],
  { rounds, warmUp }: { rounds: number; warmUp: number },
): Promise<Map<Name, number[]>> {
  const samples = new Map<Name, number[]>(variants.map(({ name }) => [name, []]));
  for (let round = 0; round < warmUp + rounds; round += 1) {
    const first = round % variants.length;
    for (const { name, run } of [...variants.slice(first), ...variants.slice(0, first)]) {
      const measured = await run();
      if (round >= warmUp) samples.get(name)?.push(...measured);
    }
  }
  return samples;
}

/** How long it takes, in milliseconds. */
export async function timed(work: () => unknown): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
