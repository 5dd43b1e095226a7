import type { ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import { retriedModel } from "./attempts.ts";
import { callUsage } from "./cost.ts";
import { isMiniMax } from "./endpoints.ts";
import { type LanguageModel, maxOutput, type ModelEvent, type ModelRequest } from "./model.ts";
import { takenCallIds } from "./wire-calls.ts";
import { toChatMessages } from "./openai-chat-messages.ts";
import { chatChunk, ChatReply } from "./openai-chat-reply.ts";
import {
  checkBaseResp,
  createClient,
  isOpenAI,
  type OpenAIModelOptions,
  openAIRetryPolicy,
  parseChunk,
  streamed,
} from "./openai-service.ts";

/** A model behind the Chat Completions protocol: OpenAI's, MiniMax's, or one of the many compatible servers'. */
export function createOpenAIChatModel(options: OpenAIModelOptions): LanguageModel {
  const { model, limits } = options;
  const id = `${options.provider ?? "openai"}/${model}`;
  const client = createClient(options);
  const miniMax = isMiniMax(client.baseURL);

  const body = (request: ModelRequest): ChatCompletionCreateParamsStreaming => {
    const maxTokens = maxOutput(request, limits);
    return {
      model,
      stream: true,
      stream_options: { include_usage: true },
      // OpenAI's newer models refuse the old name, and many compatible servers do not know the new one.
      ...(isOpenAI(client.baseURL) ? { max_completion_tokens: maxTokens } : { max_tokens: maxTokens }),
      // MiniMax's own: thinking in a field of its own instead of tags in the text. Others refuse unknown keys.
      ...(miniMax && { reasoning_split: true }),
      ...(request.tools.length > 0 && {
        tools: request.tools.map(({ name, description, schema }) => ({
          type: "function",
          function: { name, description, parameters: schema },
        })),
        tool_choice: request.toolChoice ?? "auto",
      }),
      messages: toChatMessages(request, { id, images: limits.images }),
    };
  };

  async function* attempt(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    const reply = new ChatReply({ snapshots: miniMax, calls: request.toolChoice !== "none" });
    const chunks = streamed(client.chat.completions.create(body(request), { signal }), options.apiKey);
    for await (const chunk of chunks) {
      const parsed = parseChunk(chatChunk, chunk);
      checkBaseResp(parsed.base_resp);
      yield* reply.push(parsed);
    }
    // The stream ended without a word about why: it was cut.
    if (!reply.finished) return;
    yield* reply.end();
    yield {
      type: "done",
      message: reply.message(id, takenCallIds(request.messages)),
      usage: callUsage(reply.tokens(), limits.price),
    };
  }

  return retriedModel({ id, limits }, attempt, { ...openAIRetryPolicy, ...options.retry });
}
