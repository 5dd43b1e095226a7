import type { AgentEvent } from "../../events.ts";
import { findNewNotes, noteIndexMark } from "./note-index.ts";
import { nudge } from "../nudge.ts";
import { projectMark } from "./project-instructions.ts";
import { findNewSituation, situationMark } from "./situation.ts";
import type { TurnState } from "../state.ts";
import { isNudge } from "../../messages.ts";
import { mayKeepSilent, silenceWord } from "../../silence.ts";

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
  if (state.steps === 0) yield* offerSilence(state);
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

/** Tells the model that it may say nothing, and how, where nobody has addressed it. It has that in view then. */
function* offerSilence(state: TurnState): Generator<AgentEvent, void> {
  if (!mayKeepSilent(state.asked)) return;
  const offer = describeSilence(state.turn.watch);
  const isTold = state.messages.some((message) => isNudge(message, silenceMark) && message.text === offer);
  if (!isTold) yield* nudge(state, offer, silenceMark);
}

/** Ends the id of such a message. */
const silenceMark = ":silence";

/** @param watch what the operator wants done with what is said there */
function describeSilence(watch: string | undefined): string {
  const task = watch === undefined ? "" : ` What whoever runs you wants of you here: ${watch}`;
  return `(Where it says "not to you", people have not addressed you: you only listen, and they do not see that you do. Speak if you have something that helps them, as a colleague would who happens to hear it, and then briefly. Otherwise reply with ${silenceWord} and nothing else, which posts nothing.${task})`;
}
