import type { ModelRequest, ToolDefinition } from "../model.ts";
import type { AttemptFailed } from "./attempt-failed.ts";

/** Remembers which tools a model's service has refused. */
export interface RefusedTools {
  /** The request without them. */
  accepted(request: ModelRequest): ModelRequest;
  /** The name of the tool for which it failed, if it was one; then that tool counts as refused. */
  refuse(failure: AttemptFailed, request: ModelRequest): string | undefined;
}

/**
 * A service refuses a whole request because of one tool schema that it does not understand, such as an MCP server may
 * offer. No thread would get an answer any more, so the tool is left out.
 */
export function createToolStripping(): RefusedTools {
  // Definitions are created for each turn, so they are compared by content.
  const refused = new Set<string>();
  const remaining = (tools: readonly ToolDefinition[]) =>
    tools.filter((tool) => !refused.has(JSON.stringify(tool)));
  return {
    accepted: (request) => (refused.size === 0 ? request : { ...request, tools: remaining(request.tools) }),
    refuse({ kind, detail }, { tools }) {
      if (kind !== "invalid-request") return undefined;
      const sent = remaining(tools);
      const found = sent[placeIn(detail)] ?? sent.find(({ name }) => name === nameIn(detail));
      if (!found) return undefined;
      refused.add(JSON.stringify(found));
      return found.name;
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
