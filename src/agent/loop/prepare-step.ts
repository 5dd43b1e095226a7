import type { AgentEvent, TurnOutcome } from "../events.ts";
import { isCompactOrder, type Message } from "../messages.ts";
import { findReachedLimit, isExhausted } from "./limits.ts";
import { explainTooLarge, makeRoom } from "./make-room.ts";
import { nudge } from "./nudge.ts";
import { endAborted, endAnswered, endAtLimit, endWithModelError } from "./outcomes.ts";
import { completesRounds, equalRounds, findRepetition, type Repetition } from "./repetition.ts";
import { shareContext } from "./prompt/share-context.ts";
import { type PhaseResult, proceed, type TurnState } from "./state.ts";
import { findWrapUp, type WrapUp, wrapUp } from "./wrap-up.ts";

/** Makes the conversation ready for the next model call, or ends the turn at a limit. */
export async function* prepareStep(state: TurnState): AsyncGenerator<AgentEvent, PhaseResult> {
  if (state.isAborted) return endAborted(state);
  const repetition = findRepetition(state.messages);
  const end = findEnd(state, repetition);
  if (end) return end.kind === "wrap-up" ? yield* wrapUp(state, end) : end;
  if (isDueForHint(state, repetition)) yield* nudge(state, repetitionHint);

  const arrived = (await state.turn.followUps?.()) ?? [];
  if (arrived.length > 0) {
    state.addFollowUps(arrived);
    yield { type: "follow-up", messages: arrived };
  }
  if (asksToCompact(state.messages)) {
    const compacted = yield* obeyCompactOrder(state);
    if (compacted.kind !== "continue") return compacted;
  }
  if (state.steps > 0) await renewOffer(state);
  yield* shareContext(state, { isAskedAnew: state.steps === 0 || arrived.length > 0 });

  const fits = state.turn.context.fits(state.messages, state.fixed) || (yield* makeRoom(state, false));
  if (state.isAborted) return endAborted(state);
  return fits ? proceed : endWithModelError(state, explainTooLarge(state));
}

/** The limit that ends the turn before the next step, if it has reached one. */
function findEnd(state: TurnState, repetition: Repetition): TurnOutcome | WrapUp | undefined {
  const reached = findReachedLimit(state.limits, state.spent());
  if (reached?.kind === "budget") return endAtLimit(state, reached.kind, reached.limit);
  const { budget } = state.turn;
  if (budget && isExhausted(budget.left())) return endAtLimit(state, "budget", "what the turn may spend");
  return findWrapUp(reached?.limit, repetition);
}

/** Given once for a row of equal rounds, also when the hint was stored and the worker replaced. */
function isDueForHint({ messages }: TurnState, repetition: Repetition): boolean {
  return completesRounds(repetition, equalRounds.hint) && messages.at(-1)?.role === "tool";
}

/** Compacts the conversation, which answers a turn that was asked for nothing else. */
async function* obeyCompactOrder(state: TurnState): AsyncGenerator<AgentEvent, PhaseResult> {
  const measure = () => state.turn.context.countTokens(state.messages, state.fixed);
  const before = measure();
  yield* makeRoom(state, true);
  if (state.isAborted) return endAborted(state);
  const after = measure();
  const figures = `${before.toLocaleString("en-US")} tokens before, ${after.toLocaleString("en-US")} after`;
  const text =
    after < before
      ? `I summarised the earlier conversation: ${figures}.`
      : "There is nothing to summarise yet.";
  if (state.asked.every(isCompactOrder)) return endAnswered(state, text);
  yield { type: "notice", text };
  return proceed;
}

async function renewOffer(state: TurnState): Promise<void> {
  const offer = await state.turn.renew?.();
  if (offer) state.replaceOffer(offer);
}

/** Whether the newest message is nothing but the order to compact. */
function asksToCompact(messages: readonly Message[]): boolean {
  const last = messages.at(-1);
  return last?.role === "user" && isCompactOrder(last);
}

const repetitionHint =
  "You are making the same calls with the same results again and again. Try another way, or tell the people what is in the way. If you wait for something, wait longer in one call.";
