import type { AssistantMessage, Message } from "./messages.ts";
import type { WebResult } from "./contracts/web-result.ts";

/** US dollars per million tokens. `cacheWrite` is for tokens that enter a cache, `input` for those beside it. */
export interface TokenPrice {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

/** How hard a model may think, from hardly to as hard as it can. No model takes all of them. */
export const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type Effort = (typeof efforts)[number];

/** What a model can take and give, in tokens. */
export interface ModelLimits {
  contextTokens: number;
  maxOutputTokens: number;
  images: boolean;
  /** The most tools that a request may have. Absent where no such limit is known. */
  tools?: number;
  /** The efforts that it takes; absent when that is unknown. */
  efforts?: readonly Effort[];
  /**
   * Absent when unknown; then the highest known one counts (see `computeCallUsage`). Some models charge a whole request at
   * another rate when its prompt has more than `above` tokens.
   */
  price?: TokenPrice & { longPrompt?: TokenPrice & { above: number } };
  /** Present where the model's service searches the web itself; `price`: US dollars of one search. */
  webSearch?: { price: number };
}

/** Tokens of one or several model calls. `input` excludes what was read from or written to a cache. */
export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  /** US dollars. */
  cost: number;
  /** The price of some of it is unknown: `cost` is what it may be at most. */
  priceUnknown?: true;
  /** How many model calls these figures cover. */
  calls: number;
}

export const noUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0, calls: 0 };

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    cost: a.cost + b.cost,
    calls: a.calls + b.calls,
    ...((a.priceUnknown || b.priceUnknown) && { priceUnknown: true }),
  };
}

/** A tool as the model sees it. `schema` is a JSON Schema of type object without `$schema`. */
export interface ToolDefinition {
  name: string;
  description: string;
  schema: Record<string, unknown>;
  /** The agent can do without it: it is left out where its service refuses it or takes no more. */
  optional?: true;
}

export interface ModelRequest {
  system: string;
  messages: readonly Message[];
  /** Always the same list within a turn, so that the prompt prefix stays cacheable. */
  tools: readonly ToolDefinition[];
  /** `none` forbids tool calls for this request (wrap-up, summaries). Default `auto`. */
  toolChoice?: "auto" | "none";
  /** Default: the model's own limit. */
  maxOutputTokens?: number;
  /** How often the service itself may search the web; for models with {@link ModelLimits.webSearch}, ignored by others. */
  webSearches?: number;
  /** Default: what is configured for the model. A model that does not take it gets that, too. */
  effort?: Effort;
}

/** How many tokens a reply may have. */
export function findOutputLimit(request: ModelRequest, limits: ModelLimits): number {
  return Math.min(request.maxOutputTokens ?? limits.maxOutputTokens, limits.maxOutputTokens);
}

/** What a model call yields while it runs. */
export type ModelEvent =
  /** The service works on the request: from here on it charges for it, whatever comes of it and whoever sees it. */
  | { type: "begun" }
  | { type: "text"; delta: string }
  | { type: "thinking"; delta: string }
  /** What was streamed so far in this call is void: the call starts again after `delayMs`. */
  | { type: "retry"; attempt: number; delayMs: number; reason: string }
  /** What was streamed so far in this call is void: another model takes over. `reason` may be shown to people. */
  | { type: "fallback"; model: string; reason: string }
  /** `search`: what the service has found where it was to search; absent where it did not. */
  | { type: "done"; message: AssistantMessage; usage: Usage; search?: ServiceSearch };

/** What a model's service has found on the web. `error`: its word for why that is nothing. */
export interface ServiceSearch {
  results: readonly WebResult[];
  error?: string;
}

/**
 * One model behind one protocol. Implement it for another service, or wrap one to change what its calls do (retry,
 * fallback, metering). It keeps no state between calls: the history comes with each request.
 *
 * ```ts
 * for await (const event of model.stream({ system, messages, tools: [] }, signal)) {
 *   if (event.type === "text") process.stdout.write(event.delta);
 *   if (event.type === "done") messages.push(event.message); // unless it has no parts
 * }
 * ```
 */
export interface LanguageModel {
  /** `provider/model`, as in `HEDDLE_MODEL`. */
  readonly id: string;
  readonly limits: ModelLimits;
  /** For one that hands its calls on: the model that the next call goes to. Default: itself. */
  serving?(): LanguageModel;
  /**
   * Makes one call. Yields `done` exactly once, last; an empty reply has `parts: []`, and the caller must not store it.
   * Ids of tool calls are the service's own, or new ones where it gives none, and may repeat: see `withUniqueCallIds`.
   *
   * Throws {@link ModelError} for whatever the service did, a connection that fails included, and rethrows the signal's
   * reason on abort. Any other error is a fault of the program: `runTurn` throws it too. A caller that stops iterating
   * ends the call.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

/**
 * `auth`: key refused. `quota`: no credit. `overflow`: the request exceeds the window. `transient`: worth a retry.
 * `elsewhere`: something else than a model's service has answered.
 */
export type ModelErrorKind =
  | "auth"
  | "quota"
  | "overflow"
  | "transient"
  | "not-found"
  | "elsewhere"
  | "invalid-request"
  | "content-filter";

/** A failed model call. `message` is safe to show in a chat: no key, no URL, no request body. */
export class ModelError extends Error {
  override readonly name = "ModelError";
  readonly kind: ModelErrorKind;
  /** How many requests were made. */
  readonly attempts: number;
  /** The service's own words, for the log only. */
  readonly detail: string;
  /** What happened, without the advice to try again: for where somebody else tries. Default: the message. */
  readonly reason: string;
  /** Id of the model that failed, where it is another than the one that was called. */
  readonly model: string | undefined;
  /** How long the service asked to be left alone, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: ModelErrorKind,
    message: string,
    options: {
      attempts?: number;
      detail?: string;
      reason?: string;
      model?: string;
      retryAfterMs?: number | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.reason = options.reason ?? message;
    this.attempts = options.attempts ?? 1;
    this.detail = options.detail ?? "";
    this.model = options.model;
    this.retryAfterMs = options.retryAfterMs;
  }
}
