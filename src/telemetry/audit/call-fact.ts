import { createHash } from "node:crypto";
import { readFailedExit } from "../../agent/exit-code.ts";
import type { ToolCall, ToolMessage } from "../../agent/messages.ts";
import { cutText } from "../../agent/text/text.ts";
import type { AuditFact } from "./fact.ts";

/** How much of a call's arguments is in the log, in characters. */
const shownChars = 300;

/** The arguments of a call, masked; the digest proves later which they were. */
export function maskArguments(
  { input, malformed }: ToolCall,
  mask: (text: string) => string,
): { sha256: string; arguments: string } {
  const text = mask(malformed ?? JSON.stringify(input) ?? "");
  return {
    sha256: createHash("sha256").update(text).digest("hex"),
    arguments: cutText(text, shownChars).toWellFormed(),
  };
}

/** How a call ended, for people who read the log. The model is told of a command that has failed as of one that ran. */
export function describeCallEnd({
  name,
  status,
  notRun,
  text,
}: ToolMessage): Pick<Extract<AuditFact, { what: "tool-ended" }>, "status" | "exitCode"> {
  const exit = readFailedExit(name, text);
  if (exit === undefined) return { status: notRun ?? status };
  return { status: "error", exitCode: Number(/\d+/.exec(exit)?.[0]) };
}
