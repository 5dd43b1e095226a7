/** A stand-in for the Anthropic service: its wire format, its refusals, and whatever it is told to say. */
import { createHash, randomUUID } from "node:crypto";
import { invalid, parseBody, refusalOf, turnsOf } from "./anthropic-rules.ts";
import type { Block, FakeModel, MessagesBody, Refusal } from "./anthropic-rules.ts";
import { startWireServer } from "./wire.ts";
import type { SseEvent, WireReply, WireRequest, WireServer } from "./wire.ts";

/** A content block to say. Thinking is signed, unless a signature is given. */
export type FakeBlock =
  /** `cites`: with a search, what it quotes of the pages that were found. */
  | { type: "text"; text: string; cites?: { url: string; cited_text: string }[] }
  /** The service searches the web itself; what it finds, or the code of its error. */
  | { type: "server_tool_use"; query: string }
  | { type: "web_search_tool_result"; found: { url: string; title: string; page_age?: string }[] | string }
  | { type: "thinking"; thinking: string; signature?: string }
  | { type: "redacted_thinking" }
  /** `json` sends the arguments as they are, malformed or not; else `input` is sent. */
  | { type: "tool_use"; id?: string; name: string; input?: unknown; json?: string };

interface FakeAnswer {
  content: FakeBlock[];
  /** Default: `tool_use` when there is a call, else `end_turn`. */
  stop?: string;
  usage?: { input?: number; output?: number; cacheRead?: number; cacheWrite?: number };
  /** Characters in each delta. Default 9. */
  deltaSize?: number;
  /** Milliseconds before each event. */
  delayMs?: number;
  /** What happens after so many events instead of the rest: silence, a lost connection, an early end, an error event. */
  breaks?: { after: number; how: "stall" | "cut" | "end" | { type: string; message: string } };
}

/** A refusal, as HTTP response. */
interface FakeError {
  status: number;
  type: string;
  message: string;
  headers?: Record<string, string>;
}

export type FakeReply = FakeAnswer | FakeError;

export interface FakeAnthropicOptions {
  /** The key that is accepted. Default `test-key`; null: one that needs none, and refuses any. */
  apiKey?: string | null;
  /** Replies in order, or the reply for each request. More can be pushed later. */
  replies?: FakeReply[] | ((body: MessagesBody) => FakeReply | Promise<FakeReply>);
  /** Models by name. Default: `claude-sonnet-5-5` with adaptive thinking and `claude-haiku-4-5` without. */
  models?: Record<string, FakeModel>;
}

export interface FakeModelServer extends WireServer {
  apiKey: string;
  /** Adds replies to the queue. */
  push(...replies: FakeReply[]): void;
  /** Drops the replies that no request has taken. */
  forget(): void;
  /** The bodies of the well-formed requests for messages, in order. */
  bodies: readonly MessagesBody[];
}

const defaultModels: Record<string, FakeModel> = {
  "claude-sonnet-5-5": { contextTokens: 1_000_000, maxOutputTokens: 128_000, adaptiveThinking: true },
  "claude-haiku-4-5": { contextTokens: 200_000, maxOutputTokens: 64_000, adaptiveThinking: false },
};

/** Starts the service. It refuses what the real one refuses before it looks at its script. */
export async function startFakeAnthropic(options: FakeAnthropicOptions = {}): Promise<FakeModelServer> {
  const apiKey = options.apiKey === undefined ? "test-key" : (options.apiKey ?? "");
  const models = options.models ?? defaultModels;
  const queue = Array.isArray(options.replies) ? [...options.replies] : [];
  const script = typeof options.replies === "function" ? options.replies : undefined;
  const thoughts = new Thoughts();
  const bodies: MessagesBody[] = [];

  const answer = async (request: WireRequest): Promise<WireReply> => {
    const refused = headerRefusal(request, apiKey);
    if (refused) return errorReply(refused);
    const path = request.path.split("?")[0] ?? "";
    if (request.method === "GET" && path.startsWith("/v1/models/")) return modelReply(path, models);
    if (request.method !== "POST" || path !== "/v1/messages") {
      return errorReply({ status: 404, type: "not_found_error", message: "Not Found" });
    }
    const parsed = parseBody(request.body);
    if (!parsed.ok) return errorReply(parsed.refusal);
    const { body } = parsed;
    bodies.push(body);
    const refusal = refusalOf(body, models[body.model]) ?? thoughts.refusalOf(body);
    if (refusal) return errorReply(refusal);
    const reply = queue.shift() ?? (await script?.(body)) ?? invalid("The fake has no reply left.");
    if (!("content" in reply)) return errorReply(reply);
    const searches = reply.content.filter(({ type }) => type === "server_tool_use").length;
    const allowed = body.tools?.find((tool) => "type" in tool);
    if (searches > 0 && !allowed) return errorReply(invalid("The fake was to search, and may not."));
    const said = say(reply, body, thoughts);
    return body.stream ? streamReply(said, reply) : wholeReply(said);
  };

  const server = await startWireServer(answer);
  return {
    ...server,
    apiKey,
    bodies,
    push: (...replies) => queue.push(...replies),
    forget: () => queue.splice(0),
  };
}

function headerRefusal({ headers }: WireRequest, apiKey: string): Refusal | undefined {
  const given = headers["x-api-key"] ?? headers["authorization"]?.replace(/^Bearer /, "");
  if (given === undefined && apiKey !== "")
    return { status: 401, type: "authentication_error", message: "x-api-key header is required" };
  if ((given ?? "") !== apiKey)
    return { status: 401, type: "authentication_error", message: "invalid x-api-key" };
  const version = headers["anthropic-version"];
  if (version === undefined) return invalid("anthropic-version: header is required");
  if (version !== "2023-06-01" && version !== "2026-10-21")
    return invalid(`anthropic-version: "${version}" is not valid`);
  return undefined;
}

function errorReply({ status, type, message, headers }: FakeError): WireReply {
  const id = `req_${randomUUID()}`;
  const body = { type: "error", error: { type, message }, request_id: id };
  return { type: "json", status, headers: { "request-id": id, ...headers }, body };
}

function modelReply(path: string, models: Record<string, FakeModel>): WireReply {
  const id = path.slice("/v1/models/".length);
  const model = models[id];
  if (!model) return errorReply({ status: 404, type: "not_found_error", message: `model: ${id}` });
  const body = {
    type: "model",
    id,
    max_input_tokens: model.contextTokens,
    max_tokens: model.maxOutputTokens,
    lifecycle: "active",
    capabilities: {
      effort: Object.fromEntries(
        ["supported", "low", "medium", "high", "xhigh", "max"].map((level) => [
          level,
          level === "supported" ? model.adaptiveThinking : { supported: model.adaptiveThinking },
        ]),
      ),
      image_input: { supported: true },
      thinking: { supported: true, types: { adaptive: { supported: model.adaptiveThinking } } },
    },
  };
  return { type: "json", status: 200, body };
}

/** Remembers what was thought, and after what: thinking may only come back as it was and where it was. */
class Thoughts {
  readonly #known = new Map<string, { thought: string; after: string }>();

  /** The signature of a thought, or the data of a redacted one. */
  sign(thought: string, after: string): string {
    const signature = Buffer.from(randomUUID() + randomUUID()).toString("base64");
    this.#known.set(signature, { thought, after });
    return signature;
  }

  refusalOf(body: MessagesBody): Refusal | undefined {
    let before = beginning(body);
    for (const [index, { role, content }] of turnsOf(body).entries()) {
      for (const [part, block] of content.entries()) {
        const path = `messages.${index}.content.${part}`;
        if (block.type === "thinking" || block.type === "redacted_thinking") {
          const [thought, signature] =
            block.type === "thinking" ? [block.thinking, block.signature] : ["", block.data];
          const known = this.#known.get(signature);
          if (!known) return invalid(`${path}: Invalid \`signature\` in \`${block.type}\` block`);
          if (known.thought !== thought) {
            return invalid(
              `${path}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`,
            );
          }
          if (known.after !== before) {
            return invalid(
              `${path}: Invalid \`signature\` in \`${block.type}\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".`,
            );
          }
        }
        before = followed(before, role, block);
      }
    }
    return undefined;
  }
}

/** A digest of what stands before the first message: the system prompt and the tools. */
function beginning({ system, tools }: MessagesBody): string {
  const text = typeof system === "object" ? system.map((part) => part.text).join("\n") : system;
  return digest({ text, tools });
}

/** The digest of a conversation with one more block. */
function followed(before: string, role: "user" | "assistant", block: Block): string {
  return digest({ before, role, block });
}

/** Cache marks move from request to request and are no part of the conversation. */
function digest(value: unknown): string {
  const text = JSON.stringify(value, (key, inner: unknown) => (key === "cache_control" ? undefined : inner));
  return createHash("sha256").update(text).digest("hex");
}

/** A block of the answer: as it is when complete, how it starts, and the deltas in between. */
interface SaidBlock {
  whole: Block;
  start: unknown;
  deltas: unknown[];
}

interface Said {
  message: Record<string, unknown> & { usage: Record<string, number> };
  stop: string;
  blocks: SaidBlock[];
}

function say(answer: FakeAnswer, body: MessagesBody, thoughts: Thoughts): Said {
  let before = beginning(body);
  for (const { role, content } of turnsOf(body)) {
    for (const block of content) before = followed(before, role, block);
  }
  const blocks: SaidBlock[] = [];
  for (const block of answer.content) {
    const said = sayBlock(block, answer.deltaSize ?? 9, (thought) => thoughts.sign(thought, before));
    blocks.push(said);
    // A client cannot send blank text back, so it is no part of the conversation.
    const blank = said.whole.type === "text" && said.whole.text.trim() === "";
    if (!blank) before = followed(before, "assistant", said.whole);
  }
  const calls = answer.content.some(({ type }) => type === "tool_use");
  const { input = 10, output = 5, cacheRead = 0, cacheWrite = 0 } = answer.usage ?? {};
  return {
    stop: answer.stop ?? (calls ? "tool_use" : "end_turn"),
    blocks,
    message: {
      id: `msg_${randomUUID().replaceAll("-", "")}`,
      type: "message",
      role: "assistant",
      model: body.model,
      usage: {
        input_tokens: input,
        output_tokens: output,
        cache_read_input_tokens: cacheRead,
        cache_creation_input_tokens: cacheWrite,
      },
    },
  };
}

function sayBlock(block: FakeBlock, size: number, sign: (thought: string) => string): SaidBlock {
  switch (block.type) {
    case "text":
      return {
        whole: { type: "text", text: block.text },
        start: { type: "text", text: "" },
        deltas: [
          ...(block.cites ?? []).map((cite) => ({
            type: "citations_delta",
            citation: { type: "web_search_result_location", title: "", encrypted_index: "Eo8B", ...cite },
          })),
          ...pieces(block.text, size).map((text) => ({ type: "text_delta", text })),
        ],
      };
    case "server_tool_use":
      return {
        whole: { type: "text", text: " " },
        start: { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} },
        deltas: pieces(JSON.stringify({ query: block.query }), size).map((part) => ({
          type: "input_json_delta",
          partial_json: part,
        })),
      };
    case "web_search_tool_result": {
      const content =
        typeof block.found === "string"
          ? { type: "web_search_tool_result_error", error_code: block.found }
          : block.found.map((one) => ({
              ...{ type: "web_search_result", encrypted_content: "EqgfCioIARgBIiQ3", page_age: null },
              ...one,
            }));
      const start = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content };
      return { whole: { type: "text", text: " " }, start, deltas: [] };
    }
    case "thinking": {
      const signature = block.signature ?? sign(block.thinking);
      return {
        whole: { type: "thinking", thinking: block.thinking, signature },
        start: { type: "thinking", thinking: "", signature: "" },
        deltas: [
          ...pieces(block.thinking, size).map((thinking) => ({ type: "thinking_delta", thinking })),
          { type: "signature_delta", signature },
        ],
      };
    }
    case "redacted_thinking": {
      const whole = { type: "redacted_thinking" as const, data: sign("") };
      return { whole, start: whole, deltas: [] };
    }
    case "tool_use": {
      const { name, id = `toolu_${randomUUID().replaceAll("-", "").slice(0, 24)}` } = block;
      const json = block.json ?? JSON.stringify(block.input ?? {});
      return {
        whole: { type: "tool_use", id, name, input: objectIn(json) },
        start: { type: "tool_use", id, name, input: {} },
        deltas: ["", ...pieces(json, size)].map((part) => ({ type: "input_json_delta", partial_json: part })),
      };
    }
  }
}

/** Arguments that are no JSON object count as none once they are part of the conversation. */
function objectIn(json: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
  } catch {
    return {};
  }
}

function pieces(text: string, size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );
}

function wholeReply({ message, stop, blocks }: Said): WireReply {
  const content = blocks.map(({ whole }) => whole);
  return { type: "json", status: 200, body: { ...message, content, stop_reason: stop, stop_sequence: null } };
}

function streamReply({ message, stop, blocks }: Said, { breaks, delayMs = 0 }: FakeAnswer): WireReply {
  const searches = blocks.filter(({ start }) => Object(start).type === "server_tool_use").length;
  const started = { ...message, content: [], stop_reason: null, stop_sequence: null };
  const events: SseEvent[] = [
    event({ type: "message_start", message: { ...started, usage: { ...message.usage, output_tokens: 1 } } }),
    event({ type: "ping" }),
    ...blocks.flatMap(({ start, deltas }, index) => [
      event({ type: "content_block_start", index, content_block: start }),
      ...deltas.map((delta) => event({ type: "content_block_delta", index, delta })),
      event({ type: "content_block_stop", index }),
    ]),
    event({
      type: "message_delta",
      delta: { stop_reason: stop, stop_sequence: null },
      usage: {
        output_tokens: message.usage["output_tokens"],
        ...(searches > 0 && { server_tool_use: { web_search_requests: searches, web_fetch_requests: 0 } }),
      },
    }),
    event({ type: "message_stop" }),
  ];
  if (!breaks) return { type: "stream", events, delayMs };
  const kept = events.slice(0, breaks.after);
  switch (breaks.how) {
    case "stall":
    case "cut":
      return { type: "stream", events: kept, end: breaks.how, delayMs };
    case "end":
      return { type: "stream", events: kept, delayMs };
    default:
      return { type: "stream", events: [...kept, event({ type: "error", error: breaks.how })], delayMs };
  }
}

function event(data: { type: string; [key: string]: unknown }): SseEvent {
  return { event: data.type, data: JSON.stringify(data) };
}
