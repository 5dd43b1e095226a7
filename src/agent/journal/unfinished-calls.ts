import type { StopOrder } from "../events.ts";
import type { ToolCall, ToolMessage } from "../messages.ts";
import { answerWithoutRun, type Decision } from "../questions.ts";

/** What has become of a call so far; see `OpenCall`. */
interface UnfinishedCall {
  call: ToolCall;
  started: boolean;
  mayRun?: string;
  decision?: Decision;
}

/** The result of a call that does not run, or not again; undefined when it is to run. */
export function answerNow(
  { call, started, mayRun, decision }: UnfinishedCall,
  stop?: StopOrder,
): ToolMessage | undefined {
  if (started) return answerUnknown(call, mayRun);
  return (decision && answerWithoutRun(call, decision)) ?? (stop && answerStopped(call, stop));
}

/** The result of a call that a stop came before. */
function answerStopped(call: ToolCall, order: StopOrder): ToolMessage {
  const text = `Not run: stopped by ${order.by}.`;
  return { role: "tool", callId: call.id, name: call.name, status: "stopped", text };
}

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
