import type { PromptChoice } from "../agent/messages.ts";

/** A prompt of an MCP server that a person may begin a task with. Names and descriptions are the server's words. */
export interface OfferedPrompt {
  server: string;
  name: string;
  description: string;
  /** `about`: one line, absent where the server says nothing. */
  arguments: { name: string; about?: string; required: boolean }[];
}

/** `server/name`, then `argument=value`, with quotation marks where the value has blanks. */
const choicePattern = /^([\w.-]{1,64})\/([\w.:/-]{1,64})(?=\s|$)/;
const argumentPattern = /^\s+([\w.-]{1,64})=(?:"([^"]*)"|“([^”]*)”|(\S*))(?=\s|$)/;

/**
 * Reads which prompt a text names, with its arguments, and what stands behind them.
 *
 * @example
 * readPromptChoice('tickets/triage project=heddle since="last week" look at the oldest first');
 * // → { choice: { server: "tickets", name: "triage", arguments: { project: "heddle", since: "last week" } },
 * //     rest: "look at the oldest first" }
 */
export function readPromptChoice(text: string): { choice: PromptChoice; rest: string } | undefined {
  const trimmed = text.trim();
  const [whole, server, name] = choicePattern.exec(trimmed) ?? [];
  if (whole === undefined || server === undefined || name === undefined) return undefined;
  const given: Record<string, string> = {};
  let rest = trimmed.slice(whole.length);
  for (;;) {
    const found = argumentPattern.exec(rest);
    const [all, key, straight, curly, plain] = found ?? [];
    if (all === undefined || key === undefined) break;
    given[key] = straight ?? curly ?? plain ?? "";
    rest = rest.slice(all.length);
  }
  const hasArguments = Object.keys(given).length > 0;
  return { choice: { server, name, ...(hasArguments && { arguments: given }) }, rest: rest.trim() };
}

/** The task of whoever chooses a prompt and writes none. */
export function followPrompt({ server, name }: PromptChoice): string {
  return `Follow the prompt ${server}/${name}.`;
}

/** How a prompt is written, with the arguments that it needs. */
export function writePrompt({ server, name, arguments: named }: OfferedPrompt): string {
  const needed = named.filter(({ required }) => required).map((each) => `${each.name}=…`);
  return [`${server}/${name}`, ...needed].join(" ");
}

/** The prompt that was chosen, where it is offered, with the arguments that it needs and lacks, and those that it does not have. */
function matchPrompt(
  { server, name, arguments: given = {} }: PromptChoice,
  offered: readonly OfferedPrompt[],
): { prompt?: OfferedPrompt; missing: string[]; unknown: string[] } {
  const prompt = offered.find((each) => each.server === server && each.name === name);
  if (!prompt) return { missing: [], unknown: [] };
  const named = prompt.arguments;
  return {
    prompt,
    missing: named.filter((each) => each.required && !given[each.name]).map((each) => each.name),
    unknown: Object.keys(given).filter((key) => !named.some((each) => each.name === key)),
  };
}

/** Why a prompt cannot be chosen, as a sentence for whoever has; undefined where it can. */
export function findPromptProblem(
  choice: PromptChoice,
  offered: readonly OfferedPrompt[],
): string | undefined {
  const { server, name } = choice;
  const { prompt, missing, unknown } = matchPrompt(choice, offered);
  if (!prompt) {
    const names = offered.slice(0, 10).map((each) => `\`${writePrompt(each)}\``);
    const instead = names.length > 0 ? `choose one of ${names.join(", ")}` : "no prompts are known so far";
    return `The prompt ${server}/${name} cannot be chosen here: ${instead}.`;
  }
  if (missing.length > 0)
    return `The prompt ${server}/${name} needs ${missing.join(" and ")}: write \`${writePrompt(prompt)}\`.`;
  if (unknown.length > 0) {
    const known = prompt.arguments.map((each) => each.name).join(", ") || "no arguments";
    return `The prompt ${server}/${name} has no ${unknown.join(" and no ")}; it takes ${known}.`;
  }
  return undefined;
}

/** The prompt that was chosen, where nothing is wrong with that but arguments that were not written. */
export function findIncompletePrompt(
  choice: PromptChoice,
  offered: readonly OfferedPrompt[],
): OfferedPrompt | undefined {
  const { prompt, missing, unknown } = matchPrompt(choice, offered);
  return missing.length > 0 && unknown.length === 0 ? prompt : undefined;
}
