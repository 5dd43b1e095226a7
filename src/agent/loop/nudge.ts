import type { AgentEvent } from "../events.ts";
import { heddle } from "../messages.ts";
import type { TurnState } from "./state.ts";

/**
 * Says something to the model in Heddle's name.
 *
 * @param mark ends the message's id, and says what kind of message it is when the journal is read again
 */
export function* nudge(state: TurnState, text: string, mark = ":nudge"): Generator<AgentEvent, void> {
  const { turn, steps } = state;
  const id = `${turn.id}:${steps}${mark}`;
  const message = turn.context.measure({ role: "user", id, author: heddle, text, at: state.now() } as const);
  state.addMessage(message);
  yield { type: "nudge", message };
}
