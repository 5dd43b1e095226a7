import type { Message, SummaryMessage, ToolMessage } from "../messages.ts";

/**
 * The last `keep` messages behind a summary of the others. Their thinking is left out: it is bound to all that
 * was said before it, and a service may refuse it behind anything else.
 */
export function replaceSummarized(
  summary: SummaryMessage,
  messages: readonly Message[],
  keep: number,
): Message[] {
  const kept = messages.slice(Math.max(0, messages.length - keep)).map((message) => {
    if (message.role !== "assistant") return message;
    const parts = message.parts.filter((part) => part.type !== "thinking");
    const { tokens: _, ...rest } = message;
    return parts.length > 0 && parts.length < message.parts.length ? { ...rest, parts } : message;
  });
  return [summary, ...kept];
}

/** Whether the result was cut by {@link trimResults}. */
export function isTrimmed({ text }: ToolMessage): boolean {
  return text.includes(trimMark, text.length - mostNoticeChars);
}

const trimMark = "\n[… cut to save space";
const mostNoticeChars = 250;

/** How much of a trimmed result stays, in characters. */
const trimmedChars = 200;

/** The messages with the results of these calls cut short. Makes new objects: others may hold the old ones. */
export function trimResults(messages: readonly Message[], callIds: ReadonlySet<string>): Message[] {
  return messages.map((message) => {
    if (message.role !== "tool" || !callIds.has(message.callId)) return message;
    const { images, tokens: _, ...rest } = message;
    const start = message.text.slice(0, trimmedChars).replace(/[\ud800-\udbff]$/, "");
    return {
      ...rest,
      text: `${start}${trimMark}${images ? ", pictures too" : ""}: search_history may find the rest, or run ${message.name} again]`,
    };
  });
}
