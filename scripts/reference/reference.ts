/** `npm run reference`: writes docs/configuration.md, docs/openapi.json, heddle.example.yaml and the JSON Schema that editors use. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { z } from "zod";
import { routes } from "../../src/adapters/console/api/api.ts";
import { describeApi } from "../../src/adapters/console/api/openapi.ts";
import { environmentSchema } from "../../src/config/environment.ts";
import { settingsSchema } from "../../src/config/schema.ts";

type Schema = z.core.JSONSchema.BaseSchema;

/** Where the JSON Schema of heddle.yaml lies. */
export const schemaPath = "docs/heddle.schema.json";

/**
 * What `heddle.yaml` must keep to and JSON Schema cannot say: the place of the setting, as a refusal names it, and what
 * is checked there. Editors accept more than Heddle does in these places, and in no other.
 */
export const beyondSchema: readonly { place: RegExp; about: string }[] = [
  { place: /^budgets\.timeZone: /, about: "`budgets.timeZone` names a time zone that exists" },
  { place: /^queue\.fenceSeconds: /, about: "`queue.fenceSeconds` is longer than `queue.lockSeconds`" },
  {
    place: /^queue\.jobFenceSeconds: /,
    about: "`queue.jobFenceSeconds` is not shorter than `queue.fenceSeconds`",
  },
  { place: /^web\.searchUrl: /, about: "`web.searchUrl` is set where `web.search` is `searxng`" },
  { place: /^discord\.shards: /, about: "the ids in `discord.shards` lie below its total" },
  { place: /\.startReactions: /, about: "`startReactions` names none of `stopReactions`" },
  {
    place: /^(egress\.|web\.allow|channels\..*\.(network|web\.allow)|console\.proxies)/,
    about: "hosts, addresses and networks are well-formed",
  },
  {
    place: /^providers\.[^.]+\.(protocol|baseUrl): /,
    about: "a provider with a name of your own has a protocol and a `baseUrl`",
  },
  { place: /^console\.identityHeader: /, about: "`console.identityHeader` comes with `console.proxies`" },
  { place: /: there is no provider /, about: "models name a provider that there is" },
  { place: /\.headers\./, about: "variables that headers name are set" },
];

/** The generated files: their path in the repository, and their content. */
export function reference(): Record<string, string> {
  const environment = z.toJSONSchema(environmentSchema, { io: "input" });
  const settings = z.toJSONSchema(settingsSchema, { io: "input" });
  return {
    "docs/openapi.json": `${JSON.stringify(describeApi(routes), null, 2)}\n`,
    "docs/configuration.md": `# Configuration

Secrets and endpoints come from the environment or a file \`.env\`, everything else from \`heddle.yaml\`. A wrong key or
value stops startup with its path, what was expected and an example. \`npm run reference\` generates this page from the
schema; \`heddle.example.yaml\` has every setting with its default.

## In an editor

The [JSON Schema](${schemaPath.replace("docs/", "")}) completes and checks \`heddle.yaml\` in every editor with the YAML
language server (VS Code: the extension by Red Hat). Begin the file with

\`\`\`text
# yaml-language-server: $schema=${schemaPath}
\`\`\`

where the path starts at the file. In an installed package the schema is
\`node_modules/heddle/${schemaPath}\`. Start-up checks more than a schema can say:

${beyondSchema.map(({ about }) => `- ${about}`).join("\n")}

## Environment

${table(rows(environment))}
## heddle.yaml

${sections(settings)}`,
    [schemaPath]: `${JSON.stringify({ title: "Heddle: heddle.yaml", ...settings }, null, 2)}\n`,
    "heddle.example.yaml": `# yaml-language-server: $schema=${schemaPath}
# Every setting of heddle.yaml with its default. Copy what you want to change; keep secrets in .env.
# Generated from the schema by \`npm run reference\`; docs/configuration.md has the same as a table.

${example(settings, "")}`,
  };
}

interface Row {
  name: string;
  takes: string;
  preset: string;
  about: string;
}

/** One row a value; objects, records and lists of objects are walked through. */
function rows(schema: Schema, path = ""): Row[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
    const part = asSchema(value);
    const name = path ? `${path}.${key}` : key;
    const isRequired = schema.required?.includes(key) ?? false;
    const inner = inside(part);
    if (!inner) return [row(name, part, isRequired)];
    const below = rows(inner.schema, `${name}${inner.suffix}`);
    return part.description ? [row(`${name}${inner.suffix}`, part, isRequired), ...below] : below;
  });
}

function row(name: string, schema: Schema, isRequired: boolean): Row {
  const { default: preset, description = "" } = schema;
  const shown = preset === undefined || isEmptyObject(preset) ? "" : `\`${JSON.stringify(preset)}\``;
  return { name, takes: kindOf(schema), preset: isRequired ? "required" : shown, about: description };
}

/** What lies below a key, and how its name goes on; undefined for a plain value. */
function inside(schema: Schema): { schema: Schema; suffix: string } | undefined {
  if (schema.properties) return { schema, suffix: "" };
  const entry = asSchema(schema.additionalProperties);
  if (entry.properties) return { schema: entry, suffix: ".<name>" };
  const item = asSchema(schema.items);
  if (item.properties) return { schema: item, suffix: "[]" };
  return undefined;
}

function kindOf(schema: Schema): string {
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return options.map((option) => kindOf(asSchema(option))).join(" or ");
  if (schema.const !== undefined) return `\`${String(schema.const)}\``;
  if (schema.enum) return schema.enum.map((value) => `\`${String(value)}\``).join(", ");
  switch (schema.type) {
    case "integer":
    case "number":
      return range(schema);
    case "array":
      return inside(schema) ? "a list" : `a list of: ${kindOf(asSchema(schema.items))}`;
    case "boolean":
      return "`true` or `false`";
    case "object":
      if (schema.properties) return "the following";
      return inside(schema) ? "by name" : "names with values";
    default:
      if (schema.format === "uri") return "an address";
      return (schema.minLength ?? 0) > 1 ? `text of at least ${schema.minLength} characters` : "text";
  }
}

function range({ type, minimum, maximum, exclusiveMinimum }: Schema): string {
  const whole = type === "integer" ? "whole number" : "number";
  const least = minimum ?? exclusiveMinimum;
  const isSafe = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER;
  if (least === undefined) return whole;
  const from = exclusiveMinimum === undefined ? least.toLocaleString("en-US") : `above ${exclusiveMinimum}`;
  if (isSafe) return `${whole}, ${from} to ${maximum.toLocaleString("en-US")}`;
  return exclusiveMinimum === undefined ? `${whole}, ${from} or more` : `${whole}, ${from}`;
}

function sections(settings: Schema): string {
  const plain: Record<string, unknown> = {};
  const parts: string[] = [];
  for (const [key, value] of Object.entries(settings.properties ?? {})) {
    const part = asSchema(value);
    if (!part.properties) {
      plain[key] = value;
      continue;
    }
    parts.push(`### ${key}\n\n${table(rows(part, key))}`);
  }
  return [table(rows({ properties: plain } as Schema)), ...parts].join("\n");
}

function table(all: readonly Row[]): string {
  // An angle bracket would begin a tag.
  const cell = (text: string) => text.replaceAll(/[|<]/g, "\\$&").replaceAll("\n", " ");
  const lines = all.map(
    ({ name, takes, preset, about }) => `| \`${name}\` | ${cell(takes)} | ${cell(preset)} | ${cell(about)} |`,
  );
  return `| name | takes | default | |\n| --- | --- | --- | --- |\n${lines.join("\n")}\n`;
}

/** YAML with the defaults in force and, as comments, what has none. */
function example(schema: Schema, indent: string): string {
  const off = `${indent}# `;
  let isBehindSection = false;
  return Object.entries(schema.properties ?? {})
    .map(([key, value]) => {
      const part = asSchema(value);
      const gap = isBehindSection ? "\n" : "";
      const about = part.description ? `${gap}${indent}# ${part.description}\n` : gap;
      isBehindSection = part.properties !== undefined;
      // Only where it is there has it to be whole.
      if (part.properties && (part.required ?? []).length > 0)
        return `${gap ? "" : "\n"}${about}${off}${key}:\n${commentedParts(part, off, ["  ", "  "])}`;
      if (part.properties) {
        const below = example(part, `${indent}  `);
        // A key with nothing but comments below it would be null.
        const isOn = /^\s*[^#\s]/m.test(below);
        return `${gap ? "" : "\n"}${about}${isOn ? indent : off}${key}:\n${below}`;
      }
      const inner = inside(part);
      const layout = inner ? commented(inner, off) : "";
      if (part.default === undefined)
        return `${about}${off}${key}:${inner ? "" : ` ${plainKindOf(part)}`}\n${layout}`;
      return `${about}${indent}${key}: ${stringify(part.default, { collectionStyle: "flow", lineWidth: 0 }).trimEnd()}\n${layout}`;
    })
    .join("");
}

/** In one line, and without the marks of Markdown. */
function plainKindOf(schema: Schema): string {
  if (schema.properties) return `{ ${Object.keys(schema.properties).join(", ")} }`;
  return kindOf(schema).replaceAll("`", "");
}

/** How an entry of a record or a list looks. */
function commented({ schema, suffix }: { schema: Schema; suffix: string }, off: string): string {
  const [first, rest] = suffix === "[]" ? ["  - ", "    "] : ["    ", "    "];
  const head = suffix === "[]" ? "" : `${off}  <name>:\n`;
  return head + commentedParts(schema, off, [first, rest]);
}

function commentedParts(schema: Schema, off: string, [first, rest]: [string, string]): string {
  const lines = Object.entries(schema.properties ?? {}).map(([key, value], index) => {
    const part = asSchema(value);
    const about = part.description ? `  (${part.description})` : "";
    return `${off}${index === 0 ? first : rest}${key}: ${plainKindOf(part)}${about}\n`;
  });
  return lines.join("");
}

/** JSON Schema allows `true`, `false` and lists where Heddle's schema has objects only. */
function asSchema(value: unknown): Schema {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isEmptyObject(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(reference())) {
    writeFileSync(join(import.meta.dirname, "../..", path), text);
  }
}
