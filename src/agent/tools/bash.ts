import { StringDecoder } from "node:string_decoder";
import { z } from "zod";
import type { ExecResult } from "../../sandbox/sandbox.ts";
import { describeExitCode } from "../exit-code.ts";
import { defineSandboxTool, type ToolResult } from "./tool.ts";

/** What the sandbox gives a command that asks for no time, and how much output it keeps, is the operator's choice. */
const maxSeconds = 600;

/** The kernel passes no longer argument; a longer script belongs into a file. Refused before any rule judges it. */
const maxCommandChars = 128 * 1024 - 1;

export const bash = defineSandboxTool({
  name: "bash",
  description:
    "Run a command with bash in the workspace. Each call is a new shell: directories and variables do not persist, " +
    "and processes left behind with & end with the call. The result has the exit code and both output streams. " +
    "For servers and long work use run_in_background.",
  input: z.object({
    command: z.string().min(1).max(maxCommandChars),
    title: z
      .string()
      .optional()
      .describe("What it is for, in at most six words, for the people who watch; no rule reads it"),
    timeout_seconds: z
      .number()
      .optional()
      .describe(`At most ${maxSeconds}; without it the operator's limit; not for background commands`),
    run_in_background: z
      .boolean()
      .optional()
      .describe("Return at once with an id for bash_output and bash_kill; the command runs on"),
  }),
  effect: "write",
  // Above the longest command, so that the command's own limit speaks first.
  timeoutMs: (maxSeconds + 30) * 1000,
  async run({ command, timeout_seconds = 0, run_in_background = false }, context) {
    const { sandbox, signal, output } = context;
    if (run_in_background) {
      const started = await sandbox.start({ command });
      if (!started.ok) return { status: "error", text: started.message };
      const { id } = started.job;
      return {
        status: "ok",
        text: `Started in the background with id ${id}, running. Read its output with bash_output, end it with bash_kill.`,
      };
    }
    const decoder = new StringDecoder("utf8");
    const result = await sandbox.exec({
      command,
      ...(timeout_seconds >= 1 && { timeoutMs: Math.min(timeout_seconds, maxSeconds) * 1000 }),
      signal,
      onOutput: (chunk) => output(decoder.write(chunk)),
    });
    return reportResult(result);
  },
});

/** How it ended comes first, so that it is seen whatever is cut from the output. */
function reportResult(result: ExecResult): ToolResult {
  const text = [describeEnding(result), outputOf(result)].join("\n");
  switch (result.end) {
    case "exit":
      return { status: "ok", text };
    case "timeout":
    case "memory":
    case "processes":
    case "output":
    case "disk":
      return { status: "partial", text };
    case "stopped":
      return { status: "stopped", text };
    case "failed":
      return { status: "error", text, outage: true };
  }
}

function describeEnding({ end, exitCode, problem, durationMs }: ExecResult): string {
  switch (end) {
    case "exit":
      return describeExitCode(exitCode ?? 0);
    case "timeout":
      return `TIMEOUT: ended after ${Math.round(durationMs / 1000)} s with all its processes. For longer work use run_in_background.`;
    case "memory":
      return "Ended with all its processes: they used more memory than this thread has. Work on smaller pieces.";
    case "processes":
      return "Ended with all its processes: there were more of them than this thread may have. Start fewer at a time.";
    case "output":
      return "Ended with all its processes: far too much output. Write it to a file, or filter it.";
    case "disk":
      return "Ended with all its processes: the workspace's disk space is used up. Remove what is not needed.";
    case "stopped":
      return "Ended with all its processes before it was finished.";
    case "failed":
      return problem ?? "The sandbox could not run the command; ask the operator to look at its log.";
  }
}

function outputOf({ stdout, stderr, droppedBytes }: ExecResult): string {
  const parts: string[] = [];
  if (stdout.length > 0) parts.push(stdout.toString());
  if (stderr.length > 0) parts.push(`[stderr]\n${stderr.toString()}`);
  if (parts.length === 0) parts.push("(no output)");
  if (droppedBytes > 0) parts.push(`[${droppedBytes} bytes of output were not kept]`);
  return parts.map((part) => part.replace(/\n$/, "")).join("\n");
}
