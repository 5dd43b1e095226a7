import type { AgentEvent } from "../events.ts";
import { findNewNotes, noteIndexMark } from "./note-index.ts";
import { nudge } from "./nudge.ts";
import { projectMark } from "./project-instructions.ts";
import { findNewSituation, situationMark } from "./situation.ts";
import type { TurnState } from "./state.ts";

/**
 * Tells the model, beside what people say, what it should know before the next step and has not in view.
 *
 * @param options.isAskedAnew whether somebody has said something since the last step
 */
export async function* shareContext(
  state: TurnState,
  { isAskedAnew }: { isAskedAnew: boolean },
): AsyncGenerator<AgentEvent, void> {
  if (state.steps === 0) yield* shareNotes(state);
  yield* shareProjectInstructions(state);
  if (isAskedAnew) yield* shareSituation(state);
}

/** Shows the model the notes on record, unless it still has them in view as they are. */
async function* shareNotes(state: TurnState): AsyncGenerator<AgentEvent, void> {
  const index = await state.turn.readNoteIndex?.();
  const news = index === undefined ? undefined : findNewNotes(index, state.messages);
  if (news) yield* nudge(state, news, noteIndexMark);
}

/** Shows the model what the projects say that its last calls have touched. */
async function* shareProjectInstructions(state: TurnState): AsyncGenerator<AgentEvent, void> {
  const news = await state.turn.readProjectInstructions?.(state.messages);
  if (news !== undefined) yield* nudge(state, news, projectMark);
}

/** Tells the model where and when it is, unless it has that in view. */
function* shareSituation(state: TurnState): Generator<AgentEvent, void> {
  const { situation } = state.turn;
  const news = situation && findNewSituation(situation, state.messages, state.now());
  if (news) yield* nudge(state, news, situationMark);
}
