import type { ResponseInputContent, ResponseInputItem } from "openai/resources/responses/responses";
import {
  type AssistantMessage,
  type AssistantPart,
  formatUserText,
  type Image,
  type Message,
} from "../../messages.ts";
import { toWellFormed } from "../../text/text.ts";
import {
  assertPaired,
  formatSummary,
  isBlank,
  memoizeByPrefix,
  noteLeftOutImages,
  type Reader,
  toDataUrl,
  toResultText,
  toWireId,
  toWireName,
} from "../wire-history.ts";

/** A reader whose service may have refused to take some of its own items back. */
interface ItemReader extends Reader {
  forgets(message: AssistantMessage): boolean;
}

/** Characters of a call's id that OpenAI takes in this protocol; its own ids keep to it. */
const idLimit = 64;

/**
 * Puts histories into input items of the Responses protocol.
 *
 * @returns a function that throws an Error when the history is not legal: a call without its result, or a result
 * without its call
 */
export function createInputItems(reader: ItemReader): (messages: readonly Message[]) => ResponseInputItem[] {
  const converted = memoizeByPrefix(
    (): ResponseInputItem[] => [],
    (items, message) => items.push(...toWellFormed(toItems(message, reader))),
  );
  return (messages) => {
    assertPaired(messages);
    return [...converted(messages)];
  };
}

function toItems(message: Message, reader: ItemReader): ResponseInputItem[] {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: toContent(formatUserText(message), message.images, reader) }];
    case "summary":
      return [{ role: "user", content: formatSummary(message) }];
    case "assistant":
      return isBlank(message) ? [] : toAssistantItems(message, reader);
    case "tool":
      return [
        {
          type: "function_call_output",
          call_id: toWireId(message.callId, idLimit),
          output: toContent(toResultText(message.text), message.images, reader),
        },
      ];
  }
}

/**
 * The service's own items, all of them, in order and untouched but for the ids of calls. They are only known for its own replies; those
 * of other models are told in items that hold nothing but text and calls.
 */
function toAssistantItems(message: AssistantMessage, reader: ItemReader): ResponseInputItem[] {
  const own = message.model === reader.id && !reader.forgets(message);
  const items = own ? message.parts.flatMap((part, index) => replayItem(part, message.parts[index + 1])) : [];
  return items.length > 0 ? items : message.parts.flatMap(describeItem);
}

/** A call's item gets the id that the call has by now: the service's own may have been used before. */
function replayItem(part: AssistantPart, next: AssistantPart | undefined): ResponseInputItem[] {
  const raw = part.type === "thinking" && part.protocol === "openai-responses" && part.raw;
  if (!isItem(raw)) return [];
  if (raw.type !== "function_call" || next?.type !== "tool-call") return [raw];
  return [{ ...raw, call_id: toWireId(next.call.id, idLimit) }];
}

function describeItem(part: AssistantPart): ResponseInputItem[] {
  if (part.type === "text" && part.text.trim() !== "") return [{ role: "assistant", content: part.text }];
  if (part.type !== "tool-call") return [];
  const { id, name, input } = part.call;
  const call = {
    call_id: toWireId(id, idLimit),
    name: toWireName(name),
    arguments: JSON.stringify(toWellFormed(input)),
  };
  return [{ type: "function_call", ...call }];
}

function toContent(
  text: string,
  images: readonly Image[] = [],
  reader: Reader,
): string | Extract<ResponseInputContent, { type: "input_text" | "input_image" }>[] {
  if (images.length === 0 || !reader.images) return noteLeftOutImages(text, images);
  return [
    { type: "input_text", text },
    ...images.map((image) => ({
      type: "input_image" as const,
      detail: "auto" as const,
      image_url: toDataUrl(image),
    })),
  ];
}

/** Hardly checks: the service takes back what it sent, and only it knows all of its fields. */
function isItem(raw: unknown): raw is ResponseInputItem {
  return typeof raw === "object" && raw !== null && "type" in raw && typeof raw.type === "string";
}
