import { describeLargeFixed } from "../context/fixed-part.ts";
import type { AgentEvent } from "../events.ts";
import type { TurnState } from "./state.ts";

/**
 * Makes the conversation fit into the model's window. False when it cannot be made to, or the turn is aborted
 * meanwhile.
 *
 * @param force compact although the size does not ask for it
 */
export async function* makeRoom(state: TurnState, force: boolean): AsyncGenerator<AgentEvent, boolean> {
  const { context, signal, meter, journal } = state.turn;
  try {
    const options = {
      fixed: state.fixed,
      force,
      signal,
      ...(meter && { meter }),
      ...(journal && { journal }),
    };
    const fitted = yield* context.compactToFit(state.messages, options);
    state.replaceMessages(fitted.messages);
    state.addUsage(fitted.usage);
    return !fitted.tooLarge;
  } catch (error) {
    if (state.isAborted) return false;
    throw error;
  }
}

/** Why nothing helped, for people: prompt and tools where they are the cause, else the conversation. */
export function explainTooLarge(state: TurnState): string {
  return (
    explainLargeFixed(state) ??
    "This conversation no longer fits into the model's window, even summarised. Start a new thread, or ask about a smaller part."
  );
}

/** What people read where prompt and tools are too large for the model; undefined where they are not. */
export function explainLargeFixed({ system, tools, turn: { context } }: TurnState): string | undefined {
  const cause = describeLargeFixed({ system, tools: tools.definitions }, context.measureUsable(), context);
  if (cause === undefined) return undefined;
  return `${cause} No conversation fits beside that: the administrator must make it smaller or choose a model with a larger window.`;
}
