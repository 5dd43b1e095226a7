import { APIError as AnthropicError } from "@anthropic-ai/sdk";
import { APIError as OpenAIError } from "openai";
import { createAnthropicModel } from "./anthropic.ts";
import { askAnthropic } from "./anthropic-client.ts";
import type { RetryPolicy } from "./attempts.ts";
import { catalogued, type ModelFacts } from "./catalogue.ts";
import { createDemoModel } from "./demo/demo.ts";
import { type LanguageModel, ModelError, type ModelLimits } from "./model.ts";
import { createOpenAIChatModel } from "./openai-chat.ts";
import { createOpenAIResponsesModel } from "./openai-responses.ts";
import { createClient, isOpenAI } from "./openai-service.ts";

/** A model by its provider, with the account to use it. */
export type ModelAccount =
  | { provider: "demo" }
  | {
      provider: "anthropic" | "openai" | "minimax";
      model: string;
      apiKey: string;
      baseUrl: string | undefined;
    };

export interface OpenOptions {
  retry?: Partial<RetryPolicy>;
  demo?: { scripts?: string | undefined; stepDelayMs?: number | undefined };
  /** What the operator says about the model; it counts more than the service and the catalogue. */
  limits?: Partial<ModelLimits>;
  /** How long the service may take to tell about a model, in milliseconds. Default 5,000. */
  askMs?: number;
}

const miniMax = "https://api.minimax.io";

/**
 * Opens a model and asks its service about it. What the service does not answer comes from the catalogue.
 *
 * @throws ModelError `not-found` or `auth` when the service says that it has no such model or refuses the key
 */
export async function openModel(account: ModelAccount, options: OpenOptions = {}): Promise<LanguageModel> {
  const { retry = {} } = options;
  if (account.provider === "demo") {
    const { scripts, stepDelayMs } = options.demo ?? {};
    return createDemoModel({
      ...(scripts !== undefined && { scriptsDir: scripts }),
      ...(stepDelayMs !== undefined && { stepDelayMs }),
    });
  }
  const { provider, model, apiKey, baseUrl } = account;
  switch (provider) {
    case "anthropic":
    case "minimax": {
      const place = { apiKey, baseUrl: baseUrl ?? (provider === "minimax" ? miniMax : undefined) };
      const facts = await factsOf(account, options, (signal) => askAnthropic(model, place, signal));
      const { adaptiveThinking, ...limits } = facts;
      return createAnthropicModel({ ...place, provider, model, limits, adaptiveThinking, retry });
    }
    case "openai": {
      const place = { apiKey, ...(baseUrl !== undefined && { baseUrl }) };
      const { adaptiveThinking: _, ...limits } = await factsOf(account, options, async (signal) => {
        // It names no limits, but it knows whether there is such a model.
        await createClient(place).models.retrieve(model, { signal });
        return {};
      });
      // Compatible servers share the older protocol only; OpenAI's own models reason better over the newer one.
      const create =
        baseUrl === undefined || isOpenAI(baseUrl) ? createOpenAIResponsesModel : createOpenAIChatModel;
      return create({ ...place, model, limits, retry });
    }
  }
}

async function factsOf(
  { provider, model }: Exclude<ModelAccount, { provider: "demo" }>,
  { limits, askMs = 5_000 }: OpenOptions,
  ask: (signal: AbortSignal) => Promise<Partial<ModelFacts>>,
): Promise<ModelFacts> {
  const name = `${provider}/${model}`;
  try {
    return { ...catalogued(name), ...(await ask(AbortSignal.timeout(askMs))), ...limits };
  } catch (error) {
    const code = codeOf(error);
    if (code === "invalid_api_key" || code === "authentication_error") {
      const key = `${provider.toUpperCase()}_API_KEY`;
      const message = `${key} was refused by the model service; put a valid key there.`;
      throw new ModelError("auth", message, { cause: error });
    }
    if (code === "model_not_found" || (code === "not_found_error" && String(error).includes(model))) {
      const message = `The model service has no model ${name}; set HEDDLE_MODEL to one that it has.`;
      throw new ModelError("not-found", message, { cause: error });
    }
    // Compatible servers often have no such endpoint; an unreachable one is told by the first real call.
    return { ...catalogued(name), ...limits };
  }
}

function codeOf(error: unknown): string {
  if (error instanceof AnthropicError) return error.type ?? "";
  if (error instanceof OpenAIError) return error.code ?? "";
  return "";
}
