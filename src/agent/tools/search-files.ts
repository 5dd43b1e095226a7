import { z } from "zod";
import { cutText } from "../text.ts";
import { quoteArgument } from "./quote.ts";
import { defineSandboxTool } from "./tool.ts";

/** Longer lines are cut: one line of a bundle would fill the result. */
const maxLineChars = 400;

/**
 * grep, run in the sandbox: the pattern comes from the model, and one that takes for ever is ended there. Each
 * argument is quoted for bash, and `--` ends the options.
 */
export const searchFiles = defineSandboxTool({
  name: "search_files",
  description:
    "Find lines in the workspace's text files by an extended regular expression, as grep -E has it.",
  input: z.object({
    pattern: z.string().min(1),
    path: z.string().min(1).optional().describe("A file or folder. Default: the whole workspace"),
    files: z.string().min(1).optional().describe('Only in files with such a name, for example "*.ts"'),
    ignore_case: z.boolean().default(false),
  }),
  effect: "read",
  async run({ pattern, path, files, ignore_case }, { sandbox, signal }) {
    const command = [
      "grep -rnIE --exclude-dir=.git --exclude-dir=.heddle",
      ...(ignore_case ? ["-i"] : []),
      ...(files === undefined ? [] : [`--include=${quoteArgument(files)}`]),
      `-e ${quoteArgument(pattern)} --`,
      ...(path === undefined ? [] : [quoteArgument(path)]),
    ].join(" ");
    const { end, exitCode, stdout, stderr, problem } = await sandbox.exec({
      command,
      timeoutMs: 60_000,
      signal,
    });
    const lines = stdout
      .toString()
      .split("\n")
      .map((line) => cutText(line, maxLineChars))
      .join("\n");
    if (end === "failed")
      return { status: "error", text: problem ?? "The search could not be run.", outage: true };
    if (end === "stopped") return { status: "stopped", text: lines };
    if (end !== "exit")
      return { status: "partial", text: `Ended early (${end}): narrow the search.\n${lines}` };
    if (exitCode === 1) return { status: "ok", text: "No line matches." };
    // 2 is grep's word for trouble, also when it could not read one file of many.
    if (exitCode !== 0 && stdout.length === 0) return { status: "error", text: stderr.toString().trim() };
    return { status: "ok", text: lines.trimEnd() };
  },
});
