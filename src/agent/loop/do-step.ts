import type { AgentEvent } from "../events.ts";
import { type AssistantMessage, heddle, isFromPerson } from "../messages.ts";
import { ModelError } from "../model.ts";
import { createAsker } from "../questions.ts";
import { callModel, type Reply } from "./call-model.ts";
import type { CallOptions } from "./calls/calls.ts";
import { isCutWithinCall } from "./calls/cut-calls.ts";
import { computeRemainingBudget, shareBudget } from "./limits.ts";
import { explainLargeFixed, makeRoom } from "./make-room.ts";
import type { TurnState } from "./state.ts";

/** What came of a step's model call. */
export type StepResult =
  /** The model calls tools: they are open in the state. */
  | { kind: "calls" }
  /** The model replied without calling a tool. */
  | { kind: "replied"; message: AssistantMessage }
  | { kind: "failed"; error: ModelError }
  | { kind: "aborted" };

/** Whether the service refused the request for its length: it counts otherwise than we do. */
export function isOverflow(reply: Reply): reply is Extract<Reply, { kind: "failed" }> {
  return reply.kind === "failed" && reply.error.kind === "overflow";
}

/** How often a step's request is made smaller and sent again. */
const mostShrinks = 4;

/**
 * Learns from the refusal how large the window is, makes room, and makes the step's model call again: as often as
 * the service refuses and the request gets smaller. No request is sent again as it was.
 */
export async function* callWithMoreRoom(state: TurnState, refused: Reply): AsyncGenerator<AgentEvent, Reply> {
  const { context } = state.turn;
  let reply = refused;
  const explain = (last: Reply): Reply => {
    const cause = isOverflow(last) ? explainLargeFixed(state) : undefined;
    if (!isOverflow(last) || cause === undefined) return last;
    const { attempts, detail } = last.error;
    return { kind: "failed", error: new ModelError("overflow", cause, { attempts, detail }) };
  };
  for (let shrinks = 0; shrinks < mostShrinks && isOverflow(reply); shrinks += 1) {
    const before = context.countTokens(state.messages, state.fixed);
    context.learnRefusal(state.messages, state.fixed, reply.error.detail, reply.error.model);
    // Forced where the refused size is too small to learn from.
    yield* makeRoom(state, context.fits(state.messages, state.fixed));
    if (state.isAborted) return { kind: "aborted" };
    if (context.countTokens(state.messages, state.fixed) >= before) return explain(reply);
    reply = yield* callModel(state, state.steps, "auto");
  }
  return explain(reply);
}

/** Takes the reply into the state. */
export function acceptReply(state: TurnState, reply: Reply): StepResult {
  if (reply.kind !== "message") return reply;
  const { message, usage } = reply;
  state.addUsage(usage);
  state.turn.context.learn(state.messages, state.fixed, usage, message.model);
  state.addReply(message, usage.output);
  return state.open.length > 0 ? { kind: "calls" } : { kind: "replied", message };
}

/** How the step's calls run. */
export function createCallOptions(state: TurnState): CallOptions {
  const { tools } = state;
  const { signal, context, history, questionMs, now = Date.now } = state.turn;
  const budget = shareBudget(computeRemainingBudget(state.limits, state.spent()), now, state.turn.budget);
  const reply = state.messages.findLast(({ role }) => role === "assistant");
  const options = {
    ...{ step: state.steps, tools, signal, budget, context },
    ...(isCutWithinCall(reply) && { cutAt: state.replyTokens }),
  };
  if (questionMs === undefined) return options;
  const requester = history.turn?.asked.find(isFromPerson)?.author ?? heddle;
  return { ...options, ask: createAsker(requester, questionMs, now) };
}
