import type { AgentEvent } from "../events.ts";
import { type AssistantMessage, textOf } from "../messages.ts";
import { isSilence, mayKeepSilent } from "../silence.ts";
import type { CallsResult } from "./calls/calls.ts";
import type { StepResult } from "./do-step.ts";
import { countCutReplies, mostCutReplies } from "./calls/cut-calls.ts";
import { makeRoom } from "./make-room.ts";
import { nudge } from "./nudge.ts";
import { endAborted, endAnswered, endFailed, endRefused, endSilent, endWithModelError } from "./outcomes.ts";
import { type PhaseResult, proceed, type TurnState } from "./state.ts";

/** Takes the results of the step's calls into the state; the turn goes on unless people must decide about one first. */
export function concludeCalls(state: TurnState, { outcomes, waiting }: CallsResult): PhaseResult {
  state.addResults(outcomes);
  if (countCutReplies(state.messages) >= mostCutReplies) return endWithModelError(state, explainCut(state));
  return waiting ? { kind: "waiting", ...state.totals() } : proceed;
}

function explainCut({ replyTokens }: TurnState): string {
  const tokens = replyTokens.toLocaleString("en-US");
  return `The model wanted to write more than fits into one reply: twice in a row it was cut at ${tokens} tokens within a tool call. Ask for smaller parts, or let the administrator raise the model's maxOutputTokens.`;
}

/** Says whether the turn goes on after a step without calls, or how it ends. */
export async function* concludeReply(
  state: TurnState,
  step: Exclude<StepResult, { kind: "calls" }>,
): AsyncGenerator<AgentEvent, PhaseResult> {
  switch (step.kind) {
    case "replied":
      return yield* judgeReply(state, step.message);
    case "failed":
      return endFailed(state, step.error);
    case "aborted":
      return endAborted(state);
  }
}

/** A reply without tool calls is the answer, unless it was paused, cut or empty: then the model is asked again. */
export async function* judgeReply(
  state: TurnState,
  message: AssistantMessage,
): AsyncGenerator<AgentEvent, PhaseResult> {
  const said = readWords(state, message);
  state.extendAnswer(said);
  const answer = state.answer.trim();
  if (message.stop === "pause") return proceed;
  if (message.stop === "refusal") return endRefused(state, answer);

  const isCut = message.stop === "max-tokens" || message.stop === "context-window";
  if (message.stop === "context-window") {
    // Prompt and reply together have filled the window.
    state.turn.context.learnRefusal(state.messages, state.fixed, "", message.model);
    yield* makeRoom(state, false);
  }
  if (isCut && said.trim()) {
    yield* nudge(state, "Your reply was cut. Continue exactly where it stopped, repeating nothing.");
    return proceed;
  }
  if (!answer && !isCut && mayKeepSilent(state.asked)) return endSilent(state);
  // One that was cut within its thoughts counts as empty: told to continue, it would be cut there again and again.
  if (answer && (!isCut || state.isNudged)) return endAnswered(state, answer);
  if (state.isNudged) return endWithModelError(state, noAnswer);
  state.markNudged();
  yield* nudge(state, "Your last reply was empty. Please answer, or use a tool.");
  return proceed;
}

/** What it says to people. Where it was offered a word for silence, that word says nothing. */
export function readWords({ asked }: TurnState, message: AssistantMessage): string {
  const said = textOf(message);
  return asked.some(({ unaddressed }) => unaddressed) && isSilence(said) ? "" : said;
}

const noAnswer = "The model gave no answer, also when asked again. Please rephrase.";
