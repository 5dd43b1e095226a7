import { createHash } from "node:crypto";
import { cutWords } from "../text/text.ts";
import type { Tool, ToolEffect } from "../tools/tool.ts";
import {
  type CommandPattern,
  compileCommandPattern,
  compileGlob,
  type ListedCommand,
} from "./command-pattern.ts";
import {
  type AskingRule,
  joinDecisions,
  type PolicyDecision,
  strictness,
  type ToolAction,
} from "../policy-decision.ts";
import { type ListedScript, listCommands } from "./shell-commands.ts";

/** One line of the operator's rules about tools. `*` in a pattern stands for any text. */
export interface ToolRule {
  /** Pattern of the tool's name, e.g. `github__*`. */
  tool: string;
  effect?: ToolEffect;
  /** Pattern of a whole command with its arguments, e.g. `git push*`; only for tools that take a command. */
  command?: string;
  action: ToolAction;
  /** Whether people must approve each call by itself, and not all of a thread at once. */
  eachTime?: boolean;
  /** For people and for the model. */
  why?: string;
}

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

/**
 * Judges calls by rules: the first that matches decides. Each simple command of a shell script is judged by itself, and
 * the strictest decision holds for the call, so an allowed script is one whose every command is allowed. Where a script
 * runs what it does not say (`curl … | sh`), or is too long to be taken apart in its budget, the strictest of all the
 * rules about the tool holds. A guard rail against mistakes and not a boundary: a program can do what its command line
 * does not say. docs/rules.md says what a rule can see.
 */
export function createPolicy(rules: readonly ToolRule[], fallback: ToolAction): Policy {
  const compiled: CompiledRule[] = rules.map((rule) => ({
    rule,
    tool: compileGlob(rule.tool),
    command: rule.command === undefined ? undefined : compileCommandPattern(rule.command),
    asking: nameAsking(rule),
  }));
  const list = rememberLists();
  return (tool, input) => {
    const mine = compiled.filter(
      (entry) => entry.tool(tool.name) && (entry.rule.effect ?? tool.effect) === tool.effect,
    );
    const script = mine.some((entry) => entry.command) ? findScript(input) : undefined;
    if (script === undefined) {
      return decide(
        mine.find((entry) => !entry.command),
        fallback,
        () => tool.name,
      );
    }
    const { commands, isTold } = list(script);
    const decisions = commands.map((command) =>
      decide(
        mine.find((entry) => isAbout(entry, command)),
        fallback,
        () => command.text,
      ),
    );
    if (!isTold) decisions.push(decideUntold(mine, fallback, script));
    return decisions.reduce(joinDecisions);
  };
}

interface CompiledRule {
  rule: ToolRule;
  tool: (name: string) => boolean;
  command: CommandPattern | undefined;
  /** As what people may approve it for a thread. */
  asking: AskingRule | undefined;
}

/** Longer ones cannot be shown whole beside a button. */
const longestRule = 100;

function nameAsking({ tool, effect, command, action, eachTime }: ToolRule): AskingRule | undefined {
  if (action !== "ask" || eachTime) return undefined;
  const about = command ?? (tool === "*" ? "any tool" : tool);
  const text = effect === undefined ? about : `${about} (${effect})`;
  const all = JSON.stringify([tool, effect ?? null, command ?? null, action]);
  const id = createHash("sha256").update(all).digest("hex").slice(0, 32);
  return text.length > longestRule ? undefined : { id, text };
}

function isAbout({ rule, command }: CompiledRule, listed: ListedCommand): boolean {
  if (!command) return true;
  return rule.action === "allow" ? command.allows(listed) : command.concerns(listed);
}

function decide(entry: CompiledRule | undefined, fallback: ToolAction, what: () => string): PolicyDecision {
  const action = entry?.rule.action ?? fallback;
  if (action === "allow") return { action };
  const why = toSentence(entry?.rule.why ?? explainByDefault(what()));
  return action === "ask" && entry?.asking ? { action, why, rules: [entry.asking] } : { action, why };
}

/** The strictest decision of any rule about the tool. */
function decideUntold(mine: readonly CompiledRule[], fallback: ToolAction, script: string): PolicyDecision {
  const strictest = mine
    .map(({ rule }) => rule)
    .reduce<ToolRule | undefined>(
      (one, other) => (strictness[other.action] > strictness[one?.action ?? fallback] ? other : one),
      undefined,
    );
  const action = strictest?.action ?? fallback;
  if (action === "allow") return { action };
  const why = `What it runs cannot be told from “${quoteShort(script)}”, so the strictest of the operator's rules holds`;
  return { action, why: toSentence(strictest?.why ? `${why}: ${strictest.why}` : why) };
}

/** The script of a call that is a command. */
function findScript(input: unknown): string | undefined {
  const isCommand = typeof input === "object" && input !== null && "command" in input;
  return isCommand && typeof input.command === "string" ? input.command : undefined;
}

/** A call is judged several times before it runs, and its neighbours with it. */
const rememberedScripts = 16;

/** Lists the commands of a script, and remembers those of the last few. */
function rememberLists(): (script: string) => ListedScript {
  const known = new Map<string, ListedScript>();
  return (script) => {
    const found = known.get(script) ?? withoutNothing(listCommands(script));
    known.delete(script);
    known.set(script, found);
    const [oldest] = known.keys();
    if (known.size > rememberedScripts && oldest !== undefined) known.delete(oldest);
    return found;
  };
}

/** A script without any command, such as a comment, is judged as the empty one. */
function withoutNothing({ commands, isTold }: ListedScript): ListedScript {
  const nothing: ListedCommand = { words: [], text: "", assignments: [], writes: [], isOpen: false };
  return { commands: commands.length > 0 ? commands : [nothing], isTold };
}

/** Other sentences follow it. */
function toSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function explainByDefault(what: string): string {
  return `the operator's rules say so for “${quoteShort(what)}”.`;
}

function quoteShort(what: string): string {
  return cutWords(what.slice(0, 400).replaceAll(/\s+/g, " "), 80);
}
