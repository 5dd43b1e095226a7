import type { InputRequest } from "./server-input.ts";

export type ToolAction = "allow" | "ask" | "deny";

/**
 * Whether a call may run, must be approved by a person first, or never runs. `why` is for people and the model; `file`
 * is what people are to read before they approve. `rules`: all that ask, where people may approve these for the whole
 * thread; absent where each call is to be decided by itself. `connect`: what is missing is an account of the person who
 * has asked. `input`: what an MCP server wants to know of that person. `ownAccount`: it is about such an account, so that only its owner can approve it.
 */
export type PolicyDecision =
  | { action: "allow" }
  | {
      action: "ask";
      why: string;
      file?: ShownFile;
      rules?: readonly AskingRule[];
      connect?: MissingAccount;
      ownAccount?: true;
      input?: InputRequest;
    }
  | { action: "deny"; why: string };

/** An account that a person has to connect before a call can run. */
export interface MissingAccount {
  /** The MCP server's name in `mcp.json`. */
  server: string;
  /** Where it is, for people. */
  host: string;
}

/** A rule of the operator's that asks about calls. */
export interface AskingRule {
  /** Of all that the rule says but its reason, letters and digits: an approval ends when the operator changes the rule. */
  id: string;
  /** What it asks about, for people, e.g. `git push*`. */
  text: string;
}

export interface ShownFile {
  name: string;
  text: string;
}

export const strictness: Record<ToolAction, number> = { allow: 0, ask: 1, deny: 2 };

/** The stricter of two decisions about one call, the first where they are equal. */
export function pickStricter(one: PolicyDecision, other: PolicyDecision): PolicyDecision {
  return strictness[other.action] > strictness[one.action] ? other : one;
}

/** What people can oversee before they approve it for a whole thread. */
const mostRules = 3;

/** The stricter of two decisions about parts of one call. Where both ask, both must be approved. */
export function joinDecisions(one: PolicyDecision, other: PolicyDecision): PolicyDecision {
  if (one.action !== "ask" || other.action !== "ask") return pickStricter(one, other);
  const { rules: first, ...asked } = one;
  if (!first || !other.rules) return asked;
  const rules = [...first, ...other.rules.filter(({ id }) => !first.some((known) => known.id === id))];
  return rules.length > mostRules ? asked : { ...asked, rules };
}
