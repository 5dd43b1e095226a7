import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionContentPart,
  ChatCompletionMessageFunctionToolCall,
  ChatCompletionMessageParam,
  ChatCompletionUserMessageParam,
} from "openai/resources/chat/completions";
import {
  type AssistantMessage,
  formatUserText,
  type Image,
  type Message,
  textOf,
  type ToolCall,
  type ToolMessage,
} from "../../messages.ts";
import type { ModelRequest } from "../../model.ts";
import { toWellFormed } from "../../text/text.ts";
import {
  assertPaired,
  formatSummary,
  hashId,
  isBlank,
  memoizeByPrefix,
  noteLeftOutImages,
  type Reader,
  toDataUrl,
  toResultText,
  toWireId,
  toWireName,
} from "../wire-history.ts";
import { chatThinking } from "./chat-reply.ts";
import type { ReasoningFields } from "./reasoning.ts";

/** Who reads the messages of Chat Completions. */
export interface ChatReader extends Reader {
  /** Goes with the first call of a reply that the model has not signed itself; see {@link standInSignature}. */
  unsigned?: Readonly<Record<string, unknown>>;
  /** Goes with each reply whose reasoning is not there; see {@link standInReasoning}. */
  unreasoned?: string;
  /** Takes no other ids of calls than Mistral's own, of nine letters and digits. */
  hasShortIds?: true;
  /** Takes what people say only in turn with what the model says without a call, as the templates of Mistral's models. */
  alternates?: true;
}

/**
 * What Gemini takes in place of the signature of a call that another model has made:
 * https://ai.google.dev/gemini-api/docs/thought-signatures
 */
export const standInSignature = { google: { thought_signature: "skip_thought_signature_validator" } };

/**
 * What DeepSeek and Kimi take in place of the reasoning of a reply that another model has made, or that stands behind a
 * summary; not all of their models take an empty text: https://github.com/NousResearch/hermes-agent/pull/17341,
 * https://github.com/charmbracelet/crush/issues/2696
 */
export const standInReasoning = " ";

/** Characters of a tool call's id that OpenAI takes in this protocol. */
const idLimit = 40;

/**
 * Puts requests' messages into the format of Chat Completions.
 *
 * @returns a function that throws an Error when the history is not legal: a call without its result, or a result
 * without its call
 */
export function createChatMessages(
  reader: ChatReader,
): (request: ModelRequest) => ChatCompletionMessageParam[] {
  const converted = memoizeByPrefix(
    (): Converted => ({ wire: [], images: [] }),
    (state, message) => convert(message, state, reader),
  );
  return ({ system, messages }) => {
    assertPaired(messages);
    const { wire, images } = converted(messages);
    const all: ChatCompletionMessageParam[] = [
      ...(system === "" ? [] : [{ role: "system" as const, content: system.toWellFormed() }]),
      ...wire,
    ];
    addImagesTurn(all, images, reader);
    return all;
  };
}

interface Converted {
  wire: ChatCompletionMessageParam[];
  /** Those of a step's results: as a tool message takes text only, they follow after the last of them. */
  images: ChatCompletionContentPart[];
}

function convert(message: Message, state: Converted, reader: ChatReader): void {
  const { wire } = state;
  if (message.role !== "tool") {
    addImagesTurn(wire, state.images, reader);
    state.images = [];
  }
  switch (message.role) {
    case "user":
      addUser(wire, toWellFormed(toUserContent(formatUserText(message), message.images, reader)), reader);
      break;
    case "summary":
      addUser(wire, formatSummary(message).toWellFormed(), reader);
      break;
    case "assistant":
      if (!isBlank(message)) wire.push(toWellFormed(assistant(message, reader)));
      break;
    case "tool":
      wire.push(
        toWellFormed({
          role: "tool",
          tool_call_id: toCallId(message.callId, reader),
          content: reader.images
            ? toResultText(message.text)
            : noteLeftOutImages(toResultText(message.text), message.images ?? []),
        }),
      );
      if (reader.images) state.images.push(...toWellFormed(toResultImages(message)));
      break;
  }
}

function addImagesTurn(
  wire: ChatCompletionMessageParam[],
  images: ChatCompletionContentPart[],
  reader: ChatReader,
): void {
  if (images.length > 0) addUser(wire, images, reader);
}

type UserContent = ChatCompletionUserMessageParam["content"];

function addUser(wire: ChatCompletionMessageParam[], content: UserContent, { alternates }: ChatReader): void {
  const last = wire.at(-1);
  if (alternates && last?.role === "user") {
    // In its place: requests that were sent hold the one before.
    wire[wire.length - 1] = { role: "user", content: joinContents(last.content, content) };
    return;
  }
  if (alternates && last?.role === "tool") wire.push({ role: "assistant", content: "(I go on.)" });
  wire.push({ role: "user", content });
}

function joinContents(before: UserContent, after: UserContent): UserContent {
  if (typeof before === "string" && typeof after === "string") return `${before}\n\n${after}`;
  return [before, after].flatMap((content) =>
    typeof content === "string" ? [{ type: "text" as const, text: content }] : content,
  );
}

function assistant(message: AssistantMessage, reader: ChatReader): ChatCompletionAssistantMessageParam {
  const isOwn = message.model === reader.id;
  const { think = "", ...reasoning } = isOwn ? readThinking(message) : {};
  const text = think + textOf(message);
  const calls = message.parts.filter((part) => part.type === "tool-call");
  const isSigned = isOwn && calls.some(({ extra }) => extra);
  return {
    role: "assistant",
    content: text.trim() === "" ? null : text,
    ...reasoning,
    ...(reader.unreasoned !== undefined &&
      !hasReasoning(reasoning) && { reasoning_content: reader.unreasoned }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ call, extra }, index) => ({
        ...toToolCall(call, reader),
        ...(isOwn && extra && { extra_content: extra }),
        ...(!isSigned && index === 0 && reader.unsigned && { extra_content: reader.unsigned }),
      })),
    }),
  };
}

function hasReasoning({ reasoning_content, reasoning, reasoning_details }: ReasoningFields): boolean {
  return Boolean(reasoning_content || reasoning || reasoning_details?.length);
}

function readThinking(message: AssistantMessage) {
  const part = message.parts.find(({ type }) => type === "thinking");
  const ours = part?.type === "thinking" && part.protocol === "openai-chat";
  return (ours && chatThinking.safeParse(part.raw).data) || {};
}

function toCallId(id: string, { hasShortIds }: ChatReader): string {
  if (!hasShortIds) return toWireId(id, idLimit);
  return /^[a-zA-Z0-9]{9}$/.test(id) ? id : hashId(id).slice(-9);
}

function toToolCall(
  { id, name, input }: ToolCall,
  reader: ChatReader,
): ChatCompletionMessageFunctionToolCall {
  return {
    id: toCallId(id, reader),
    type: "function",
    function: { name: toWireName(name), arguments: JSON.stringify(toWellFormed(input)) },
  };
}

function toUserContent(
  text: string,
  images: readonly Image[] = [],
  reader: Reader,
): string | ChatCompletionContentPart[] {
  if (images.length === 0 || !reader.images) return noteLeftOutImages(text, images);
  return [{ type: "text", text }, ...images.map(toImagePart)];
}

function toResultImages({ name, images = [] }: ToolMessage): ChatCompletionContentPart[] {
  if (images.length === 0) return [];
  return [{ type: "text", text: `From the result of ${name}:` }, ...images.map(toImagePart)];
}

function toImagePart(image: Image): ChatCompletionContentPart {
  return { type: "image_url", image_url: { url: toDataUrl(image) } };
}
