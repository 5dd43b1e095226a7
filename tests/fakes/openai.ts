/** A stand-in for OpenAI and for servers compatible with it: wire formats, refusals, and what it is told to say. */
import { randomUUID } from "node:crypto";
import { Memory } from "./openai-memory.ts";
import {
  type ChatBody,
  chatBody,
  chatRefusal,
  type Dialect,
  type InputItem,
  invalid,
  parseBody,
  type Refusal,
  type ResponsesBody,
  responsesBody,
  responsesRefusal,
} from "./openai-rules.ts";
import { type SseEvent, startWireServer, type WireReply, type WireRequest, type WireServer } from "./wire.ts";

/** What the model says, in either protocol. */
export interface FakeAnswer {
  thinking?: string;
  /** Where a chat completion carries the thinking. Default `reasoning_content`. */
  thinkingIn?: "reasoning_content" | "reasoning" | "reasoning_details" | "think";
  text?: string;
  /** The service searches the web itself. `cites`: marks in the text, and the page that each stands for. */
  search?: { query: string; sources: string[]; cites?: { mark: string; url: string; title: string }[] };
  refusal?: string;
  /** `json` sends the arguments as they are, malformed or not; else `input` is sent. */
  calls?: { id?: string; name: string; input?: unknown; json?: string; extra?: Record<string, unknown> }[];
  /** Default: what fits. `content_filter` and `length` exist in both protocols. */
  stop?: "stop" | "tool_calls" | "length" | "content_filter";
  /** `input` is the whole prompt, cached tokens included. */
  usage?: { input: number; cached?: number; written?: number; output: number };
  /** Characters in each delta. Default 9. */
  deltaSize?: number;
  delayMs?: number;
  breaks?: Break;
}

/** What happens after so many events instead of the rest: silence, a lost connection, an early end, an error event. */
interface Break {
  after: number;
  how: "stall" | "cut" | "end" | Record<string, unknown>;
}

/** Chunks of a server with its own ways, sent as they are. */
interface FakeChunks {
  chunks: unknown[];
}

/** A refusal in OpenAI's form. */
interface FakeError extends Refusal {
  headers?: Record<string, string>;
}

/** A JSON document or a page in place of a stream. */
interface FakeDocument {
  document: unknown;
  contentType?: string;
}

export type FakeReply = FakeAnswer | FakeChunks | FakeError | FakeDocument;

export interface FakeOpenAIOptions {
  /** The key that is accepted. Default `test-key`; null: one that needs none, and refuses any. */
  apiKey?: string | null;
  /** Default `compatible`. */
  dialect?: Dialect;
  /** Replies in order, or the reply for each request. More can be pushed later. */
  replies?: FakeReply[] | ((body: ChatBody | ResponsesBody) => FakeReply | Promise<FakeReply>);
}

export interface FakeOpenAI extends WireServer {
  apiKey: string;
  /** What clients take as base URL. */
  baseUrl: string;
  push(...replies: FakeReply[]): void;
  /** The bodies of well-formed requests, in order. */
  chats: readonly ChatBody[];
  responses: readonly ResponsesBody[];
  /** Makes it refuse the reasoning that it has encrypted until now. */
  forgetKeys(): void;
}

/** Starts the service. It refuses what the real one refuses before it looks at its script. */
export async function startFakeOpenAI(options: FakeOpenAIOptions = {}): Promise<FakeOpenAI> {
  const { dialect = "compatible" } = options;
  const apiKey = options.apiKey === undefined ? "test-key" : (options.apiKey ?? "");
  const queue = Array.isArray(options.replies) ? [...options.replies] : [];
  const script = typeof options.replies === "function" ? options.replies : undefined;
  const chats: ChatBody[] = [];
  const responses: ResponsesBody[] = [];
  const memory = new Memory();

  const next = async (body: ChatBody | ResponsesBody): Promise<FakeReply> =>
    queue.shift() ?? (await script?.(body)) ?? invalid("The fake has no reply left.");

  const answer = async (request: WireRequest): Promise<WireReply> => {
    const unauthorised = keyRefusal(request, apiKey);
    if (unauthorised) return errorReply(unauthorised);
    if (request.path === "/v1/chat/completions") {
      const parsed = parseBody(chatBody, request.body);
      if (!parsed.ok) return errorReply(parsed.refusal);
      chats.push(parsed.body);
      const refusal = chatRefusal(parsed.body, dialect) ?? memory.refusalOfChat(parsed.body);
      return refusal ? errorReply(refusal) : chatReply(await next(parsed.body), parsed.body, memory);
    }
    if (request.path === "/v1/responses") {
      const parsed = parseBody(responsesBody, request.body);
      if (!parsed.ok) return errorReply(parsed.refusal);
      responses.push(parsed.body);
      const refusal =
        responsesRefusal(parsed.body) ?? memory.refusalOfResponses(parsed.body, request.rawBody);
      return refusal ? errorReply(refusal) : responsesReply(await next(parsed.body), parsed.body, memory);
    }
    const message = `Invalid URL (${request.method} ${request.path})`;
    return errorReply({ status: 404, type: "invalid_request_error", message });
  };

  const server = await startWireServer(answer);
  return {
    ...server,
    apiKey,
    baseUrl: `${server.url}/v1`,
    chats,
    responses,
    push: (...replies) => queue.push(...replies),
    forgetKeys: () => memory.forgetKeys(),
  };
}

function keyRefusal({ headers }: WireRequest, apiKey: string): Refusal | undefined {
  const given = headers["authorization"]?.replace(/^Bearer /, "");
  if ((given ?? "") === apiKey) return undefined;
  const message =
    given === undefined
      ? "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth."
      : `Incorrect API key provided: ${given}.`;
  return { status: 401, type: "invalid_request_error", message, code: "invalid_api_key" };
}

function errorReply({ status, type, message, code = null, param = null, ...rest }: FakeError): WireReply {
  const headers = { "x-request-id": `req_${randomUUID()}`, ...rest.headers };
  return { type: "json", status, headers, body: { error: { message, type, param, code } } };
}

function chatReply(reply: FakeReply, body: ChatBody, memory: Memory): WireReply {
  if ("status" in reply) return errorReply(reply);
  if ("document" in reply) return documentReply(reply);
  if ("chunks" in reply) return { type: "stream", events: [...reply.chunks.map(data), done] };
  const calls = (reply.calls ?? []).map((call) => ({ id: call.id ?? `call_${token(24)}`, ...call }));
  const size = reply.deltaSize ?? 9;
  const think =
    reply.thinking !== undefined && reply.thinkingIn === "think"
      ? `<think>${reply.thinking}</think>\n\n`
      : "";
  const content = think + (reply.text ?? "");
  const reasoning = think === "" && reply.thinking ? thinkingDeltas(reply, size) : [];
  const finish = reply.stop ?? (calls.length > 0 ? "tool_calls" : "stop");

  memory.keepChat({
    role: "assistant",
    content: content.trim() === "" ? null : content,
    ...wholeThinking(reply),
    tool_calls: calls.map(({ id, name, extra }) => ({
      id,
      type: "function",
      function: { name, arguments: "" },
      ...(extra && { extra_content: extra }),
    })),
  });

  const deltas: Record<string, unknown>[] = [
    { role: "assistant", content: "" },
    ...reasoning,
    ...pieces(content, size).map((piece) => ({ content: piece })),
    ...pieces(reply.refusal ?? "", size).map((refusal) => ({ refusal })),
    ...calls.flatMap(({ id, name, input, json, extra }, index) => [
      {
        tool_calls: [
          { index, id, type: "function", function: { name, arguments: "" }, extra_content: extra },
        ],
      },
      ...pieces(json ?? JSON.stringify(input ?? {}), size).map((piece) => ({
        tool_calls: [{ index, function: { arguments: piece } }],
      })),
    ]),
  ];
  const frame = {
    id: `chatcmpl-${token(24)}`,
    object: "chat.completion.chunk",
    created: 1,
    model: body.model,
  };
  const events = [
    ...deltas.map((delta) => data({ ...frame, choices: [{ index: 0, delta, finish_reason: null }] })),
    data({ ...frame, choices: [{ index: 0, delta: {}, finish_reason: finish }] }),
    ...(body.stream_options?.include_usage ? [data({ ...frame, choices: [], usage: chatUsage(reply) })] : []),
    done,
  ];
  return broken(events, reply, (error) => data({ error }));
}

function chatUsage({ usage = { input: 10, output: 5 } }: FakeAnswer) {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cached ?? 0, cache_write_tokens: usage.written ?? 0 },
  };
}

const signature = "c2lnbmVk";
const detail = { type: "reasoning.text", index: 0, id: "reasoning-text-1", format: "fake-v1" };

function thinkingDeltas({ thinking = "", thinkingIn = "reasoning_content" }: FakeAnswer, size: number) {
  if (thinkingIn !== "reasoning_details")
    return pieces(thinking, size).map((text) => ({ [thinkingIn]: text }));
  return [
    ...pieces(thinking, size).map((text) => ({ reasoning_details: [{ ...detail, text }] })),
    { reasoning_details: [{ ...detail, signature }] },
  ];
}

function wholeThinking({ thinking, thinkingIn = "reasoning_content" }: FakeAnswer) {
  if (!thinking || thinkingIn === "think") return {};
  if (thinkingIn !== "reasoning_details") return { [thinkingIn]: thinking };
  return { reasoning_details: [{ ...detail, text: thinking, signature }] };
}

function annotationsOf({ text = "", search }: FakeAnswer): object[] {
  return (search?.cites ?? []).map(({ mark, url, title }) => {
    const start_index = text.indexOf(mark);
    return { type: "url_citation", url, title, start_index, end_index: start_index + mark.length };
  });
}

function responsesReply(reply: FakeReply, body: ResponsesBody, memory: Memory): WireReply {
  if ("status" in reply) return errorReply(reply);
  if ("document" in reply) return documentReply(reply);
  if ("chunks" in reply) return { type: "stream", events: reply.chunks.map(data) };
  const items: InputItem[] = [];
  const deltas: ResponsesEvent[] = [];
  const size = reply.deltaSize ?? 9;
  const add = (item: InputItem, kind: string, text: string) => {
    const output_index = items.push(item) - 1;
    deltas.push({
      type: "response.output_item.added",
      output_index,
      item: { ...item, encrypted_content: "half" },
    });
    for (const delta of pieces(text, size))
      deltas.push({ type: `response.${kind}.delta`, output_index, delta });
    deltas.push({ type: "response.output_item.done", output_index, item });
  };

  if (reply.thinking !== undefined) {
    const summary = reply.thinking === "" ? [] : [{ type: "summary_text" as const, text: reply.thinking }];
    const item = {
      id: `rs_${token(24)}`,
      type: "reasoning" as const,
      summary,
      encrypted_content: token(200),
    };
    add(item, "reasoning_summary_text", reply.thinking);
  }
  if (reply.search) {
    if (!body.tools?.some(({ type }) => type !== "function"))
      return errorReply(invalid("The fake was to search, and may not."));
    const { query, sources } = reply.search;
    const told = body.include?.includes("web_search_call.action.sources");
    const action = {
      ...{ type: "search" as const, query, queries: [query] },
      ...(told && { sources: sources.map((url) => ({ type: "url", url })) }),
    };
    add({ id: `ws_${token(24)}`, type: "web_search_call", status: "completed", action }, "none", "");
  }
  const message = { id: `msg_${token(24)}`, type: "message" as const, role: "assistant" as const };
  if (reply.text !== undefined) {
    const content = [{ type: "output_text" as const, text: reply.text, annotations: annotationsOf(reply) }];
    const phase = reply.calls ? ("commentary" as const) : ("final_answer" as const);
    add({ ...message, content, phase, status: "completed" }, "output_text", reply.text);
  }
  if (reply.refusal !== undefined) {
    add({ ...message, content: [{ type: "refusal", refusal: reply.refusal }] }, "refusal", reply.refusal);
  }
  for (const { id = `call_${token(24)}`, name, input, json } of reply.calls ?? []) {
    const text = json ?? JSON.stringify(input ?? {});
    const call = {
      type: "function_call" as const,
      id: `fc_${token(24)}`,
      call_id: id,
      name,
      arguments: text,
    };
    add({ ...call, status: "completed" }, "function_call_arguments", text);
  }

  memory.keepItems(items);
  const cut = reply.stop === "length" ? "max_output_tokens" : reply.stop;
  const incomplete = cut === "max_output_tokens" || cut === "content_filter";
  const response = { id: `resp_${token(24)}`, object: "response", status: "in_progress", output: [] };
  const events: ResponsesEvent[] = [
    { type: "response.created", response },
    ...deltas,
    {
      type: incomplete ? "response.incomplete" : "response.completed",
      response: {
        ...response,
        status: incomplete ? "incomplete" : "completed",
        output: items,
        error: null,
        incomplete_details: incomplete ? { reason: cut } : null,
        usage: responsesUsage(reply),
      },
    },
  ];
  return broken(
    events.map((event) => named(event)),
    reply,
    (error) => named({ type: "error", error }),
  );
}

function responsesUsage({ usage = { input: 10, output: 5 } }: FakeAnswer) {
  return {
    input_tokens: usage.input,
    output_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    input_tokens_details: { cached_tokens: usage.cached ?? 0, cache_write_tokens: usage.written ?? 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
}

function documentReply({ document, contentType }: FakeDocument): WireReply {
  const headers = contentType === undefined ? {} : { "content-type": contentType };
  return { type: "json", status: 200, headers, body: document };
}

function broken(
  events: SseEvent[],
  { breaks, delayMs = 0 }: FakeAnswer,
  errorEvent: (error: Record<string, unknown>) => SseEvent,
): WireReply {
  if (!breaks) return { type: "stream", events, delayMs };
  const kept = events.slice(0, breaks.after);
  if (typeof breaks.how === "object")
    return { type: "stream", events: [...kept, errorEvent(breaks.how)], delayMs };
  return { type: "stream", events: kept, end: breaks.how === "end" ? "complete" : breaks.how, delayMs };
}

const done: SseEvent = { data: "[DONE]" };

function data(chunk: unknown): SseEvent {
  return { data: JSON.stringify(chunk) };
}

type ResponsesEvent = { type: string; [key: string]: unknown };

function named(event: ResponsesEvent): SseEvent {
  return { event: event.type, data: JSON.stringify(event) };
}

function pieces(text: string, size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );
}

function token(length: number): string {
  return randomUUID()
    .replaceAll("-", "")
    .repeat(Math.ceil(length / 32))
    .slice(0, length);
}
