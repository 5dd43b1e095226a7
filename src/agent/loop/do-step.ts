import type { AgentEvent } from "../events.ts";
import { type AssistantMessage, heddle, isFromPerson } from "../messages.ts";
import type { ModelError } from "../model.ts";
import { createAsker } from "../questions.ts";
import { callModel, type Reply } from "./call-model.ts";
import { type CallOptions, runCalls } from "./calls.ts";
import { remainingBudget } from "./limits.ts";
import { makeRoom } from "./make-room.ts";
import type { TurnState } from "./state.ts";

/** What came of a step. */
export type StepResult =
  /** The model called tools, and each call has its result. */
  | { kind: "called" }
  /** The model replied without calling a tool. */
  | { kind: "replied"; message: AssistantMessage }
  /** People must decide about a call first. */
  | { kind: "waiting" }
  | { kind: "failed"; error: ModelError }
  | { kind: "aborted" };

/** Makes one model call, and runs the tool calls that it asks for. */
export async function* doStep(state: TurnState): AsyncGenerator<AgentEvent, StepResult> {
  state.beginStep();
  let reply: Reply = yield* callModel(state, state.steps, "auto");
  if (reply.kind === "failed" && reply.error.kind === "overflow") {
    // The service counts otherwise than we do: make room as if the window were full, and try once more.
    yield* makeRoom(state, true);
    reply = yield* callModel(state, state.steps, "auto");
  }
  if (reply.kind !== "message") return reply;
  const { message, usage } = reply;
  state.addUsage(usage);
  state.turn.context.learn(state.messages, state.fixed, usage);
  state.addReply(message);
  if (state.open.length === 0) return { kind: "replied", message };
  return yield* runOpenCalls(state);
}

/** Gives the open calls of the step their results. */
export async function* runOpenCalls(state: TurnState): AsyncGenerator<AgentEvent, StepResult> {
  const { tools, signal, context } = state.turn;
  const budget = remainingBudget(state.limits, state.spent());
  const options = { step: state.steps, tools, signal, budget, context, ...askPeople(state) };
  const { outcomes, waiting } = yield* runCalls(state.open, options);
  state.addResults(outcomes);
  return { kind: waiting ? "waiting" : "called" };
}

/** How the turn asks people, if it can. */
function askPeople({ turn: { history, questionMs, now = Date.now } }: TurnState): Pick<CallOptions, "ask"> {
  if (questionMs === undefined) return {};
  const requester = history.turn?.asked.find(isFromPerson)?.author ?? heddle;
  return { ask: createAsker(requester, questionMs, now) };
}
