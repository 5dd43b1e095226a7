import type { z } from "zod";

/** What a schema of zod is made of. */
type Definition = z.core.$ZodTypes["_zod"]["def"];

/**
 * Whether a value is what a schema describes, without making anything: a session's claim looks at all of its journal,
 * and zod, which builds a new value for each that it parses, would be most of what that costs. What the guard takes,
 * zod takes; what it refuses, zod is asked about.
 *
 * Only the kinds of schema that journals need are understood; another one is refused when the program starts.
 *
 * @example
 * const isPoint = compileGuard(z.looseObject({ x: z.number() }));
 * isPoint({ x: 1, note: "kept" }); // true
 */
export function compileGuard(schema: z.ZodType): (value: unknown) => boolean {
  const names = counter();
  const body = check(schema, "value", names);
  // The text is made of schemas alone.
  // oxlint-disable-next-line typescript/no-implied-eval
  const guard = new Function("value", `${body} return true;`);
  return (value) => guard(value) === true;
}

type Names = () => string;

function counter(): Names {
  let made = 0;
  return () => `v${(made += 1)}`;
}

function definitionOf(schema: z.core.$ZodType): Definition {
  return (schema as unknown as { def: Definition }).def; // Every schema is one of zod's own, which zod's types leave open.
}

/** Statements that return false unless the variable `name` is what the schema says. */
function check(schema: z.core.$ZodType, name: string, names: Names): string {
  const definition = definitionOf(schema);
  switch (definition.type) {
    case "unknown":
      return "";
    case "string":
    case "boolean":
      return `if (typeof ${name} !== "${definition.type}") return false;`;
    case "number":
      return `if (typeof ${name} !== "number" || !Number.isFinite(${name})) return false;`;
    case "literal":
      return `if (${definition.values.map((value) => `${name} !== ${JSON.stringify(value)}`).join(" && ")}) return false;`;
    case "nullable":
      return `if (${name} !== null) { ${check(definition.innerType, name, names)} }`;
    case "array": {
      const item = names();
      return `if (!Array.isArray(${name})) return false; for (const ${item} of ${name}) { ${check(definition.element, item, names)} }`;
    }
    case "record": {
      const item = names();
      return `${checkIsObject(name)} for (const ${item} of Object.values(${name})) { ${check(definition.valueType, item, names)} }`;
    }
    case "object":
      return `${checkIsObject(name)} ${checkMembers(definition.shape, name, names)}`;
    case "union":
      return `${checkIsObject(name)} ${checkOption(definition, name, names)}`;
    default:
      throw new Error(`compileGuard knows no ${definition.type}: teach it, or parse with zod alone.`);
  }
}

function checkIsObject(name: string): string {
  return `if (typeof ${name} !== "object" || ${name} === null || Array.isArray(${name})) return false;`;
}

function checkMembers(shape: z.core.$ZodShape, name: string, names: Names): string {
  const checks = Object.entries(shape).map(([key, member]) => {
    const definition = definitionOf(member);
    const value = names();
    const read = `const ${value} = ${name}[${JSON.stringify(key)}];`;
    return definition.type === "optional" || definition.type === "default"
      ? `${read} if (${value} !== undefined) { ${check(definition.innerType, value, names)} }`
      : `${read} ${check(member, value, names)}`;
  });
  return checks.join(" ");
}

/** Of a discriminated union of objects: those with other values never come to be looked at. */
function checkOption(union: z.core.$ZodUnionDef, name: string, names: Names): string {
  if (!("discriminator" in union)) throw new Error("compileGuard knows no union without a discriminator.");
  const key = String(union.discriminator);
  const cases = union.options.map((option) => {
    const definition = definitionOf(option);
    const value = definition.type === "object" ? definition.shape[key] : undefined;
    const label = value && definitionOf(value);
    if (label?.type !== "literal")
      throw new Error(`compileGuard knows no discriminator but literals: ${key}.`);
    const labels = label.values.map((one) => `case ${JSON.stringify(one)}:`).join(" ");
    return `${labels} { ${check(option, name, names)} break; }`;
  });
  return `switch (${name}[${JSON.stringify(key)}]) { ${cases.join(" ")} default: return false; }`;
}
