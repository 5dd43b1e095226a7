export type ToolAction = "allow" | "ask" | "deny";

/**
 * Whether a call may run, must be approved by a person first, or never runs. `why` is for people and the model; `file`
 * is what people are to read before they approve.
 */
export type PolicyDecision = { action: "allow" } | { action: "ask" | "deny"; why: string; file?: ShownFile };

export interface ShownFile {
  name: string;
  text: string;
}

export const strictness: Record<ToolAction, number> = { allow: 0, ask: 1, deny: 2 };

/** The stricter of two decisions about one call, the first where they are equal. */
export function pickStricter(one: PolicyDecision, other: PolicyDecision): PolicyDecision {
  return strictness[other.action] > strictness[one.action] ? other : one;
}
