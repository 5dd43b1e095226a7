import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { fits, type TextLimits, truncate } from "../../context/truncate.ts";
import type { ToolCall } from "../../messages.ts";
import { cutText } from "../../text/text.ts";

/**
 * The text within its limits. What is longer is cut in the middle, and kept whole in a file of the workspace where
 * there is one.
 */
export async function limitOutput(
  whole: string,
  limits: TextLimits,
  options: {
    call: ToolCall;
    sandbox: Sandbox | undefined;
    signal: AbortSignal;
    onError(error: unknown): void;
  },
): Promise<string> {
  const text = cutLines(whole, limits);
  if (fits(text, limits)) return text;
  const path = await writeOutputFile(text, options);
  const more = path ? `All of it is in ${path}: use read_file or search_files.` : "The rest was not kept.";
  return truncate(text, limits, { keep: "both", more });
}

function cutLines(text: string, { lineChars }: TextLimits): string {
  if (lineChars === undefined) return text;
  return text
    .split("\n")
    .map((line) => cutText(line, lineChars))
    .join("\n");
}

/** Keeps the full text in the workspace. Not after an abort: a stopped thread starts no process. */
async function writeOutputFile(
  text: string,
  { call, sandbox, signal, onError }: Parameters<typeof limitOutput>[2],
): Promise<string | undefined> {
  if (!sandbox || signal.aborted) return undefined;
  const path: `.heddle/${string}` = `.heddle/output/${call.name}-${call.id.replace(/[^A-Za-z0-9_-]/g, "").slice(-24)}.txt`;
  try {
    return (await writeOwnFile(path, Buffer.from(text), sandbox, signal)) ? path : undefined;
  } catch (error) {
    onError(error);
    return undefined;
  }
}

/** Writes a file of Heddle's own, below `.heddle/` of the workspace. */
export async function writeOwnFile(
  path: `.heddle/${string}`,
  data: Buffer,
  sandbox: Sandbox,
  signal: AbortSignal,
): Promise<boolean> {
  // Keeps the folder out of the repository that the workspace may be.
  await sandbox.writeFile(".heddle/.gitignore", Buffer.from("*\n"), { ifSha256: null, signal });
  return (await sandbox.writeFile(path, data, { signal })).ok;
}
