import { z } from "zod";
import type { AssistantPart, StopReason, ToolCall } from "../../messages.ts";
import type { ModelEvent, ServiceSearch } from "../../model.ts";
import { AttemptFailed } from "../attempt-failed.ts";
import type { CallTokens } from "../cost.ts";
import { toServiceFailure } from "../errors.ts";
import { heartbeat, ping } from "../retry.ts";
import { createCallId, isObject, parseArguments } from "../wire-calls.ts";
import { citedDelta, foundBlock, Searching } from "./searching.ts";

/** What the model said in one call. */
interface Reply {
  /** Empty when the service gave none. */
  id: string;
  parts: AssistantPart[];
  stop: StopReason;
  tokens: CallTokens;
  /** What the service has found on the web, where it has searched, and how often it has. */
  search?: ServiceSearch;
  searches: number;
}

/**
 * Reads the data of the server-sent events of one reply. Yields what can be shown, and returns the reply when
 * its end has come; returns nothing when the events run out before it.
 *
 * The SDK's own accumulator is not used: it raises when a tool's arguments are not JSON, which the model
 * should be told instead, and it keeps pings to itself.
 *
 * @throws AttemptFailed for an error event and for what is not the protocol
 */
export async function* readReply(
  events: AsyncIterable<string>,
): AsyncGenerator<ModelEvent, Reply | undefined, undefined> {
  const blocks = new Map<number, Block>();
  const reply: Reply = {
    id: "",
    parts: [],
    stop: "other",
    tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    searches: 0,
  };
  const searching = new Searching();
  for await (const data of events) {
    const event = parse(data);
    switch (event.type) {
      case "message_start":
        reply.id = event.message.id ?? "";
        reply.tokens = countTokens(reply.tokens, event.message.usage);
        yield { type: "begun" };
        break;
      case "content_block_start": {
        const block = startBlock(event.content_block);
        blocks.set(event.index, block);
        searching.start(event.content_block);
        yield showBlock(block);
        break;
      }
      case "content_block_delta":
        searching.grow(event.delta);
        yield growBlock(blocks.get(event.index), event.delta);
        break;
      case "message_delta":
        if (event.delta.stop_reason) reply.stop = stopReasons.get(event.delta.stop_reason) ?? "other";
        reply.tokens = countTokens(reply.tokens, event.usage);
        reply.searches = event.usage?.server_tool_use?.web_search_requests ?? reply.searches;
        yield heartbeat;
        break;
      case "message_stop":
        return { ...reply, ...searching.outcome(), parts: toParts([...blocks.values()], reply.stop) };
      case "error":
        throw toServiceFailure({
          status: errorStatus.get(event.error.type) ?? 500,
          code: event.error.type,
          detail: event.error.message,
        });
      case "ping":
        yield ping;
        break;
      case "other":
        yield heartbeat;
        break;
    }
  }
  return undefined;
}

/** Anything of a type that is not named: it proves life, and later versions of the protocol may add more. */
function parseOtherThan(...types: string[]) {
  return z
    .looseObject({ type: z.string().refine((type) => !types.includes(type)) })
    .transform(() => ({ type: "other" as const }));
}

const tokenCount = z.number().nonnegative().nullish();

const usage = z.object({
  input_tokens: tokenCount,
  /** Includes what was spent on thinking. */
  output_tokens: tokenCount,
  cache_read_input_tokens: tokenCount,
  cache_creation_input_tokens: tokenCount,
  server_tool_use: z.object({ web_search_requests: tokenCount }).nullish().catch(undefined),
});

const startedBlock = z.union([
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("text"), text: z.string().default("") }),
    z.looseObject({
      type: z.literal("thinking"),
      thinking: z.string().default(""),
      signature: z.string().default(""),
    }),
    z.looseObject({ type: z.literal("redacted_thinking"), data: z.string() }),
    z.object({
      type: z.literal("tool_use"),
      id: z.string().default(""),
      name: z.string(),
      input: z.unknown(),
    }),
    foundBlock,
  ]),
  parseOtherThan("text", "thinking", "redacted_thinking", "tool_use", "web_search_tool_result"),
]);

const blockDelta = z.union([
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("text_delta"), text: z.string() }),
    z.object({ type: z.literal("thinking_delta"), thinking: z.string() }),
    z.object({ type: z.literal("signature_delta"), signature: z.string() }),
    z.object({ type: z.literal("input_json_delta"), partial_json: z.string() }),
    citedDelta,
  ]),
  parseOtherThan("text_delta", "thinking_delta", "signature_delta", "input_json_delta", "citations_delta"),
]);

const serverEvent = z.union([
  z.discriminatedUnion("type", [
    z.object({
      type: z.literal("message_start"),
      message: z.object({ id: z.string().optional(), usage: usage.nullish() }),
    }),
    z.object({ type: z.literal("content_block_start"), index: z.int(), content_block: startedBlock }),
    z.object({ type: z.literal("content_block_delta"), index: z.int(), delta: blockDelta }),
    z.object({
      type: z.literal("message_delta"),
      delta: z.object({ stop_reason: z.string().nullish() }),
      usage: usage.nullish(),
    }),
    z.object({ type: z.literal("message_stop") }),
    z.object({ type: z.literal("ping") }),
    z.object({
      type: z.literal("error"),
      error: z.object({ type: z.string(), message: z.string().default("") }),
    }),
  ]),
  parseOtherThan(
    "message_start",
    "content_block_start",
    "content_block_delta",
    "message_delta",
    "message_stop",
    "error",
  ),
]);

function parse(data: string): z.infer<typeof serverEvent> {
  try {
    return serverEvent.parse(JSON.parse(data));
  } catch {
    throw new AttemptFailed("transient", "The model service sent an answer that cannot be read", {
      detail: data,
    });
  }
}

const stopReasons = new Map<string, StopReason>([
  ["end_turn", "end"],
  ["stop_sequence", "end"],
  ["tool_use", "tool-calls"],
  ["max_tokens", "max-tokens"],
  ["pause_turn", "pause"],
  ["refusal", "refusal"],
  ["model_context_window_exceeded", "context-window"],
]);

/** The status with which the service refuses a request for the same reason; an unknown type counts as its fault. */
const errorStatus = new Map([
  ["invalid_request_error", 400],
  ["authentication_error", 401],
  ["billing_error", 402],
  ["permission_error", 403],
  ["not_found_error", 404],
  ["request_too_large", 413],
  ["rate_limit_error", 429],
  ["timeout_error", 504],
  ["overloaded_error", 529],
]);

/** Figures are cumulative and may come in either event, so a later one replaces an earlier one. */
function countTokens(before: CallTokens, now: z.infer<typeof usage> | null | undefined): CallTokens {
  return {
    input: now?.input_tokens ?? before.input,
    output: now?.output_tokens ?? before.output,
    cacheRead: now?.cache_read_input_tokens ?? before.cacheRead,
    cacheWrite: now?.cache_creation_input_tokens ?? before.cacheWrite,
  };
}

/** A content block while it grows. `raw` goes back to the service as it is; `other` is what was never asked for. */
type Block =
  | { type: "text"; text: string }
  | { type: "thinking"; raw: { thinking: string; signature: string } }
  | { type: "redacted"; raw: object }
  | { type: "call"; id: string; name: string; given: unknown; json: string }
  | { type: "other" };

function startBlock(block: z.infer<typeof startedBlock>): Block {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "thinking":
      return { type: "thinking", raw: block };
    case "redacted_thinking":
      return { type: "redacted", raw: block };
    case "tool_use":
      return { type: "call", id: block.id, name: block.name, given: block.input, json: "" };
    case "web_search_tool_result":
    case "other":
      return { type: "other" };
  }
}

/** What a block shows when it starts; some services send it whole. */
function showBlock(block: Block): ModelEvent {
  if (block.type === "text") return { type: "text", delta: block.text };
  if (block.type === "thinking") return { type: "thinking", delta: block.raw.thinking };
  return heartbeat;
}

function growBlock(block: Block | undefined, delta: z.infer<typeof blockDelta>): ModelEvent {
  if (block?.type === "text" && delta.type === "text_delta") {
    block.text += delta.text;
    return { type: "text", delta: delta.text };
  }
  if (block?.type === "thinking" && delta.type === "thinking_delta") {
    block.raw.thinking += delta.thinking;
    return { type: "thinking", delta: delta.thinking };
  }
  if (block?.type === "thinking" && delta.type === "signature_delta") block.raw.signature += delta.signature;
  if (block?.type === "call" && delta.type === "input_json_delta") block.json += delta.partial_json;
  return heartbeat;
}

/**
 * The blocks as parts, in their order. An answer that was cut ends in a block that may be half: a thought
 * without its signature would be refused later and is left out; a call whose arguments broke off is kept as
 * malformed, so that the model learns about it. Of an answer that was declined on the way only words are left:
 * nothing of it may be run, and its thoughts are bound to what is left out.
 */
function toParts(blocks: readonly Block[], stop: StopReason): AssistantPart[] {
  const cut = stop === "max-tokens" || stop === "context-window";
  return blocks.flatMap((block, index): AssistantPart[] => {
    const half = cut && index === blocks.length - 1;
    if (stop === "refusal" && block.type !== "text") return [];
    switch (block.type) {
      case "text":
        // The service sends blank blocks and refuses to take them back.
        return block.text.trim() === "" ? [] : [{ type: "text", text: block.text }];
      case "thinking":
        if (half && block.raw.signature === "") return [];
        return [{ type: "thinking", text: block.raw.thinking, protocol: "anthropic", raw: block.raw }];
      case "redacted":
        return [{ type: "thinking", text: "", protocol: "anthropic", raw: block.raw }];
      case "call": {
        const call = readCall(block, half);
        return call ? [{ type: "tool-call", call }] : [];
      }
      case "other":
        return [];
    }
  });
}

function readCall(block: Extract<Block, { type: "call" }>, half: boolean): ToolCall | undefined {
  const { name, given, json } = block;
  const id = block.id || createCallId();
  if (json === "") {
    // No arguments: the tool has none, or they came with the block's start, or the answer was cut before them.
    const input = isObject(given) ? given : {};
    return half && Object.keys(input).length === 0 ? undefined : { id, name, input };
  }
  const input = parseArguments(json);
  return input ? { id, name, input } : { id, name, input: {}, malformed: json };
}
