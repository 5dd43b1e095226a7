/** States and endings as a sign and in words: neither colour nor shape says it alone. */
import type { Ending, ThreadLine } from "../../../operations/finding.ts";
import type { IconName } from "./dom.ts";

export type State = readonly [sign: IconName, word: string];

const endings: Record<Ending, State> = {
  answered: ["answered", "Answered"],
  silent: ["idle", "Said nothing"],
  stopped: ["stopped", "Stopped"],
  paused: ["paused", "Paused"],
  refused: ["failed", "Refused"],
  failed: ["failed", "Failed"],
  "handed-over": ["waiting", "Handed over"],
};

const results: Record<string, State> = {
  ok: ["answered", "done"],
  partial: ["waiting", "partly done"],
  error: ["failed", "failed"],
  stopped: ["stopped", "stopped"],
  denied: ["stopped", "denied"],
  undecided: ["waiting", "not run: nobody decided"],
  unknown: ["failed", "outcome unknown"],
};

/** Of a turn that has ended. */
export function toEndingState(ended: Ending | undefined): State {
  return ended === undefined ? ["idle", "Idle"] : endings[ended];
}

const decisions: Record<string, State> = {
  approved: ["answered", "Approved"],
  answered: ["answered", "Answered"],
  denied: ["stopped", "Denied"],
  expired: ["waiting", "Nobody answered in time"],
  unasked: ["waiting", "Could not be asked"],
};

/** Of a question that was put to people. */
export function decisionOf(decision: string): State {
  return decisions[decision] ?? ["idle", decision];
}

/** Of a tool call that has ended. */
export function resultOf(status: string): State {
  return results[status] ?? ["failed", status];
}

/** Of a tool call at any time. */
export function callStateOf(state: string): State {
  if (state === "running") return ["taken", "running"];
  if (state === "pending") return ["question", "waiting for a decision"];
  return resultOf(state);
}

/** Of a thread in a list. */
export function stateOf({ state, place, ended }: ThreadLine): State {
  if (state === "running") return ["taken", "Running"];
  if (state === "asking") return ["question", "Needs an answer"];
  if (state === "waiting") return ["waiting", place ? `Waiting, no. ${place}` : "Waiting"];
  return toEndingState(ended);
}
