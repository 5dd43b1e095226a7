import { createCallId } from "../../llm/wire-calls.ts";
import { memoizeByPrefix } from "../../llm/wire-history.ts";
import { type AssistantMessage, type Message, toolCalls } from "../../messages.ts";

const collectCallIds = memoizeByPrefix(
  () => new Set<string>(),
  (ids, message) => {
    if (message.role === "assistant") for (const { id } of toolCalls(message)) ids.add(id);
  },
);

/**
 * The reply with a new id for each call whose id is that of another call, in the reply or in `messages` before it: some
 * models reuse theirs. Results, trims, attachments and files of long output are matched by the id alone.
 */
export function withUniqueCallIds(reply: AssistantMessage, messages: readonly Message[]): AssistantMessage {
  const earlier = collectCallIds(messages);
  const own = new Set<string>();
  let isChanged = false;
  const parts = reply.parts.map((part) => {
    if (part.type !== "tool-call") return part;
    const { id } = part.call;
    if (!earlier.has(id) && !own.has(id)) {
      own.add(id);
      return part;
    }
    isChanged = true;
    return { ...part, call: { ...part.call, id: createCallId() } };
  });
  return isChanged ? { ...reply, parts } : reply;
}
