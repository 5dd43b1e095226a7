import type { ToolDefinition } from "../model.ts";
import { isOpenAI } from "./endpoints.ts";

/** How many tools OpenAI takes. Other services say theirs when they refuse a request for it. */
const openAITools = 128;

/**
 * How many tools a service of OpenAI's protocols takes, where that is known.
 *
 * @param baseUrl default: OpenAI's
 */
export function findToolLimit(baseUrl: string | undefined): number | undefined {
  return baseUrl === undefined || isOpenAI(baseUrl) ? openAITools : undefined;
}

/** At most so many tools are named. */
const mostNames = 200;

/**
 * The tools that a service takes that takes only so many. Those that the agent needs are kept, whatever their number; the
 * others as far as there is room, the first ones first.
 */
export function limitTools<T extends Pick<ToolDefinition, "name" | "optional">>(
  tools: readonly T[],
  most = Infinity,
): { kept: readonly T[]; leftOut: readonly T[] } {
  if (tools.length <= most) return { kept: tools, leftOut: [] };
  let room = most - tools.filter(({ optional }) => !optional).length;
  const kept: T[] = [];
  const leftOut: T[] = [];
  for (const tool of tools) {
    if (!tool.optional) kept.push(tool);
    else if (room > 0) {
      room -= 1;
      kept.push(tool);
    } else leftOut.push(tool);
  }
  return { kept, leftOut };
}

/** Says which tools are left out, in a sentence for people and models. */
export function describeLeftOut(leftOut: readonly { name: string }[], most: number): string {
  const names = leftOut.slice(0, mostNames).map(({ name }) => name);
  const more = leftOut.length > mostNames ? ` and ${leftOut.length - mostNames} more` : "";
  return `The model service takes at most ${most} tools, so these are left out and cannot be called: ${names.join(", ")}${more}.`;
}
