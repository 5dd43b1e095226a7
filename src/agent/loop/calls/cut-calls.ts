import { isFromPerson, type Message, type ToolCall, toolCalls, type ToolMessage } from "../../messages.ts";

/** So many replies in a row that were cut within a call end the turn: each may cost as much as the service allows. */
export const mostCutReplies = 2;

/** How many of the last replies were cut at the output limit within a call. */
export function countCutReplies(messages: readonly Message[]): number {
  let count = 0;
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (!message || message.role === "summary" || isFromPerson(message)) break;
    if (message.role !== "assistant") continue;
    if (!isCutWithinCall(message)) break;
    count += 1;
  }
  return count;
}

/** Whether the newest reply was cut within its last call. */
export function isCutWithinCall(message: Message | undefined): boolean {
  if (message?.role !== "assistant" || message.stop !== "max-tokens") return false;
  return toolCalls(message).at(-1)?.malformed !== undefined;
}

/** The result of a call whose arguments end where the reply was cut. @param tokens after which it was */
export function answerCut({ id, name }: ToolCall, tokens: number): ToolMessage {
  const text = `CUT: your reply was cut at ${tokens.toLocaleString("en-US")} tokens, the most that one reply may have, within the arguments of this call, so ${name} was not run. Send less at once: write a file in parts (the beginning first, then add to it), or make several smaller changes.`;
  return { role: "tool", callId: id, name, status: "error", text };
}
