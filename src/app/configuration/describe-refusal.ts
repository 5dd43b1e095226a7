import { cutText } from "../../agent/text/text.ts";

/** Failures whose message is for the operator; of everything else only the kind of defect is told. */
const expected = new Set(["ConfigError", "McpConfigError", "ModelError", "DemoScriptError"]);

/** Why a configuration is refused, in one line without the layout of a start that fails. */
export function describeRefusal(error: unknown): string {
  if (!(error instanceof Error)) return "It could not be read.";
  if (!expected.has(error.name) && !("code" in error)) return `It could not be taken: ${error.message}`;
  const [first = "", ...more] = error.message.split("\n").map((line) => line.trim());
  return cutText([first, more.join(" ")].filter(Boolean).join(" "), 1_000);
}
