import type { ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import { findOutputLimit, type LanguageModel, type ModelEvent, type ModelRequest } from "../../model.ts";
import type { AttemptFailed } from "../attempt-failed.ts";
import { computeCallUsage } from "../cost.ts";
import { isMiniMax, isOpenAI } from "../endpoints.ts";
import { findEffort } from "../request-settings.ts";
import { createRetryingModel } from "../retry.ts";
import { createCacheKey } from "./cache-key.ts";
import { type ChatReader, createChatMessages, standInReasoning, standInSignature } from "./chat-messages.ts";
import { chatChunk, ChatReply } from "./chat-reply.ts";
import {
  checkBaseResp,
  createOpenAIClient,
  type OpenAIModelOptions,
  openAIRetryPolicy,
  parseChunk,
  streamWithErrors,
  withToolLimit,
} from "./service.ts";

/** Services have tiers that the SDK does not know; the operator has named it. */
type ServiceTier = NonNullable<ChatCompletionCreateParamsStreaming["service_tier"]>;

/** A model behind the Chat Completions protocol: OpenAI's, MiniMax's, or one of the many compatible servers'. */
export function createOpenAIChatModel(options: OpenAIModelOptions): LanguageModel {
  const { model, settings = {} } = options;
  const limits = withToolLimit(options.limits, options.baseUrl);
  const { temperature, serviceTier } = settings;
  const id = `${options.provider ?? "openai"}/${model}`;
  const client = createOpenAIClient(options);
  const common = { headers: settings.headers, apiKey: options.apiKey };
  const miniMax = isMiniMax(client.baseURL);
  // OpenAI's newer models refuse the old name, and many compatible servers do not know the new one.
  const maxTokens = isOpenAI(client.baseURL) ? "max_completion_tokens" : "max_tokens";
  let reader: ChatReader = { id, images: limits.images };
  let toMessages = createChatMessages(reader);
  /** What another model has said, or what stands behind a summary, is not as some services want it. */
  const adapt = (failure: AttemptFailed): boolean => {
    const wanted = findWanted(failure);
    if (wanted === undefined || reader[wanted] !== undefined) return false;
    reader = { ...reader, [wanted]: adaptations[wanted] };
    toMessages = createChatMessages(reader);
    return true;
  };

  const toEffort = (request: ModelRequest) => {
    const effort = findEffort(request.effort, limits, settings);
    return effort !== undefined && { reasoning_effort: effort };
  };
  const toBody = (request: ModelRequest): ChatCompletionCreateParamsStreaming => ({
    model,
    ...toEffort(request),
    ...(temperature !== undefined && { temperature }),
    ...(serviceTier !== undefined && { service_tier: serviceTier as ServiceTier }),
    stream: true,
    stream_options: { include_usage: true },
    [maxTokens]: findOutputLimit(request, limits),
    // MiniMax's own: thinking in a field of its own instead of tags in the text. Others refuse unknown keys.
    ...(miniMax && { reasoning_split: true }),
    ...(request.tools.length > 0 && {
      tools: request.tools.map(({ name, description, schema }) => ({
        type: "function",
        function: { name, description, parameters: schema },
      })),
      tool_choice: request.toolChoice ?? "auto",
    }),
    // Others refuse unknown keys.
    ...(isOpenAI(client.baseURL) && { prompt_cache_key: createCacheKey(request) }),
    messages: toMessages(request),
    ...settings.body,
  });

  async function* attempt(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    const reply = new ChatReply({ snapshots: miniMax, calls: request.toolChoice !== "none" });
    const sent = {
      ...{ path: "/chat/completions", body: toBody(request), ...common, signal },
      isComplete: () => reply.finished,
    };
    for await (const chunk of streamWithErrors(client, sent)) {
      const parsed = parseChunk(chatChunk, chunk);
      checkBaseResp(parsed.base_resp);
      yield* reply.push(parsed);
      // Some servers neither send the end that follows nor close the stream.
      if (reply.ended) break;
    }
    // The stream ended without a word about why: it was cut.
    if (!reply.finished) return;
    yield* reply.end();
    yield {
      type: "done",
      message: reply.message(id),
      usage: computeCallUsage(reply.tokens(), limits.price),
    };
  }

  return createRetryingModel(
    { id, limits },
    attempt,
    { ...openAIRetryPolicy, ...options.retry },
    {
      toBody,
      recoverable: adapt,
    },
  );
}

const adaptations = {
  unsigned: standInSignature,
  unreasoned: standInReasoning,
  hasShortIds: true,
  alternates: true,
} as const;

/**
 * Gemini: "Function call is missing a thought_signature in functionCall parts."
 * DeepSeek: "The `reasoning_content` in the thinking mode must be passed back to the API."
 * Kimi: "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"
 * Mistral: "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."; its models elsewhere, where some
 * servers answer with status 500: "Tool call IDs should be alphanumeric strings with length 9!",
 * "After the optional system message, conversation roles must alternate user and assistant roles except for tool calls"
 */
function findWanted({ detail }: AttemptFailed): keyof typeof adaptations | undefined {
  if (/\bthought_?signature\b/i.test(detail)) return "unsigned";
  if (/\btool call ids?\b.*\blength (of )?9\b/i.test(detail)) return "hasShortIds";
  if (/\broles must alternate\b/i.test(detail)) return "alternates";
  const isUnreasoned = /\breasoning_content\b/i.test(detail) && /\b(missing|passed back)\b/i.test(detail);
  return isUnreasoned ? "unreasoned" : undefined;
}
