import type { ModelRequest, ToolDefinition } from "../model.ts";
import type { AttemptFailed } from "./attempt-failed.ts";
import { describeLeftOut, limitTools } from "./tool-limit.ts";

/** Remembers which tools a model's service has refused, and how many it takes. */
export interface RefusedTools {
  /** The request without those that it would refuse. */
  accepted(request: ModelRequest): ModelRequest;
  /**
   * Why it failed, in a sentence for people, if that was for a tool or for their number and the agent can do without; then
   * it is left out from now on.
   */
  refuse(failure: AttemptFailed, request: ModelRequest): string | undefined;
}

/**
 * A service refuses a whole request because of one tool schema that it does not understand, such as an MCP server may
 * offer, or because there are too many of them. No thread would get an answer any more, so what the agent can do without
 * is left out, and the model is told.
 *
 * @param most how many tools the service takes, where that is known
 */
export function createToolStripping(most: number | undefined): RefusedTools {
  // Definitions are created for each turn, so they are compared by content.
  const refused = new Set<string>();
  let limit = most;
  const listRemaining = (tools: readonly ToolDefinition[]) =>
    refused.size === 0 ? tools : tools.filter((tool) => !refused.has(JSON.stringify(tool)));
  return {
    accepted(request) {
      const { kept, leftOut } = limitTools(listRemaining(request.tools), limit);
      if (kept.length === request.tools.length) return request;
      const told = limit !== undefined && leftOut.length > 0 && describeLeftOut(leftOut, limit);
      const system = told ? `${request.system}\n\n(${told})`.trim() : request.system;
      return { ...request, system, tools: kept };
    },
    refuse({ kind, detail }, { tools }) {
      if (kind !== "invalid-request") return undefined;
      const sent = limitTools(listRemaining(tools), limit).kept;
      const named = sent[placeIn(detail)] ?? sent.find(({ name }) => name === nameIn(detail));
      if (named) {
        if (!named.optional) return undefined;
        refused.add(JSON.stringify(named));
        return `The model service refused the schema of the tool ${named.name}; it is left out until it changes.`;
      }
      const told = limitIn(detail, sent.length);
      const { leftOut } = limitTools(sent, told);
      if (told === undefined || leftOut.length === 0) return undefined;
      limit = told;
      return describeLeftOut(leftOut, told);
    },
  };
}

/** Anthropic: "tools.3.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12" */
function placeIn(detail: string): number {
  return Number(/\btools[.[](\d+)\b/.exec(detail)?.[1] ?? -1);
}

/** OpenAI: "Invalid schema for function 'crm_find': schema must have type 'object' and not have 'oneOf'…" */
function nameIn(detail: string): string | undefined {
  return /schema for function '([^']+)'/i.exec(detail)?.[1];
}

/**
 * OpenAI: "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 140
 * instead." Others say it in other words; the limit is the largest number in them that is below what was sent.
 */
function limitIn(detail: string, sent: number): number | undefined {
  if (!/\b(tools|functions)\b/i.test(detail)) return undefined;
  if (!/too (long|many)|maximum|at most|limit|exceed|more than/i.test(detail)) return undefined;
  const numbers = [...detail.matchAll(/\d+/g)].map(([digits]) => Number(digits));
  const limit = Math.max(...numbers.filter((number) => number < sent));
  return limit > 0 ? limit : undefined;
}
