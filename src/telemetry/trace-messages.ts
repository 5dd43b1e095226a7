import type { AssistantMessage, StopReason, UserMessage } from "../agent/messages.ts";
import { cutText } from "../agent/text/text.ts";

/** Makes what somebody wrote fit to leave the house. */
export type Content = (text: string) => string;

/** Of one attribute, in characters: collectors and viewers drop what is much larger. */
export const mostContent = 16_000;

type Part =
  | { type: "text"; content: string }
  | { type: "tool_call"; id: string; name: string; arguments: unknown };

interface TracedMessage {
  role: "user" | "assistant";
  parts: Part[];
  name?: string;
  finish_reason?: string;
}

/**
 * People's messages as the GenAI conventions want `gen_ai.input.messages`: JSON by their schema
 * (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-input-messages.json).
 */
export function formatInputMessages(messages: readonly UserMessage[], content: Content): string {
  return fitJson((most) =>
    messages.map(({ author, text }) => ({
      role: "user",
      parts: [{ type: "text", content: cutText(content(text), most) }],
      name: cutText(content(author.name), most),
    })),
  );
}

/** A reply as they want `gen_ai.output.messages`. Thinking is left out: it is no part of what was said. */
export function formatOutputMessages({ parts, stop }: AssistantMessage, content: Content): string {
  return fitJson((most) => [
    {
      role: "assistant",
      parts: parts.flatMap((part): Part[] => {
        if (part.type === "text") return [{ type: "text", content: cutText(content(part.text), most) }];
        if (part.type === "thinking") return [];
        const { id, name, input } = part.call;
        return [
          { type: "tool_call", id, name, arguments: cutJson(content(JSON.stringify(input ?? {})), most) },
        ];
      }),
      finish_reason: toFinishReason(stop),
    },
  ]);
}

/** The messages as JSON of at most {@link mostContent} characters: cut as a whole it would be none. */
function fitJson(makeMessages: (most: number) => TracedMessage[]): string {
  for (let most = mostContent; most > 16; most = Math.floor(most / 2)) {
    const json = JSON.stringify(makeMessages(most));
    if (json.length <= mostContent) return json;
  }
  return "[]";
}

/** Masked arguments: a value again where they are still JSON and whole, else text. */
function cutJson(json: string, most: number): unknown {
  if (json.length > most) return cutText(json, most);
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

function toFinishReason(stop: StopReason): string {
  switch (stop) {
    case "end":
      return "stop";
    case "tool-calls":
      return "tool_call";
    case "max-tokens":
    case "context-window":
      return "length";
    case "refusal":
      return "content_filter";
    case "pause":
    case "other":
      return stop;
  }
}
