import type { Tool, ToolEffect } from "../tools/tool.ts";
import { cutText } from "../well-formed.ts";
import { splitCommands } from "./shell-commands.ts";

export type ToolAction = "allow" | "ask" | "deny";

/** One line of the operator's rules about tools. `*` in a pattern stands for any text. */
export interface ToolRule {
  /** Pattern of the tool's name, e.g. `github__*`. */
  tool: string;
  effect?: ToolEffect;
  /** Pattern of a whole command with its arguments, e.g. `git push*`; only for tools that take a command. */
  command?: string;
  action: ToolAction;
  /** For people and for the model. */
  why?: string;
}

/** Whether a call may run, must be approved by a person first, or never runs. `why` is for people and the model. */
export type PolicyDecision = { action: "allow" } | { action: "ask" | "deny"; why: string };

/**
 * Decides about each call before it runs, a sub-agent's too, from the tool's declared effect and the parsed input. Must
 * be a pure function: it is asked again when the turn is resumed. Must not throw, and in doubt answers `ask` or `deny`.
 *
 * ```ts
 * const readOnly: Policy = ({ effect }) =>
 *   effect === "read" ? { action: "allow" } : { action: "deny", why: "This agent only reads." };
 * ```
 */
export type Policy = (tool: Pick<Tool, "name" | "effect">, input: unknown) => PolicyDecision;

export const allowAll: Policy = () => ({ action: "allow" });

const strictness: Record<ToolAction, number> = { allow: 0, ask: 1, deny: 2 };

/**
 * Judges calls by rules: the first that matches decides. Each simple command of a shell script is judged by
 * itself, and the strictest decision holds for the call, so an allowed script is one whose every command is
 * allowed. A guard rail against mistakes and not a boundary: a program can do what its command line does not say.
 */
export function createPolicy(rules: readonly ToolRule[], fallback: ToolAction): Policy {
  const compiled = rules.map((rule) => ({
    rule,
    tool: compileGlob(rule.tool),
    command: rule.command === undefined ? undefined : compileGlob(rule.command),
  }));
  return (tool, input) => {
    const mine = compiled.filter(
      (entry) => entry.tool(tool.name) && (entry.rule.effect ?? tool.effect) === tool.effect,
    );
    const judge = (command: string | undefined): PolicyDecision => {
      const found = mine.find((entry) => !entry.command || (command !== undefined && entry.command(command)));
      const action = found?.rule.action ?? fallback;
      if (action === "allow") return { action };
      return { action, why: toSentence(found?.rule.why ?? explainByDefault(command ?? tool.name)) };
    };
    return listCommands(
      input,
      mine.some((entry) => entry.command),
    )
      .map(judge)
      .reduce((one, other) => (strictness[other.action] > strictness[one.action] ? other : one));
  };
}

/** What is to be judged: never empty. Undefined stands for a call that is no command. */
function listCommands(input: unknown, hasPatterns: boolean): [string | undefined, ...string[]] {
  const isCommand = typeof input === "object" && input !== null && "command" in input;
  if (!hasPatterns || !isCommand || typeof input.command !== "string") return [undefined];
  // A script without any command, such as a comment, is judged as the empty one.
  const [first = "", ...rest] = splitCommands(input.command);
  return [first, ...rest];
}

/** Other sentences follow it. */
function toSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function explainByDefault(what: string): string {
  return `the operator's rules say so for “${cutText(what.replaceAll(/\s+/g, " "), 80)}”.`;
}

/** Whether a text is the pattern from its first to its last character. Linear in the text. */
export function compileGlob(glob: string): (text: string) => boolean {
  const [first = "", ...rest] = glob.split("*");
  const last = rest.pop();
  return (text) => {
    if (last === undefined) return text === first;
    if (!text.startsWith(first)) return false;
    let at = first.length;
    for (const part of rest) {
      const found = text.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return text.length - last.length >= at && text.endsWith(last);
  };
}
