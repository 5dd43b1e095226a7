import type { TurnAbort } from "../../events.ts";

/** How a run ended. `abandoned`: it was aborted and did not say anything within its grace. */
export type Ending<Result> = { timedOut: boolean } & (
  | { kind: "returned"; result: Result }
  | { kind: "threw"; error: unknown }
  | { kind: "abandoned" }
);

/**
 * Runs something until it returns or throws, at the longest for `timeoutMs` or until `signal` is aborted, and then
 * for `graceMs` more, so that it can say what it had done. Never throws.
 */
export async function runBounded<Result>(
  run: (signal: AbortSignal) => Promise<Result>,
  bounds: { signal: AbortSignal; timeoutMs: number; graceMs: number },
): Promise<Ending<Result>> {
  const either = new AbortController();
  const ended = Promise.withResolvers<Ending<Result>>();
  let timedOut = false;
  let timer = setTimeout(() => {
    timedOut = true;
    // The same kind of reason as a turn's: what a tool runs may be a turn itself.
    end({ kind: "stop", order: { by: "the time limit", at: Date.now() } } satisfies TurnAbort);
  }, bounds.timeoutMs);
  const end = (reason: unknown) => {
    if (either.signal.aborted) return;
    clearTimeout(timer);
    timer = setTimeout(() => ended.resolve({ kind: "abandoned", timedOut }), bounds.graceMs);
    either.abort(reason);
  };
  const onAbort = () => end(bounds.signal.reason);
  bounds.signal.addEventListener("abort", onAbort, { once: true });
  if (bounds.signal.aborted) onAbort();
  try {
    run(either.signal).then(
      (result) => ended.resolve({ kind: "returned", result, timedOut }),
      (error: unknown) => ended.resolve({ kind: "threw", error, timedOut }),
    );
    return await ended.promise;
  } finally {
    clearTimeout(timer);
    bounds.signal.removeEventListener("abort", onAbort);
  }
}
