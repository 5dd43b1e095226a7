import type { ResponseCreateParamsStreaming, ResponseIncludable } from "openai/resources/responses/responses";
import type { Message } from "../../messages.ts";
import { findOutputLimit, type LanguageModel, type ModelEvent, type ModelRequest } from "../../model.ts";
import type { AttemptFailed } from "../attempt-failed.ts";
import { computeCallUsage, computeSearchCost } from "../cost.ts";
import { findEffort, isReasoningModel } from "../request-settings.ts";
import { createRetryingModel } from "../retry.ts";
import { createCacheKey } from "./cache-key.ts";
import { createInputItems } from "./responses-items.ts";
import { readResponse } from "./responses-reply.ts";
import {
  createOpenAIClient,
  type OpenAIModelOptions,
  openAIRetryPolicy,
  streamWithErrors,
  withToolLimit,
} from "./service.ts";

/** Services have tiers that the SDK does not know; the operator has named it. */
type ServiceTier = NonNullable<ResponseCreateParamsStreaming["service_tier"]>;

/**
 * A model behind the Responses protocol. Nothing is stored at the service: the whole history goes with every
 * request, the model's encrypted reasoning included.
 */
export function createOpenAIResponsesModel(options: OpenAIModelOptions): LanguageModel {
  const { model, settings = {} } = options;
  const limits = withToolLimit(options.limits, options.baseUrl);
  const { temperature, serviceTier } = settings;
  const id = `${options.provider ?? "openai"}/${model}`;
  const client = createOpenAIClient(options);
  const common = { headers: settings.headers, apiKey: options.apiKey };
  const forgotten = new WeakSet<Message>();
  const reader = {
    id,
    images: limits.images,
    forgets: (message: Message) => forgotten.has(message),
  };
  let toItems = createInputItems(reader);

  const toEffort = (request: ModelRequest) => {
    const effort = findEffort(request.effort, limits, settings);
    return effort !== undefined && { reasoning: { effort } };
  };
  const searchesOf = (request: ModelRequest) => (limits.webSearch ? (request.webSearches ?? 0) : 0);
  const toBody = (request: ModelRequest): ResponseCreateParamsStreaming => ({
    model,
    ...toEffort(request),
    ...(temperature !== undefined && { temperature }),
    ...(serviceTier !== undefined && { service_tier: serviceTier as ServiceTier }),
    stream: true,
    store: false,
    ...toInclude(model, searchesOf(request)),
    max_output_tokens: findOutputLimit(request, limits),
    ...(request.system !== "" && { instructions: request.system.toWellFormed() }),
    ...toTools(request, searchesOf(request)),
    prompt_cache_key: createCacheKey(request),
    input: toItems(request.messages),
    ...settings.body,
  });

  /**
   * Encrypted reasoning is bound to the account. With a new key the service refuses it for good, and the thread
   * with it; what it has refused once is not sent again.
   */
  const recoverable = ({ detail }: AttemptFailed, { messages }: ModelRequest): boolean => {
    if (!/encrypted content/i.test(detail)) return false;
    const known = messages.filter((message) => message.role === "assistant" && !forgotten.has(message));
    for (const message of known) forgotten.add(message);
    // What it has converted it does not look at again.
    toItems = createInputItems(reader);
    return known.length > 0;
  };

  async function* attempt(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    const sent = { path: "/responses", body: toBody(request), ...common, signal };
    const events = streamWithErrors(client, sent);
    const reply = yield* readResponse(events, id);
    if (!reply) return;
    const { message, tokens, search, searches } = reply;
    const usage = computeCallUsage(tokens, limits.price, computeSearchCost(searches, limits));
    yield { type: "done", message, usage, ...(search && { search }) };
  }

  return createRetryingModel(
    { id, limits },
    attempt,
    { ...openAIRetryPolicy, ...options.retry },
    { recoverable, toBody },
  );
}

function toInclude(model: string, searches: number): Pick<ResponseCreateParamsStreaming, "include"> {
  const include: ResponseIncludable[] = [
    ...(isReasoningModel(model) ? ["reasoning.encrypted_content" as const] : []),
    ...(searches > 0 ? ["web_search_call.action.sources" as const] : []),
  ];
  return include.length > 0 ? { include } : {};
}

function toTools(
  { tools, toolChoice = "auto" }: ModelRequest,
  searches: number,
): Pick<ResponseCreateParamsStreaming, "tools" | "tool_choice" | "max_tool_calls"> {
  const functions = tools.map(({ name, description, schema }) => ({
    type: "function" as const,
    ...{ name, description, parameters: schema, strict: false },
  }));
  // https://developers.openai.com/api/docs/guides/tools-web-search
  if (searches > 0) {
    const search = { type: "web_search" as const, search_context_size: "low" as const };
    return { tools: [...functions, search], tool_choice: toolChoice, max_tool_calls: searches };
  }
  return functions.length > 0 ? { tools: functions, tool_choice: toolChoice } : {};
}
