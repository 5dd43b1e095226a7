import type { ToolDefinition } from "../model.ts";
import type { TokenCounter } from "./tokens.ts";

/** Beyond this share of what is usable, prompt and tools leave a conversation too little. */
const tolerable = 0.6;

/** How many of the largest parts are named. */
const namedParts = 3;

/** The text that goes with every request. */
export function joinFixed(system: string, tools: readonly ToolDefinition[]): string {
  return system + JSON.stringify(tools);
}

/**
 * One sentence that says which parts of what goes with every request are too large for the model; undefined where they
 * are not.
 *
 * @param usable what the model takes of a prompt, in tokens
 */
export function describeLargeFixed(
  { system, tools }: { system: string; tools: readonly ToolDefinition[] },
  usable: number,
  counter: Pick<TokenCounter, "countFixed">,
): string | undefined {
  const whole = joinFixed(system, tools);
  // No token is less than a byte.
  if (Buffer.byteLength(whole) <= usable * tolerable) return undefined;
  const total = counter.countFixed(whole);
  if (total <= usable * tolerable) return undefined;
  const parts = new Map<string, number>();
  const add = (part: string, text: string) =>
    parts.set(part, (parts.get(part) ?? 0) + counter.countFixed(text));
  for (const section of system.split(/\n\n(?=## |Skills are instructions)/))
    add(nameSection(section), section);
  for (const tool of tools) add(nameOwner(tool.name), JSON.stringify(tool));
  const largest = [...parts].toSorted(([, a], [, b]) => b - a).slice(0, namedParts);
  const named = largest.map(([part, tokens]) => `${part} (${formatTokens(tokens)})`).join(", ");
  return `Prompt and tools take ${formatTokens(total)} of the ${formatTokens(usable)} tokens that the model takes of a request, most of it: ${named}.`;
}

function nameSection(section: string): string {
  if (section.startsWith("## From the operator")) return "the operator's instructions";
  return section.startsWith("Skills are instructions") ? "the list of skills" : "the system prompt";
}

/** Tools of MCP servers are called `server__tool`, see `toModelToolName`. */
function nameOwner(tool: string): string {
  const seam = tool.indexOf("__");
  return seam > 0 ? `the tools of the MCP server ${tool.slice(0, seam)}` : "the built-in tools";
}

function formatTokens(tokens: number): string {
  return Math.floor(tokens).toLocaleString("en-US");
}
