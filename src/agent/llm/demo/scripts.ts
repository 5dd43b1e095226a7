import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";

/** Placeholders that a script's text may contain; the README beside the scripts explains each. */
export const placeholder = /\{\{(user|author|notice|result:[1-9]\d*)\}\}/g;

const text = z
  .string()
  .min(1)
  .refine((value) => !value.replace(placeholder, "").includes("{{"), {
    error: "knows only the placeholders {{user}}, {{author}}, {{notice}} and {{result:1}}, {{result:2}} ...",
  });

const callStep = z.strictObject({
  thinking: text.optional(),
  text: text.optional(),
  calls: z
    .array(
      z.strictObject({
        tool: z.string().regex(/^[\w-]{1,64}$/),
        input: z.record(z.string(), z.json()).default({}),
      }),
    )
    .default([]),
});

const scriptFile = z.strictObject({
  match: z.array(z.string().min(1)).min(1).optional(),
  steps: z
    .array(callStep)
    .min(1)
    .refine((steps) => steps.slice(0, -1).every((step) => step.calls.length > 0), {
      error: "every step but the last needs calls, because a step without calls ends the turn",
    })
    .refine((steps) => steps.at(-1)?.calls.length === 0 && steps.at(-1)?.text !== undefined, {
      error: "the last step is the answer: it needs a text and has no calls",
    }),
});

/** One reply of the demo model. Without calls it is the answer. */
export type ScriptStep = z.infer<typeof callStep>;

/** A conversation that the demo model can play. */
export interface Script {
  matches(userText: string): boolean;
  steps: readonly ScriptStep[];
}

export interface Scripts {
  /** In the order of their file names: the first that matches is played. */
  scripts: readonly Script[];
  /** Played when none matches. */
  fallback: Script;
}

/** Scripts that cannot be played. The message says which, and what is wrong with it. */
class DemoScriptError extends Error {
  override readonly name = "DemoScriptError";
}

/**
 * Reads every `*.yaml` file of a folder.
 *
 * @throws DemoScriptError for a folder that cannot be read, a file that does not follow the format (with the place in
 * it), and unless there is exactly one script without `match`
 */
export function loadScripts(dir: string): Scripts {
  const files = listNames(dir)
    .filter((name) => name.endsWith(".yaml"))
    .toSorted()
    .map((name) => readScript(join(dir, name)));
  const fallbacks = files.filter((file) => file.patterns === undefined);
  const [fallback] = fallbacks;
  if (fallback === undefined || fallbacks.length > 1) {
    throw new DemoScriptError(
      `The demo scripts in ${dir} need exactly one file without "match" to answer everything else, and ${fallbacks.length} were found.`,
    );
  }
  return { scripts: files.filter((file) => file !== fallback), fallback };
}

function listNames(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch (error) {
    throw new DemoScriptError(`The demo scripts in ${dir} cannot be read: ${explainError(error)}.`, {
      cause: error,
    });
  }
}

function readScript(path: string): Script & { patterns: RegExp[] | undefined } {
  try {
    const { match, steps } = scriptFile.parse(parse(readFileSync(path, "utf8")));
    const patterns = match?.map(toPattern);
    return {
      patterns,
      steps,
      matches: (userText) => patterns?.some((pattern) => pattern.test(userText)) ?? false,
    };
  } catch (error) {
    throw new DemoScriptError(`The demo script ${path} cannot be used: ${explainError(error)}.`, {
      cause: error,
    });
  }
}

/** `/.../` is a regular expression, anything else is looked for as it stands. */
function toPattern(entry: string): RegExp {
  const expression = /^\/(.+)\/$/s.exec(entry)?.[1];
  return new RegExp(expression ?? entry.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`), "i");
}

function explainError(error: unknown): string {
  if (!(error instanceof z.ZodError)) return String(error);
  return error.issues
    .map((issue) => `${z.core.toDotPath(issue.path) || "file"}: ${issue.message}`)
    .join("; ");
}
