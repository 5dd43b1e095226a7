import { isObject } from "../../llm/wire-calls.ts";
import { findSchema } from "../definition.ts";
import type { Tool } from "../tool.ts";

/** An argument that the tool does not have. */
export interface UnknownArgument {
  /** Where it stands, e.g. `items.0.state`. */
  path: string;
  /** The arguments that there are in its place. */
  known: string[];
}

/**
 * Every argument that the tool does not have. One that was ignored in silence would be worse than a refusal: the model
 * believes that its option counted. A tool of ours has what its schema lists; that of an MCP server takes more where its
 * schema does not say `additionalProperties: false`.
 */
export function findUnknownArguments(tool: Tool, input: unknown): UnknownArgument[] {
  const isForeign = tool.schema !== undefined;
  const found: UnknownArgument[] = [];
  const visit = (schema: unknown, value: unknown, path: string): void => {
    if (!isObject(schema)) return;
    if (Array.isArray(value)) {
      const items: unknown = Reflect.get(schema, "items");
      for (const [index, item] of value.entries()) visit(items, item, join(path, String(index)));
    } else if (isObject(value)) {
      const properties = readProperties(schema);
      const known = Object.keys(properties);
      for (const [key, inner] of Object.entries(value)) {
        if (Object.hasOwn(properties, key)) visit(properties[key], inner, join(path, key));
        else if (isClosed(schema, isForeign)) found.push({ path: join(path, key), known });
      }
    }
  };
  visit(findSchema(tool), input, "");
  return found;
}

/** Whether an object may have no other properties than those that its schema lists. */
function isClosed(schema: object, isForeign: boolean): boolean {
  if ("patternProperties" in schema) return false;
  const additional: unknown = Reflect.get(schema, "additionalProperties");
  return additional === false || (additional === undefined && !isForeign && "properties" in schema);
}

function readProperties(schema: object): Record<string, unknown> {
  const properties: unknown = Reflect.get(schema, "properties");
  return isObject(properties) ? { ...properties } : {};
}

function join(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}
