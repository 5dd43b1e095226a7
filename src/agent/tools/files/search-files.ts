import { z } from "zod";
import { globToRegex, walkFunction } from "../../../sandbox/walk.ts";
import { cutSigns } from "../../text/text.ts";
import { cutToWholeLines } from "../jobs.ts";
import { quoteArgument } from "../quote.ts";
import { defaultLimits, defineSandboxTool } from "../tool.ts";

/**
 * grep, run in the sandbox: the pattern comes from the model, and one that takes for ever is ended there. Each
 * argument is quoted for bash, and `--` ends the options.
 */
export const searchFiles = defineSandboxTool({
  name: "search_files",
  description:
    "Find lines in the workspace's text files by an extended regular expression, as grep -E has it, without what .gitignore names.",
  input: z.object({
    pattern: z.string().min(1),
    path: z.string().min(1).optional().describe("A file or folder. Default: the whole workspace"),
    files: z.string().min(1).optional().describe('Only in such files, for example "*.ts" or "src/**/*.ts"'),
    ignore_case: z.boolean().default(false),
    ignored: z.boolean().default(false).describe("Also in what .gitignore names"),
  }),
  effect: "read",
  // One line of a bundle would fill the result.
  limits: { ...defaultLimits, lineChars: 400 },
  async run({ pattern, path, files, ignore_case, ignored }, { sandbox, signal }) {
    const command = searchCommand({ pattern, path, files, ignored, ignoreCase: ignore_case });
    const { end, exitCode, stdout, stderr, droppedBytes, problem } = await sandbox.exec({
      command,
      timeoutMs: 60_000,
      signal,
    });
    const isCut = droppedBytes > 0;
    const lines = (isCut ? cutToWholeLines(stdout) : stdout).toString();
    if (end === "failed")
      return { status: "error", text: problem ?? "The search could not be run.", outage: true };
    if (end === "stopped") return { status: "stopped", text: lines };
    if (end !== "exit")
      return { status: "partial", text: `Ended early (${end}): narrow the search.\n${lines}` };
    if (isCut) {
      const remark = `More lines match than could be kept, and ${droppedBytes} bytes are missing: narrow the search.`;
      return { status: "partial", text: `${remark}\n${lines.trimEnd()}` };
    }
    if (stdout.length > 0) return { status: "ok", text: lines.trimEnd() };
    // The exit code does not tell: xargs has one for no match and for trouble, also with one file of many.
    if (exitCode !== 0 && stderr.length > 0) return { status: "error", text: stderr.toString().trim() };
    return { status: "ok", text: "No line matches." };
  },
});

interface Search {
  pattern: string;
  path: string | undefined;
  files: string | undefined;
  ignored: boolean;
  ignoreCase: boolean;
}

function searchCommand({ pattern, path, files, ignored, ignoreCase }: Search): string {
  // A pipe that the path names is passed over: nobody may ever write to it.
  const grep = `grep -nIE -D skip ${ignoreCase ? "-i " : ""}-e ${quoteArgument(pattern)}`;
  // A name that begins with a dash is no option.
  const start = path === undefined ? "." : path.replace(/^-/, "./-");
  const found = [start, ignored ? "" : "yes", files === undefined ? "" : globToRegex(files), ""];
  // Only the paths of regular files, each below the folder as the model named it.
  const toPaths = String.raw`/^f/ { sub(/^[^\t]*\t[^\t]*\t/, ""); if (!/(^|\/)\.heddle\//) print ENVIRON["BELOW"] $0 }`;
  const below = path === undefined ? "" : `${cutSigns(start, "/")}/`;
  return `${walkFunction}
folder=${quoteArgument(start)}
[ -d "$folder" ] || exec ${grep} -- "$folder"
walk ${found.map(quoteArgument).join(" ")} |
  LC_ALL=C BELOW=${quoteArgument(below)} awk 'BEGIN { RS = ORS = "\\0" } ${toPaths}' | LC_ALL=C sort -z |
  xargs -0 -r ${grep} -H --`;
}
