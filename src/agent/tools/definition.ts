import { z } from "zod";
import type { ToolDefinition } from "../model.ts";
import type { Tool } from "./tool.ts";

/**
 * What the model is told about a tool. The schema is that of the input before parsing, so a field with a default
 * is optional, and it is free of what picky endpoints refuse, `$schema` and the bounds that stand for "any
 * integer", and of patterns that only spell out a format.
 */
export function describeTool(tool: Tool): ToolDefinition {
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(tool.name)) {
    throw new Error(`"${tool.name}" cannot be a tool's name: use 1 to 64 of a-z, A-Z, 0-9, _ and -.`);
  }
  const { $schema: _, ...schema } = findSchema(tool);
  if (schema.type !== "object") throw new Error(`The input of tool "${tool.name}" must be an object schema.`);
  // What is not ours may be refused, and there may be any number of it.
  const optional = tool.schema !== undefined;
  return { name: tool.name, description: tool.description, schema, ...(optional && { optional }) };
}

/** The JSON Schema of a tool's input. */
export function findSchema(tool: Tool): Record<string, unknown> {
  return tool.schema ?? schemaOf(tool.input);
}

/** Every turn has the same tools. */
const schemas = new WeakMap<z.ZodType, Record<string, unknown>>();

function schemaOf(input: z.ZodType): Record<string, unknown> {
  const known = schemas.get(input);
  if (known) return known;
  const schema: Record<string, unknown> = z.toJSONSchema(input, {
    io: "input",
    override({ jsonSchema }) {
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  schemas.set(input, schema);
  return schema;
}
