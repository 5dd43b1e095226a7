import { parse, YAMLParseError } from "yaml";
import type { z } from "zod";
import { ConfigError } from "./config-error.ts";
import { findNearest } from "./nearest.ts";

/**
 * @param where the file, for people
 * @throws ConfigError
 */
export function readYaml(text: string, where: string): unknown {
  try {
    // An empty file is an empty configuration.
    return parse(text) ?? {};
  } catch (error) {
    // An alias without its anchor is a ReferenceError of the parser's.
    if (!(error instanceof YAMLParseError || error instanceof ReferenceError)) throw error;
    throw new ConfigError(`${where} is not YAML: ${error.message.split("\n")[0]?.replace(/:$/, "")}.`);
  }
}

/** @throws ConfigError with every fault: its place, what was expected, and what was probably meant */
export function check<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  where: string,
): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const faults = result.error.issues.map((issue) => `  ${describeIssue(issue, schema)}`);
  throw new ConfigError(`Configuration refused (${where}):\n${faults.join("\n")}`);
}

/** Never prints the value: it may be a secret in the wrong place. */
function describeIssue(issue: z.core.$ZodIssue, schema: z.ZodType): string {
  const path = issue.path.join(".");
  if (issue.code === "unrecognized_keys") {
    const known = listKeys(schema, issue.path);
    return issue.keys
      .map((key) => {
        const meant = findNearest(key, known);
        const hint = meant ? ` Did you mean ${meant}?` : "";
        return `${path ? `${path}.` : ""}${key}: unknown key; known here: ${known.join(", ")}.${hint}`;
      })
      .join("\n  ");
  }
  const said = issue.code === "invalid_key" ? (issue.issues[0]?.message ?? issue.message) : issue.message;
  const message = said.replace(/^(Invalid (input|option)|Too (big|small)): (expected )?/, "expected ");
  const inside =
    issue.code === "invalid_type" && issue.expected === "object" ? listKeys(schema, issue.path) : [];
  const more = inside.length > 0 ? `; keys known here: ${inside.join(", ")}` : "";
  return `${path || "(file)"}: ${message}${more}.`;
}

function listKeys(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  // Walks the JSON form of the schema, which is stable and public, instead of zod's internals.
  let node: unknown = schema.toJSONSchema({ io: "input", unrepresentable: "any" });
  for (const step of path) {
    const { properties, additionalProperties, items } = node as {
      properties?: Record<string, unknown>;
      additionalProperties?: unknown;
      items?: unknown;
    };
    node = properties?.[String(step)] ?? additionalProperties ?? items ?? {};
  }
  return Object.keys((node as { properties?: object }).properties ?? {});
}
