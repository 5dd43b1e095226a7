/** Milliseconds by a clock that nobody sets, and that all processes of a host share (CLOCK_MONOTONIC on Linux). */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
