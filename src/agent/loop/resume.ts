import type { AgentEvent } from "../events.ts";
import { type AssistantMessage, isFromPerson, type Message } from "../messages.ts";
import { runCalls } from "./calls/calls.ts";
import { concludeCalls, judgeReply, readWords } from "./conclude.ts";
import { createCallOptions } from "./do-step.ts";
import { endAborted } from "./outcomes.ts";
import { type PhaseResult, proceed, type TurnState } from "./state.ts";
import { isWrapUp, resumeWrapUp } from "./wrap-up.ts";

/** Finishes the step in which an earlier run of the turn was interrupted. A new turn has none. */
export async function* resume(state: TurnState): AsyncGenerator<AgentEvent, PhaseResult> {
  if (state.open.length > 0)
    return concludeCalls(state, yield* runCalls(state.open, createCallOptions(state)));
  if (!state.turn.history.turn) return proceed;
  const replies = findReplies(state.messages);
  // Stored by a worker that died before it could act on it.
  const last = state.messages.at(-1)?.role === "assistant" ? replies.pop() : undefined;
  state.extendAnswer(replies.map((reply) => readWords(state, reply)).join(""));
  if (!last) return proceed;
  const next = isWrapUp(state.messages.at(-2)) ? resumeWrapUp(state, last) : yield* judgeReply(state, last);
  return state.isAborted ? endAborted(state) : next;
}

/** What the model has replied since it was asked or got the result of a call: the parts of one answer. */
function findReplies(messages: readonly Message[]): AssistantMessage[] {
  const asked = messages.findLastIndex((message) => message.role === "tool" || isFromPerson(message));
  return messages.slice(asked + 1).filter((message) => message.role === "assistant");
}
