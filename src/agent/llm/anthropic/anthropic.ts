import { randomUUID } from "node:crypto";
import { APIError } from "@anthropic-ai/sdk";
import type { Message } from "../../messages.ts";
import type { LanguageModel, ModelEvent, ModelLimits, ModelRequest } from "../../model.ts";
import { AnswerTooLarge } from "../../network/bounded-answer.ts";
import { AttemptFailed } from "../attempt-failed.ts";
import { computeCallUsage, computeSearchCost } from "../cost.ts";
import {
  createNotAModelError,
  createUnreadableError,
  toNetworkFailure,
  toServiceFailure,
} from "../errors.ts";
import type { RequestSettings } from "../request-settings.ts";
import { createRetryingModel, defaultRetryPolicy, type RetryPolicy } from "../retry.ts";
import { readServerSentEvents } from "../server-sent-events.ts";
import { type AnthropicAccount, createAnthropicClient } from "./client.ts";
import { readReply } from "./reply.ts";
import { createRequestBuilder } from "./request.ts";

export interface AnthropicOptions extends AnthropicAccount {
  model: string;
  /** Whose service it is, for {@link LanguageModel.id}. Default `anthropic`. */
  provider?: string;
  limits: ModelLimits;
  /** Whether the model takes adaptive thinking; see `ModelFacts`. Default: its own default, nothing is sent. */
  adaptiveThinking?: boolean;
  settings?: RequestSettings;
  retry?: Partial<RetryPolicy>;
}

/** A model behind the Anthropic Messages protocol: Anthropic's own, MiniMax's, or any compatible one. */
export function createAnthropicModel(options: AnthropicOptions): LanguageModel {
  const { model, limits, apiKey, settings = {} } = options;
  const id = `${options.provider ?? "anthropic"}/${model}`;
  const client = createAnthropicClient(options);
  const forgotten = new WeakSet<Message>();
  const style = {
    model,
    id,
    limits,
    settings,
    adaptiveThinking: options.adaptiveThinking ?? false,
    forgets: (message: Message) => forgotten.has(message),
  };

  let wireRequest = createRequestBuilder(style);

  const send = async (request: ModelRequest, signal: AbortSignal): Promise<Response> => {
    const params = wireRequest(request);
    try {
      return await client.messages.create(params, { signal, headers: settings.headers }).asResponse();
    } catch (error) {
      throw toFailure(error, apiKey);
    }
  };

  /**
   * Thinking is bound to all that was said before it, and to the account. After a compaction, a change of the
   * tools or the system prompt, or with another key, the service refuses it, and so every further request of
   * the thread. What was refused once is not sent again; what the model thinks from then on is.
   */
  const recoverable = (failure: AttemptFailed, { messages }: ModelRequest): boolean => {
    if (!refusesThinking(failure)) return false;
    const thoughtful = messages.filter((message) => hasThinking(message) && !forgotten.has(message));
    for (const message of thoughtful) forgotten.add(message);
    // What it has converted it does not look at again.
    wireRequest = createRequestBuilder(style);
    return thoughtful.length > 0;
  };

  async function* attempt(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    const response = await send(request, signal);
    const reply = yield* readReply(readEvents(response, apiKey));
    if (!reply) return;
    yield {
      type: "done",
      message: {
        role: "assistant",
        id: reply.id || randomUUID(),
        parts: reply.parts,
        model: id,
        stop: reply.stop,
      },
      usage: computeCallUsage(reply.tokens, limits.price, computeSearchCost(reply.searches, limits)),
      ...(reply.search && { search: reply.search }),
    };
  }

  return createRetryingModel(
    { id, limits },
    attempt,
    { ...defaultRetryPolicy, ...options.retry },
    { recoverable, maxSide: longestSide, toBody: (request) => wireRequest(request) },
  );
}

/** Pixels that a side of an image may have: https://platform.claude.com/docs/en/build-with-claude/vision */
const longestSide = 8_000;

function hasThinking(message: Message): boolean {
  return message.role === "assistant" && message.parts.some((part) => part.type === "thinking");
}

/** "Invalid `signature` in `thinking` block", "`thinking` or `redacted_thinking` blocks ... cannot be modified" */
function refusesThinking({ kind, detail }: AttemptFailed): boolean {
  return kind === "invalid-request" && /\bsignature\b|thinking`? blocks?\b/i.test(detail);
}

/** The data of the reply's server-sent events, pings included. */
async function* readEvents(
  response: Response,
  apiKey: string | undefined,
): AsyncGenerator<string, void, undefined> {
  const type = response.headers.get("content-type");
  const isOther = type !== null && !type.includes("event-stream");
  try {
    for await (const { data } of readServerSentEvents(response)) {
      if (isOther) break;
      if (data !== "") yield data;
    }
    if (isOther) throw createNotAModelError(type);
  } catch (error) {
    throw toFailure(error, apiKey);
  }
}

/** What the SDK, or the connection below it, threw. */
function toFailure(error: unknown, apiKey: string | undefined): AttemptFailed {
  const maskKey = (text: string) => (apiKey ? text.replaceAll(apiKey, "[key]") : text);
  if (error instanceof APIError && error.status !== undefined) {
    const { status, type, errorCode, apiMessage, message, headers } = error;
    const code = `${type ?? ""} ${errorCode ?? ""}`;
    return toServiceFailure({ status, code, detail: maskKey(apiMessage ?? message), headers });
  }
  if (error instanceof AttemptFailed) return error;
  if (error instanceof AnswerTooLarge) return createUnreadableError(error.message);
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return toNetworkFailure(cause, maskKey(String(cause)));
}
