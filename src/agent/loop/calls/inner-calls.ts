import type { AgentEvent, InnerCall, InnerCalls } from "../../events.ts";
import { cutText } from "../../text/text.ts";

/** Together at most some 40 KB in the journal, whatever a sub-agent does. */
const keptCalls = 60;
const keptChars = 300;

/** Collects the calls of one sub-agent from its events. @param mask for arguments; results come masked */
export function collectInnerCalls(mask: (text: string) => string): {
  add(event: AgentEvent): void;
  read(): InnerCalls | undefined;
} {
  const calls: { id: string; call: InnerCall }[] = [];
  let omitted = 0;
  return {
    add(event) {
      if (event.type === "tool-start") {
        const { id, name, input, malformed } = event.call;
        const text = mask(malformed ?? JSON.stringify(input) ?? "");
        calls.push({
          id,
          call: { name, input: cutText(text, keptChars), status: "unknown", text: "", durationMs: 0 },
        });
        if (calls.length <= keptCalls) return;
        calls.shift();
        omitted += 1;
      } else if (event.type === "tool-end") {
        const { callId, status, notRun, text } = event.message;
        const ended = calls.findLast(({ id }) => id === callId);
        if (ended)
          Object.assign(ended.call, {
            status,
            ...(notRun && { notRun }),
            text: cutText(text, keptChars),
            durationMs: event.durationMs,
          });
      }
    },
    read: () => (calls.length === 0 ? undefined : { calls: calls.map(({ call }) => call), omitted }),
  };
}
