import type { NotRun } from "../agent/messages.ts";
import type { ShownCall } from "./outbound.ts";
import { toPlainOutput } from "./terminal-text.ts";
import { toCodeBlock } from "./visible-call.ts";

/** What stands beside calls on platforms that cannot show it with them. */

/** How many calls are left out at the beginning, in words; empty without any. */
export function describeEarlier(calls: number): string {
  return calls > 0 ? `… ${calls} earlier call${calls === 1 ? "" : "s"}` : "";
}

/** How it is with a call that was never run, in words. */
export function describeNotRun(why: NotRun): string {
  return why === "denied" ? "denied" : "not run: nobody decided";
}

const shown = { lines: 4, chars: 400 };

/** The last lines of what is running, as Markdown; empty without any. */
export function quoteOutput(calls: readonly ShownCall[]): string {
  const { output = "" } = calls.findLast((call) => call.output !== undefined) ?? {};
  const last = toPlainOutput(output).slice(-shown.chars).split("\n").slice(-shown.lines).join("\n").trim();
  return last && toCodeBlock(last);
}
