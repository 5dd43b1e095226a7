import { parse, YAMLParseError } from "yaml";
import { z } from "zod";
import { pageChars } from "./pages.ts";

/** The contents of a `SKILL.md`. */
export interface Manifest {
  name: string;
  description: string;
  /** Tools that the author expects to be used, as written. A hint: it grants nothing. */
  expectedTools: string;
  /** The Markdown below the front matter, untouched. */
  instructions: string;
}

export type ParsedManifest =
  | { ok: true; manifest: Manifest; warnings: string[] }
  /** A sentence for the operator. */
  | { ok: false; reason: string };

const fieldsSchema = z.looseObject({
  name: z.string().trim().min(1),
  description: z.string().trim().min(1),
});

const toolsSchema = z.union([z.string(), z.array(z.string()).transform((tools) => tools.join(" "))]);

/** The rule of the Agent Skills specification. */
const specifiedName = /^(?!.{65})[\p{Ll}\p{Lo}\p{N}]+(?:-[\p{Ll}\p{Lo}\p{N}]+)*$/u;
/** A name that is at least safe as a folder name and on a command line. */
const usableName = /^(?!.{129})[\p{L}\p{N}][\p{L}\p{N}._-]*$/u;

/**
 * Reads a `SKILL.md` as leniently as other clients do: a skill is refused only when it has no name, no
 * description or no readable front matter. Everything else that breaks the specification is a warning.
 *
 * @param folder the name of the skill's folder, which its own name should equal.
 */
export function parseManifest(text: string, folder: string): ParsedManifest {
  const parts = /^\uFEFF?---[ \t]*\r?\n(?<head>.*?\r?\n)?---[ \t]*(?:\r?\n(?<body>.*))?$/s.exec(text)?.groups;
  if (!parts) {
    const reason =
      "It has no front matter: begin with a line ---, then name: and description:, then another line ---.";
    return { ok: false, reason };
  }
  const front = parseFront(parts["head"] ?? "");
  if (!front.ok) return front;
  const fields = fieldsSchema.safeParse(front.value);
  if (!fields.success) {
    const wrong = [...new Set(fields.error.issues.map((issue) => issue.path[0] ?? "name and description"))];
    return { ok: false, reason: `Its front matter has no usable ${wrong.map(String).join(" and ")}.` };
  }
  const name = fields.data.name.normalize("NFKC");
  const { description, "allowed-tools": toolsField = "" } = fields.data;
  const tools = toolsSchema.safeParse(toolsField);
  if (!usableName.test(name)) {
    return {
      ok: false,
      reason: `Its name ${JSON.stringify(name)} cannot be a folder's name; use a-z, 0-9 and -.`,
    };
  }
  const instructions = (parts["body"] ?? "").trim();
  const manifest = { name, description, expectedTools: tools.data ?? "", instructions };
  const oddTools = tools.success ? [] : ["Its allowed-tools is neither a text nor a list of texts."];
  return { ok: true, manifest, warnings: [...listFlaws(manifest, folder), ...oddTools] };
}

/** What of a usable skill breaks the specification, a sentence each. */
function listFlaws({ name, description, instructions }: Manifest, folder: string): string[] {
  return [
    specifiedName.test(name) ? "" : `Its name ${name} should be at most 64 of a-z, 0-9 and single hyphens.`,
    name === folder.normalize("NFKC") ? "" : `Its name ${name} is not that of its folder, ${folder}.`,
    description.length <= 1_024 ? "" : "Its description is longer than 1024 characters.",
    instructions.split("\n").length <= 500
      ? ""
      : "It is longer than 500 lines; move details to files beside it.",
    instructions.length <= pageChars
      ? ""
      : `It has ${instructions.length} characters, which the agent loads in pages of ${pageChars}; move details to files beside it.`,
  ].filter((warning) => warning !== "");
}

function parseFront(text: string): { ok: true; value: unknown } | { ok: false; reason: string } {
  const attempts = [text, quoteValues(text)].map(parseYaml);
  return attempts.find((attempt) => attempt.ok) ?? attempts[0] ?? { ok: true, value: null };
}

function parseYaml(text: string): { ok: true; value: unknown } | { ok: false; reason: string } {
  try {
    // The failsafe schema reads every scalar as text, so that a version 1.10 or a name 007 is not turned into a number.
    return { ok: true, value: parse(text, { schema: "failsafe", logLevel: "error" }) };
  } catch (error) {
    // An alias without its anchor is a ReferenceError of the parser's.
    if (!(error instanceof YAMLParseError || error instanceof ReferenceError)) throw error;
    return { ok: false, reason: `Its front matter is not YAML: ${error.message.split("\n")[0]}` };
  }
}

/** Authors write `description: Use when: ...`; YAML takes the second colon for a mapping, other clients do not. */
function quoteValues(text: string): string {
  return text.replaceAll(/^([\w-]+):[ \t]+(?![ \t"'|>[{&*!#])(.*\S)/gm, (_, key: string, value: string) => {
    return `${key}: ${JSON.stringify(value)}`;
  });
}
