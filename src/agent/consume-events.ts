import type { AgentEvent, TurnAbort, TurnOutcome } from "./events.ts";
import { noUsage } from "./model.ts";

/**
 * Hands each event of a turn to `take` and returns the outcome. When `take` rejects, the turn is ended before the error is
 * rethrown: tools that run in parallel by `abort`, the model's stream by the generator's `return`.
 */
export async function consumeEvents(
  turn: AsyncGenerator<AgentEvent, TurnOutcome>,
  abort: (reason: TurnAbort) => void,
  take: (event: AgentEvent) => Promise<void>,
): Promise<TurnOutcome> {
  try {
    for (;;) {
      const next = await turn.next();
      if (next.done) return next.value;
      await take(next.value);
    }
  } catch (error) {
    const reason: TurnAbort = { kind: "lost-lease" };
    abort(reason);
    await turn.return({ ...reason, steps: 0, usage: noUsage });
    throw error;
  }
}
