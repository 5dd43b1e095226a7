import type { AgentEvent, TurnOutcome } from "../events.ts";
import { type AssistantMessage, heddle, type Message, textOf } from "../messages.ts";
import { callModel } from "./call-model.ts";
import { findReachedLimit } from "./limits.ts";
import { makeRoom } from "./make-room.ts";
import { nudge } from "./nudge.ts";
import { endAborted, endAtLimit, endRefused } from "./outcomes.ts";
import {
  countRounds,
  describeRepetition,
  equalRounds,
  findRepetition,
  type Repetition,
} from "./repetition.ts";
import type { TurnState } from "./state.ts";

/** Ends the id of the message that asks for a turn's last reply. */
const wrapUpMark = ":wrap-up";

/** A limit at which the model is asked for a last reply. */
export interface WrapUp {
  kind: "wrap-up";
  /** For the model. */
  why: string;
  /** For people. */
  limit: string;
}

/** The limit of steps, or of equal rounds of steps in a row, that the turn has reached. */
export function findWrapUp(stepLimit: string | undefined, repetition: Repetition): WrapUp | undefined {
  if (stepLimit !== undefined)
    return { kind: "wrap-up", why: "You have reached the limit of steps for this turn.", limit: stepLimit };
  if (countRounds(repetition) < equalRounds.end) return undefined;
  return {
    kind: "wrap-up",
    why: `The last ${repetition.steps} steps were the same calls with the same results, so this turn ends here.`,
    limit: describeRepetition(repetition),
  };
}

/** Ends the turn with a last reply, made without tools, about how far it came. */
export async function* wrapUp(
  state: TurnState,
  { why, limit }: WrapUp,
): AsyncGenerator<AgentEvent, TurnOutcome> {
  const order = `${why} Without using tools, summarise for the people in the thread what is done, what is still open and how to go on.`;
  yield* nudge(state, order, wrapUpMark);
  yield* makeRoom(state, false);
  const reply = yield* callModel(state, state.steps + 1, "none");
  switch (reply.kind) {
    case "aborted":
      return endAborted(state);
    case "failed":
      return reply.error.kind === "content-filter"
        ? endRefused(state, reply.error.message)
        : endAtLimit(state, "step-limit", limit);
    case "message":
      state.addUsage(reply.usage);
      return endWrappedUp(state, reply.message, limit);
  }
}

/** Whether the message asks for a turn's last reply. */
export function isWrapUp(message: Message | undefined): boolean {
  return message?.role === "user" && message.author.id === heddle.id && message.id.endsWith(wrapUpMark);
}

/** Ends a turn whose last reply is on record, made by a worker that died before it could say so. */
export function resumeWrapUp(state: TurnState, reply: AssistantMessage): TurnOutcome {
  const repetition = findRepetition(state.messages.slice(0, -2));
  const limit =
    countRounds(repetition) >= equalRounds.end
      ? describeRepetition(repetition)
      : (findReachedLimit(state.limits, state.spent())?.limit ?? "");
  state.retractStep();
  return endWrappedUp(state, reply, limit);
}

function endWrappedUp(state: TurnState, reply: AssistantMessage, limit: string): TurnOutcome {
  const said = textOf(reply).trim();
  return reply.stop === "refusal" ? endRefused(state, said) : endAtLimit(state, "step-limit", limit, said);
}
