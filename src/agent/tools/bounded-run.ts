import type { TurnAbort } from "../events.ts";
import type { ToolResult } from "./tool.ts";

/** How a tool's run ended. `abandoned`: it was aborted and did not say anything within its grace. */
export type Ending = { timedOut: boolean } & (
  | { kind: "returned"; result: ToolResult }
  | { kind: "threw"; error: unknown }
  | { kind: "abandoned" }
);

/**
 * Runs a tool until it returns or throws, at the longest for `timeoutMs` or until `signal` is aborted, and then
 * for `graceMs` more, so that it can say what it had done. Never throws.
 */
export async function runBounded(
  run: (signal: AbortSignal) => Promise<ToolResult>,
  bounds: { signal: AbortSignal; timeoutMs: number; graceMs: number },
): Promise<Ending> {
  const limit = new AbortController();
  const grace = new AbortController();
  // The same kind of reason as a turn's: what a tool runs may be a turn itself.
  const reason: TurnAbort = { kind: "stop", order: { by: "the time limit", at: Date.now() } };
  let timer = setTimeout(() => limit.abort(reason), bounds.timeoutMs);
  const either = AbortSignal.any([bounds.signal, limit.signal]);
  const startGrace = () => {
    clearTimeout(timer);
    timer = setTimeout(() => grace.abort(), bounds.graceMs);
  };
  either.addEventListener("abort", startGrace, { once: true });
  try {
    const returned = run(either).then(
      (result): Ending => ({ kind: "returned", result, timedOut: limit.signal.aborted }),
      (error: unknown): Ending => ({ kind: "threw", error, timedOut: limit.signal.aborted }),
    );
    const abandoned = whenAborted(grace.signal).then(
      (): Ending => ({ kind: "abandoned", timedOut: limit.signal.aborted }),
    );
    return await Promise.race([returned, abandoned]);
  } finally {
    clearTimeout(timer);
    either.removeEventListener("abort", startGrace);
  }
}

function whenAborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}
