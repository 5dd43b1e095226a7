import type { PromptChoice } from "../../agent/messages.ts";
import { readPromptChoice } from "../../chat/prompt-choice.ts";
import { UsageError } from "../usage-error.ts";

/**
 * Reads `--prompt server/name` with `--argument name=value` for each of its arguments.
 *
 * @throws UsageError
 */
export function readPromptOption({
  prompt,
  argument = [],
}: {
  prompt?: string;
  argument?: string[];
}): PromptChoice | undefined {
  if (prompt === undefined) {
    if (argument.length > 0) throw new UsageError("--argument is for a prompt: name one with --prompt.");
    return undefined;
  }
  const read = readPromptChoice(prompt);
  if (!read || read.rest !== "" || read.choice.arguments)
    throw new UsageError(`--prompt ${prompt}: expected server/name, and its arguments with --argument.`);
  const given = argument.map((written): [string, string] => {
    const [, name, value] = /^([\w.-]{1,64})=(.*)$/s.exec(written) ?? [];
    if (name === undefined || value === undefined)
      throw new UsageError(`--argument ${written}: expected name=value.`);
    return [name, value];
  });
  return { ...read.choice, ...(given.length > 0 && { arguments: Object.fromEntries(given) }) };
}
