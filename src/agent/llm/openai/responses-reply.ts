import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { AssistantMessage, AssistantPart, StopReason, ToolCall } from "../../messages.ts";
import type { ModelEvent, ServiceSearch } from "../../model.ts";
import type { CallTokens } from "../cost.ts";
import { heartbeat, ping } from "../retry.ts";
import { readCall } from "../wire-calls.ts";
import { isBlank, toWireName } from "../wire-history.ts";
import { readSearches } from "./responses-search.ts";
import { parseChunk, toStreamFailure } from "./service.ts";

const count = z.number().nullish();

const response = z.object({
  output: z.array(z.unknown()).nullish(),
  error: z.unknown().optional(),
  incomplete_details: z.object({ reason: z.string().nullish() }).nullish(),
  usage: z
    .object({
      input_tokens: count,
      output_tokens: count,
      input_tokens_details: z.object({ cached_tokens: count, cache_write_tokens: count }).nullish(),
    })
    .nullish(),
});
type Response = z.infer<typeof response>;

const anyEvent = z.object({ type: z.string() });

/** The events that say something to us; there are some fifty others. */
const known = z.discriminatedUnion("type", [
  z.object({
    type: z.literal(["response.output_text.delta", "response.refusal.delta"]),
    delta: z.string(),
    output_index: z.number().default(0),
  }),
  z.object({
    type: z.literal(["response.reasoning_summary_text.delta", "response.reasoning_text.delta"]),
    delta: z.string(),
  }),
  z.object({
    type: z.literal("response.reasoning_summary_part.added"),
    summary_index: z.number().default(0),
  }),
  z.object({ type: z.literal("response.output_item.done"), output_index: z.number(), item: z.unknown() }),
  z.object({ type: z.literal(["response.completed", "response.incomplete", "response.failed"]), response }),
  z.looseObject({ type: z.literal("error") }),
]);
const knownTypes = new Set<unknown>(known.options.flatMap((option) => [...option.shape.type.values]));

/** What the model said in one call. */
interface ResponsesReply {
  message: AssistantMessage;
  tokens: CallTokens;
  /** What the service has found on the web; absent where it has not searched. */
  search?: ServiceSearch;
  searches: number;
}

/**
 * Reads the events of one response. Yields what can be shown, and returns the reply of `model` when its end has
 * come; returns nothing when the events run out before it.
 *
 * @throws AttemptFailed for an error event, a failed response, and for what is not the protocol
 */
export async function* readResponse(
  events: AsyncIterable<unknown>,
  model: string,
): AsyncGenerator<ModelEvent, ResponsesReply | undefined, undefined> {
  const items = new Map<number, unknown>();
  let speaking: number | undefined;
  for await (const chunk of events) {
    const { type } = parseChunk(anyEvent, chunk);
    if (!knownTypes.has(type)) {
      // What it thinks is not shown, and may take minutes.
      if (type === "response.output_item.added") yield { type: "begun" };
      else yield isOfAnswer(type) ? heartbeat : ping;
      continue;
    }
    const event = parseChunk(known, chunk);
    switch (event.type) {
      case "response.output_text.delta":
      case "response.refusal.delta":
        if (speaking !== undefined && speaking !== event.output_index)
          yield { type: "text", delta: paragraph };
        speaking = event.output_index;
        yield { type: "text", delta: event.delta };
        break;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        yield { type: "thinking", delta: event.delta };
        break;
      case "response.reasoning_summary_part.added":
        yield event.summary_index > 0 ? { type: "thinking", delta: paragraph } : heartbeat;
        break;
      case "response.output_item.done":
        // Only here is an item complete: the encrypted reasoning of `output_item.added` may be half of it.
        items.set(event.output_index, event.item);
        yield heartbeat;
        break;
      case "response.completed":
      case "response.incomplete": {
        const inOrder = [...items].toSorted(([a], [b]) => a - b).map(([, item]) => item);
        const output = inOrder.length > 0 ? inOrder : (event.response.output ?? []);
        return {
          ...{ message: toMessage(output, event.response, model), tokens: readTokens(event.response) },
          ...readSearches(output),
        };
      }
      case "response.failed":
        throw toStreamFailure(event.response.error);
      case "error":
        throw toStreamFailure(event);
    }
  }
  return undefined;
}

const paragraph = "\n\n";

/** Whether an event tells of the answer that grows, and not only that there will be one. */
function isOfAnswer(type: string): boolean {
  return type.startsWith("response.") && type !== "response.in_progress" && type !== "response.queued";
}

const textEntry = z.object({ text: z.string().default("") });
const itemOfOurs = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("reasoning"),
    summary: z.array(textEntry).nullish(),
    content: z.array(textEntry).nullish(),
  }),
  z.object({
    type: z.literal("message"),
    content: z.array(z.object({ text: z.string().optional(), refusal: z.string().optional() })),
  }),
  z.object({
    type: z.literal("function_call"),
    call_id: z.string().optional(),
    name: z.string(),
    arguments: z.string(),
  }),
]);
/** What was not asked for is only kept, to go back. */
const otherItem = z
  .object({ type: z.string().refine((type) => !/^(reasoning|message|function_call)$/.test(type)) })
  .transform(() => ({ type: "other" as const }));
const outputItem = z.union([itemOfOurs, otherItem]);
type OutputItem = z.infer<typeof outputItem>;

/**
 * The items as parts. Each item is kept whole in a thinking part, so that all of them go back in their order;
 * what it says or calls follows it for everybody else.
 */
function toMessage(output: readonly unknown[], end: Response, model: string): AssistantMessage {
  const read = output.map((raw) => ({ raw, item: parseChunk(outputItem, raw) }));
  const stop = findStopReason(
    read.map(({ item }) => item),
    end,
  );
  const parts: AssistantPart[] = [];
  const keep = (text: string, raw: unknown) =>
    parts.push({ type: "thinking", text, protocol: "openai-responses", raw });

  for (const { raw, item } of read) {
    switch (item.type) {
      case "reasoning":
        keep([...(item.summary ?? []), ...(item.content ?? [])].map(({ text }) => text).join(paragraph), raw);
        break;
      case "message": {
        const text = item.content.map((entry) => entry.text ?? entry.refusal ?? "").join("");
        if (text.trim() === "") break;
        const follows = parts.some((part) => part.type === "text");
        keep("", raw);
        parts.push({ type: "text", text: follows ? paragraph + text : text });
        break;
      }
      case "function_call": {
        // A declined answer asks for nothing, and neither does a call that was cut before it began.
        if (stop === "refusal" || (stop === "max-tokens" && item.arguments === "")) break;
        const call = readCall({ id: item.call_id, name: item.name, arguments: item.arguments });
        keep("", toReplayable(raw, item, call));
        parts.push({ type: "tool-call", call });
        break;
      }
      case "other":
        keep("", raw);
        break;
    }
  }
  const message: AssistantMessage = { role: "assistant", id: randomUUID(), parts, model, stop };
  const empty = isBlank(message) && parts.every((part) => part.type !== "thinking" || part.text === "");
  return empty ? { ...message, parts: [] } : message;
}

/** The call's item, changed only where the service would refuse to take it back. */
function toReplayable(
  raw: unknown,
  { name, arguments: text }: Extract<OutputItem, { type: "function_call" }>,
  call: ToolCall,
): unknown {
  // Models also write nothing, or the object as a text in a text; its reader takes neither back.
  const isLegal = call.malformed === undefined && text.trim().startsWith("{");
  const legal = { name: toWireName(name), arguments: isLegal ? text : JSON.stringify(call.input) };
  const unchanged = legal.name === name && legal.arguments === text;
  return unchanged ? raw : { ...Object(raw), ...legal };
}

function findStopReason(items: readonly OutputItem[], end: Response): StopReason {
  const reason = end.incomplete_details?.reason;
  const refused = items.some(
    (item) => item.type === "message" && item.content.some((entry) => entry.refusal),
  );
  if (refused || reason === "content_filter") return "refusal";
  if (reason === "max_output_tokens") return "max-tokens";
  if (reason) return "other";
  return items.some((item) => item.type === "function_call") ? "tool-calls" : "end";
}

function readTokens({ usage }: Response): CallTokens {
  const cacheRead = usage?.input_tokens_details?.cached_tokens ?? 0;
  const cacheWrite = usage?.input_tokens_details?.cache_write_tokens ?? 0;
  const input = Math.max(0, (usage?.input_tokens ?? 0) - cacheRead - cacheWrite);
  return { input, output: usage?.output_tokens ?? 0, cacheRead, cacheWrite };
}
