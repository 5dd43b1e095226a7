/** States and endings as a sign and in words: neither colour nor shape says it alone. */

const endings = {
  answered: ["answered", "Answered"],
  stopped: ["stopped", "Stopped"],
  paused: ["waiting", "Paused"],
  refused: ["failed", "Refused"],
  failed: ["failed", "Failed"],
  "handed-over": ["waiting", "Handed over"],
};

const results = {
  ok: ["answered", "done"],
  partial: ["waiting", "partly done"],
  error: ["failed", "failed"],
  stopped: ["stopped", "stopped"],
  unknown: ["failed", "outcome unknown"],
};

/** Of a turn that has ended. */
export function endingOf(ended) {
  return endings[ended] ?? ["idle", "Idle"];
}

const decisions = {
  approved: ["answered", "Approved"],
  answered: ["answered", "Answered"],
  denied: ["stopped", "Denied"],
  expired: ["waiting", "Nobody answered in time"],
  unasked: ["waiting", "Could not be asked"],
};

/** Of a question that was put to people. */
export function decisionOf(decision) {
  return decisions[decision] ?? ["idle", decision];
}

/** Of a tool call that has ended. */
export function resultOf(status) {
  return results[status] ?? ["failed", status];
}

/** Of a tool call at any time. */
export function callStateOf(state) {
  if (state === "running") return ["taken", "running"];
  if (state === "pending") return ["question", "to be decided"];
  return resultOf(state);
}

/** Of a thread in a list. */
export function stateOf({ state, place, ended }) {
  if (state === "running") return ["taken", "Running"];
  if (state === "asking") return ["question", "Waiting for an answer"];
  if (state === "waiting") return ["waiting", place ? `Waiting, no. ${place}` : "Waiting"];
  return endingOf(ended);
}
