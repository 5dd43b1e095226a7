import type { ToolCall, ToolMessage } from "./messages.ts";

/** The result of a call that was started by a process which is gone. */
export function answerUnknown(call: ToolCall, mayRun?: string): ToolMessage {
  return {
    role: "tool",
    callId: call.id,
    name: call.name,
    status: "unknown",
    text: `Outcome unknown: Heddle was interrupted while this ran. It was not run again; check its effects before you repeat it.${mayRun ? ` ${mayRun}` : ""}`,
  };
}
