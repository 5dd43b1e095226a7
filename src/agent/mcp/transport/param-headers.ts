/**
 * Arguments that are repeated in headers, so that what stands before a server can route by them
 * (https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters).
 */

/** An argument that a tool's schema names with `x-mcp-header`. */
export interface ParamHeader {
  /** The header without `Mcp-Param-`. */
  name: string;
  /** Where the argument is: the names of the properties that lead to it. */
  path: readonly string[];
}

const annotation = "x-mcp-header";
/** RFC 9110, 5.6.2. */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const types = new Set<unknown>(["string", "integer", "boolean"]);

/**
 * The annotated arguments of a tool, or why the tool must not be offered: an annotation that is faulty, or stands where
 * no chain of `properties` leads.
 */
export function readParamHeaders(schema: unknown): ParamHeader[] | { problem: string } {
  const found: ParamHeader[] = [];
  const problem = visit(schema, [], found) ?? findTwice(found);
  return problem === undefined ? found : { problem };
}

function visit(schema: unknown, path: readonly string[], found: ParamHeader[]): string | undefined {
  if (!isObject(schema)) return undefined;
  if (annotation in schema) {
    const fault = path.length === 0 ? "it is no property" : findFault(schema[annotation], schema["type"]);
    if (fault !== undefined)
      return `${annotation} of ${path.join(".") || "the whole input"} cannot be used: ${fault}`;
    found.push({ name: String(schema[annotation]), path });
  }
  for (const [key, value] of Object.entries(schema)) {
    if (key !== "properties") {
      // Of what is no schema, such as an example, whatever it is called counts for nothing.
      if (!literals.has(key) && hasAnnotation(value))
        return `${annotation} stands below “${key}” of ${path.join(".") || "the input"}, where only “properties” may lead`;
    } else if (isObject(value))
      for (const [name, property] of Object.entries(value)) {
        const problem = visit(property, [...path, name], found);
        if (problem !== undefined) return problem;
      }
  }
  return undefined;
}

const literals = new Set([annotation, "default", "const", "enum", "examples"]);

function findFault(name: unknown, type: unknown): string | undefined {
  if (typeof name !== "string" || name === "") return "it names no header";
  if (!token.test(name)) return `${JSON.stringify(name)} is no name of a header`;
  return types.has(type) ? undefined : "only texts, whole numbers and yes-or-no can be in headers";
}

function findTwice(found: readonly ParamHeader[]): string | undefined {
  const names = found.map(({ name }) => name.toLowerCase());
  const twice = found.find(({ name }, index) => names.indexOf(name.toLowerCase()) < index);
  return twice && `${annotation} names ${twice.name} twice`;
}

function hasAnnotation(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasAnnotation);
  return isObject(value) && (annotation in value || Object.values(value).some(hasAnnotation));
}

/** The headers of a call. What is missing, or is of no kind that a header can have, has none. */
export function toParamHeaders(
  headers: readonly ParamHeader[],
  input: Record<string, unknown>,
): Record<string, string> {
  const values = headers.map(({ name, path }) => [`Mcp-Param-${name}`, writeValue(findValue(input, path))]);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

function findValue(input: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return input;
  return isObject(input) && Object.hasOwn(input, name) ? findValue(input[name], rest) : undefined;
}

function writeValue(value: unknown): string | undefined {
  if (typeof value === "boolean" || Number.isSafeInteger(value)) return String(value);
  if (typeof value !== "string") return undefined;
  // What a header cannot carry as it is, and what would be read as its encoding.
  const isPlain =
    /^[\x21-\x7E]([\t\x20-\x7E]*[\x21-\x7E])?$/.test(value) && !/^=\?base64\?.*\?=$/.test(value);
  return isPlain ? value : `=?base64?${Buffer.from(value).toString("base64")}?=`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
