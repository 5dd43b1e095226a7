import { formatUserText, isFromPerson, type Message, textOf, toolCalls } from "../messages.ts";
import { cutText } from "../text/text.ts";
import { cutToTokens, extractState } from "./summary-text.ts";
import { estimateTokens, type TokenCounter } from "./tokens.ts";

/** What one message contributes, in characters; less when there are many. */
const inputChars = { most: 2_000, least: 40 };

/** Share of a transcript that an earlier summary may take. */
const earlierShare = 1 / 3;

/** Text with more characters for each token that it may take is taken for too long: counting it would take seconds. */
const mostTokenChars = 6;

/**
 * Every message in short rather than some of them whole: what was found early matters as much. When they do not fit
 * even so, an earlier summary, which comes first, and the newest stay; `unread` is how many were left out.
 */
export function fitTranscript(
  messages: readonly Message[],
  tokens: number,
  counter: TokenCounter,
): { text: string; unread: number } {
  const earlier = transcribeEarlier(messages[0], tokens * earlierShare, counter);
  const rest = messages.slice(earlier.length);
  for (let chars = inputChars.most; ; chars = Math.floor(chars / 2)) {
    const parts = [...earlier, ...rest.map((message) => transcribe(message, chars))];
    const text = parts.join("\n\n");
    if (text.length <= tokens * mostTokenChars && counter.count(text) <= tokens) return { text, unread: 0 };
    if (chars > inputChars.least) continue;
    const kept = takeNewest(parts.slice(earlier.length), tokens - counter.count(earlier.join("")), counter);
    return { text: [...earlier, ...kept].join("\n\n"), unread: rest.length - kept.length };
  }
}

/** About what a message takes at the most, or cut to so many characters. */
export function estimateTranscribed(
  message: Message,
  counter: TokenCounter,
  chars = inputChars.most,
): number {
  // A message that is cut is never counted: the estimate is on the high side, and cheap.
  return Math.min(counter.countMessage(message), estimateTokens(transcribe(message, chars), 1 / 3)) + 1;
}

/** Only the state of the work when the whole is too long: people's words are kept elsewhere. */
function transcribeEarlier(first: Message | undefined, tokens: number, counter: TokenCounter): string[] {
  if (first?.role !== "summary") return [];
  const text =
    counter.count(first.text) <= tokens ? first.text : cutToTokens(extractState(first.text), tokens, counter);
  return [`EARLIER SUMMARY\n${text}`];
}

function transcribe(message: Message, chars: number): string {
  switch (message.role) {
    case "summary":
      return `EARLIER SUMMARY\n${cutText(message.text, chars)}`;
    case "user":
      return `${isFromPerson(message) ? "PERSON" : "NOTICE"} ${cutText(formatUserText(message), chars)}`;
    case "tool":
      return `RESULT of ${message.name} (${message.status}): ${cutText(message.text, chars)}`;
    case "assistant": {
      const calls = toolCalls(message).map(
        (call) => `CALL ${call.name} ${cutText(JSON.stringify(call.input), chars)}`,
      );
      return [`AGENT ${cutText(textOf(message).trim(), chars)}`, ...calls].join("\n");
    }
  }
}

function takeNewest(parts: readonly string[], tokens: number, counter: TokenCounter): string[] {
  let left = tokens;
  const kept: string[] = [];
  for (const part of parts.toReversed()) {
    left -= counter.count(part) + 1;
    if (left < 0) break;
    kept.push(part);
  }
  return kept.toReversed();
}
