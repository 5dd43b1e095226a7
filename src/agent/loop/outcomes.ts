import { readAbort, type TurnOutcome } from "../events.ts";
import { BudgetReached } from "../llm/metered-model.ts";
import { isFromPerson, type Message, textOf } from "../messages.ts";
import type { ModelError } from "../model.ts";
import type { TurnState } from "./state.ts";

/** Ends a turn whose signal is aborted, in the way that the reason says. */
export function endAborted(state: TurnState): TurnOutcome {
  const reason = readAbort(state.turn.signal);
  switch (reason.kind) {
    case "stop":
      return { kind: "stopped", order: reason.order, ...keepSaid(state), ...state.totals() };
    case "shutdown":
      return { kind: "suspended", ...state.totals() };
    case "lost-lease":
      return { kind: "lost-lease", ...state.totals() };
  }
}

/** Of what was being said when it was stopped, so many characters are kept: the last ones. */
const keptChars = 8_000;

function keepSaid({ unfinished }: TurnState): { said?: string } {
  const said = unfinished.trim();
  return said === ""
    ? {}
    : { said: said.length > keptChars ? `…${said.slice(-keptChars).toWellFormed()}` : said };
}

export function endAnswered(state: TurnState, text: string): TurnOutcome {
  return { kind: "answered", text, ...state.totals() };
}

export function endSilent(state: TurnState): TurnOutcome {
  return { kind: "answered", text: "", silent: true, ...state.totals() };
}

/** @param said the model's own words, if any */
export function endRefused(state: TurnState, said: string): TurnOutcome {
  return { kind: "refused", text: said || "The model declined to answer this.", ...state.totals() };
}

/** @param text shown to people */
export function endWithModelError(state: TurnState, text: string): TurnOutcome {
  return { kind: "model-error", text, ...state.totals() };
}

/** Ends the turn because its model call failed for good. */
export function endFailed(state: TurnState, error: ModelError): TurnOutcome {
  if (error instanceof BudgetReached) {
    const { usedUp } = error;
    state.retractStep();
    const text = findLastWords(state.messages);
    return { kind: "budget", limit: usedUp.limit, usedUp, text, ...state.totals() };
  }
  return error.kind === "content-filter"
    ? endRefused(state, error.message)
    : endWithModelError(state, error.message);
}

/** Ends the turn at a limit, without a summary by the model where there is nothing left to pay for it. */
export function endAtLimit(
  state: TurnState,
  kind: "step-limit" | "budget",
  limit: string,
  summary = "",
): TurnOutcome {
  return { kind, limit, text: summary || findLastWords(state.messages), ...state.totals() };
}

/** What to show when there is no summary by the model: what it said last since it was asked; "" for nothing. */
function findLastWords(messages: readonly Message[]): string {
  for (const message of messages.toReversed()) {
    if (isFromPerson(message)) break;
    const text = message.role === "assistant" ? textOf(message).trim() : "";
    if (text) return text;
  }
  return "";
}
