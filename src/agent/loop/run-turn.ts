import type { AgentEvent, TurnOutcome } from "../events.ts";
import { callModel } from "./call-model.ts";
import { runCalls } from "./calls/calls.ts";
import { concludeCalls, concludeReply } from "./conclude.ts";
import { acceptReply, callWithMoreRoom, createCallOptions, isOverflow } from "./do-step.ts";
import { prepareStep } from "./prepare-step.ts";
import { resume } from "./resume.ts";
import { TurnState } from "./state.ts";
import type { Turn } from "./turn.ts";

/**
 * Runs one turn: model call, tool calls, again, until the model answers or something ends it.
 *
 * Does not throw for anything that a service, a tool or a person does: the outcome says how the turn ended. What it throws
 * is a fault of the program, such as a model that breaks the contract of `LanguageModel.stream`.
 *
 * The consumer must store each event for which `toRecord` returns a record before it asks for the next one. Three may
 * wait: a reply with calls for the event behind it, the last result of a step for `followUps` or the end of the turn, and
 * what the model is told (`nudge`) for its reply, because nothing is done in between.
 *
 * ```ts
 * const events = runTurn(turn);
 * for (;;) {
 *   const next = await events.next();
 *   if (next.done) return next.value; // the outcome, e.g. { kind: "answered", text: "42", … }
 *   const record = toRecord(next.value, Date.now());
 *   if (record) await journal.append(record);
 * }
 * ```
 */
export async function* runTurn(turn: Turn): AsyncGenerator<AgentEvent, TurnOutcome> {
  const state = new TurnState(turn);
  let next = yield* resume(state);
  while (next.kind === "continue") {
    next = yield* prepareStep(state);
    if (next.kind !== "continue") break;
    // The parts of a step are run from here: an event costs more with each generator that it passes on its way out.
    state.beginStep();
    let reply = yield* callModel(state, state.steps, "auto");
    if (isOverflow(reply)) reply = yield* callWithMoreRoom(state, reply);
    const step = acceptReply(state, reply);
    next =
      step.kind === "calls"
        ? concludeCalls(state, yield* runCalls(state.open, createCallOptions(state)))
        : yield* concludeReply(state, step);
  }
  return next;
}
