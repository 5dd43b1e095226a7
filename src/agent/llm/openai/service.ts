import OpenAI, { APIConnectionError, APIError, type ClientOptions } from "openai";
import { z } from "zod";
import type { ModelLimits } from "../../model.ts";
import { AnswerTooLarge } from "../../network/bounded-answer.ts";
import { AttemptFailed } from "../attempt-failed.ts";
import { isLocal, isOpenAI, resolveBaseUrl } from "../endpoints.ts";
import {
  createNotAModelError,
  createUnreadableError,
  isWebPage,
  toNetworkFailure,
  toServiceFailure,
} from "../errors.ts";
import type { FactsSource } from "../facts-source.ts";
import { askOllama, readModelList } from "./model-list.ts";
import type { RequestSettings } from "../request-settings.ts";
import { defaultRetryPolicy, type RetryPolicy } from "../retry.ts";
import { readServerSentEvents } from "../server-sent-events.ts";
import { streamFetch } from "../stream-fetch.ts";
import { findToolLimit } from "../tool-limit.ts";

/** A model behind one of OpenAI's two protocols, at OpenAI or at any service that speaks them. */
export interface OpenAIModelOptions {
  /** The service's own name of the model, e.g. `gpt-6.1-sol`. */
  model: string;
  /** Sent as a bearer token; without one none is sent. */
  apiKey?: string | undefined;
  /** Default: OpenAI's. */
  baseUrl?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** First part of the model's id. Default `openai`. */
  provider?: string;
  limits: ModelLimits;
  settings?: RequestSettings;
  retry?: Partial<RetryPolicy>;
  /** Replaces `streamFetch`, for tests. */
  fetch?: typeof fetch;
}

/** Its models may think for minutes while nothing at all is sent; Anthropic's protocol has pings. */
export const openAIRetryPolicy: RetryPolicy = { ...defaultRetryPolicy, idleMs: 300_000 };

const openAIBaseUrl = "https://api.openai.com/v1";

/** The limits with that of the service on tools, unless another one is configured. */
export function withToolLimit(limits: ModelLimits, baseUrl: string | undefined): ModelLimits {
  const tools = findToolLimit(baseUrl);
  return { ...(tools !== undefined && { tools }), ...limits };
}

/**
 * The SDK without anything that it would do behind our back: no retries (they would multiply with ours), no
 * output to the console, and no organisation, project or admin key from variables that Heddle does not
 * document, which would reach whatever host is configured.
 */
export function createOpenAIClient(
  options: Pick<OpenAIModelOptions, "apiKey" | "baseUrl" | "headers" | "fetch">,
): OpenAI {
  return new PlainOpenAI({
    // Without any the SDK would look for one by itself.
    apiKey: options.apiKey ?? "none",
    defaultHeaders: { ...(options.apiKey === undefined && { Authorization: null }), ...options.headers },
    adminAPIKey: null,
    organization: null,
    project: null,
    baseURL: resolveBaseUrl(options.baseUrl ?? openAIBaseUrl, "openai"),
    maxRetries: 0,
    logLevel: "off",
    fetch: options.fetch,
  });
}

/**
 * The SDK puts a second signal around the caller's and a timer around each request, which cost each step and do nothing
 * here: every call has a signal that ends it when the service is silent.
 */
class PlainOpenAI extends OpenAI {
  readonly #send: typeof fetch;

  constructor(options: ClientOptions) {
    super(options);
    this.#send = options.fetch ?? streamFetch;
  }

  override fetchWithTimeout(...[url, init]: Parameters<OpenAI["fetchWithTimeout"]>): Promise<Response> {
    return this.#send(url, init);
  }
}

/** OpenAI's model endpoint says whether it has a model; the lists of others may say what it takes and costs. */
export const openAIFacts: FactsSource = {
  async fetchFacts(model, account, signal) {
    const client = createOpenAIClient(account);
    if (!isOpenAI(client.baseURL)) {
      const listed = await fetchListed(client, model, signal);
      if (listed) return listed;
    }
    await client.models.retrieve(model, { signal });
    return {};
  },
  readAnswer(error) {
    return error instanceof APIError ? { status: error.status, code: error.code ?? "" } : undefined;
  },
};

async function fetchListed(client: OpenAI, model: string, signal: AbortSignal) {
  // A service without such a list may still know the model.
  const answer = await client.get<unknown>("/models", { signal }).catch(() => undefined);
  const listed = readModelList(answer, model);
  if (!listed || listed.contextTokens !== undefined || !isLocal(client.baseURL)) return listed;
  return { ...listed, ...(await askOllama(client.baseURL, model, signal).catch(() => ({}))) };
}

/** A request whose answer is streamed. */
export interface StreamedRequest {
  /** Below the service's base URL, e.g. `/chat/completions`. */
  path: string;
  /** Serialised as JSON. */
  body: object;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Not repeated in what is thrown. */
  apiKey: string | undefined;
  signal: AbortSignal;
  /** See {@link readServerSentEvents}. */
  isComplete?: () => boolean;
}

/**
 * What a service streams, unparsed. Whatever goes wrong on the way is thrown as {@link AttemptFailed}.
 *
 * The SDK is given the body as a string: it serialises an object with a replacer function, which in a long conversation
 * takes several times as long.
 */
export async function* streamWithErrors(
  client: OpenAI,
  { path, body, headers, apiKey, signal, isComplete }: StreamedRequest,
): AsyncGenerator<unknown, void, undefined> {
  try {
    const request = client.post(path, {
      body: JSON.stringify(body),
      headers: { "Content-Type": "application/json", ...headers },
      signal,
      stream: true,
    });
    const response = await request.asResponse();
    const type = response.headers.get("content-type") ?? "";
    // No stream, although the status is 200; read as one it would have no events.
    if (/json|html/.test(type)) throw readBodyFailure(type, await response.text());
    for await (const { event, data } of readServerSentEvents(response, isComplete)) {
      if (data === "[DONE]") return;
      if (data === "") continue;
      const chunk: unknown = JSON.parse(data);
      const error = findError(chunk) ?? (event === "error" ? chunk : undefined);
      if (error) throw toStreamFailure(error);
      yield chunk;
    }
  } catch (error) {
    const failure = toFailure(error);
    throw failure instanceof AttemptFailed ? removeKey(failure, apiKey) : failure;
  }
}

function findError(chunk: unknown): unknown {
  return typeof chunk === "object" && chunk !== null && "error" in chunk ? chunk.error : undefined;
}

/** Parses one chunk. A service that sends something else is broken for the moment, or it is another service. */
export function parseChunk<T>(schema: z.ZodType<T>, chunk: unknown): T {
  const parsed = schema.safeParse(chunk);
  if (parsed.success) return parsed.data;
  throw createUnreadableError(z.prettifyError(parsed.error));
}

const word = z.union([z.string(), z.number()]).nullish().catch(undefined);
const streamError = z.object({ code: word, type: word, message: word });

/** An error that came inside a stream, and so without an HTTP status of its own. */
export function toStreamFailure(error: unknown): AttemptFailed {
  const { code, type, message } = streamError.safeParse(error).data ?? {};
  const words = `${code ?? ""} ${type ?? ""}`;
  return toServiceFailure({
    status: typeof code === "number" ? code : guessStatus(words),
    code: words,
    detail: String(message ?? ""),
  });
}

/** MiniMax reports errors in a `base_resp` beside or instead of an answer; its code is 0 when all is well. */
export const baseResp = z.object({ status_code: z.number(), status_msg: z.string().nullish() });

/** Throws when a `base_resp` says that the request failed. */
export function checkBaseResp(base: z.infer<typeof baseResp> | null | undefined): void {
  if (!base || base.status_code === 0) return;
  const status = miniMaxStatus.get(base.status_code) ?? 500;
  const filtered = base.status_code === 1026 || base.status_code === 1027;
  throw toServiceFailure({
    status,
    code: filtered ? "content_filter" : String(base.status_code),
    detail: `${base.status_code} ${base.status_msg ?? ""}`,
  });
}

/** MiniMax's error codes that another try does not cure, and its limits, as HTTP statuses. */
const miniMaxStatus = new Map([
  [1002, 429],
  [1039, 429],
  [1041, 429],
  [1004, 401],
  [2049, 401],
  [1008, 402],
  [2056, 402],
  [1026, 400],
  [1027, 400],
  [1042, 400],
  [2013, 400],
]);

function toFailure(error: unknown): unknown {
  if (error instanceof APIError && error.status !== undefined) {
    const { status, code, type, message, headers } = error;
    return toServiceFailure({ status, code: `${code ?? ""} ${type ?? ""}`, detail: message, headers });
  }
  if (error instanceof APIError && !(error instanceof APIConnectionError)) return toStreamFailure(error);
  if (error instanceof SyntaxError || error instanceof AnswerTooLarge)
    return createUnreadableError(error.message);
  // A connection that breaks while the body is read throws the TypeError of fetch.
  if (error instanceof APIConnectionError || error instanceof TypeError) {
    return toNetworkFailure(error.cause instanceof Error ? error.cause : error);
  }
  return error;
}

/** Some services repeat the key that they refuse. */
function removeKey(failure: AttemptFailed, apiKey: string | undefined): AttemptFailed {
  if (!apiKey) return failure;
  const { kind, message, retryAfterMs, detail } = failure;
  return new AttemptFailed(kind, message, { retryAfterMs, detail: detail.replaceAll(apiKey, "[key]") });
}

/** What a service means that answers with HTTP 200 and no stream: MiniMax its errors, others that they are no model. */
function readBodyFailure(type: string, body: string): AttemptFailed {
  if (isWebPage(body)) return createNotAModelError("text/html");
  const parsed = z
    .object({ base_resp: baseResp.nullish(), error: z.unknown().optional() })
    .safeParse(type.includes("json") ? JSON.parse(body) : {});
  checkBaseResp(parsed.data?.base_resp);
  if (parsed.data?.error) return toStreamFailure(parsed.data.error);
  return createNotAModelError(type);
}

function guessStatus(words: string): number {
  if (/rate_limit|quota|balance/.test(words)) return 429;
  return /invalid|context|filter|policy|image/.test(words) ? 400 : 500;
}
