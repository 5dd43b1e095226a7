import { APIError as AnthropicError } from "@anthropic-ai/sdk";
import { APIError as OpenAIError } from "openai";
import { createAnthropicModel } from "./anthropic.ts";
import { askAnthropic } from "./anthropic-client.ts";
import type { RetryPolicy } from "./attempts.ts";
import { type AskService, type ModelFacts, resolveLimits } from "./catalogue.ts";
import { createDemoModel } from "./demo/demo.ts";
import { type LanguageModel, ModelError } from "./model.ts";
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
  retry: RetryPolicy;
  demo: { scripts?: string | undefined; stepDelayMs?: number | undefined };
}

const miniMax = "https://api.minimax.io";

/** How long the service may take to tell about a model, in milliseconds. */
const askMs = 5_000;

/**
 * Opens a model and asks its service about it. What the service does not answer comes from the catalogue.
 *
 * @throws ModelError `not-found` or `auth` when the service says that it has no such model or refuses the key
 */
export async function openModel(account: ModelAccount, options: OpenOptions): Promise<LanguageModel> {
  const { retry } = options;
  if (account.provider === "demo") {
    const { scripts, stepDelayMs } = options.demo;
    return createDemoModel({
      ...(scripts !== undefined && { scriptsDir: scripts }),
      ...(stepDelayMs !== undefined && { stepDelayMs }),
    });
  }
  const { provider, model, apiKey, baseUrl } = account;
  switch (provider) {
    case "anthropic":
    case "minimax": {
      const place = baseUrl ?? (provider === "minimax" ? miniMax : undefined);
      const { adaptiveThinking, ...limits } = await factsOf(
        account,
        askAnthropic(model, { apiKey, baseUrl: place }),
      );
      return createAnthropicModel({
        model,
        apiKey,
        baseUrl: place,
        provider,
        limits,
        adaptiveThinking,
        retry,
      });
    }
    case "openai": {
      const place = { model, apiKey, ...(baseUrl !== undefined && { baseUrl }) };
      const ask: AskService = async (signal) => {
        // It names no limits, but it knows whether there is such a model.
        await createClient({ ...place, limits: await resolveLimits(`openai/${model}`) }).models.retrieve(
          model,
          { signal },
        );
        return {};
      };
      const { adaptiveThinking: _, ...limits } = await factsOf(account, ask);
      // Compatible servers share the older protocol only; OpenAI's own models reason better over the newer one.
      const create =
        baseUrl === undefined || isOpenAI(baseUrl) ? createOpenAIResponsesModel : createOpenAIChatModel;
      return create({ ...place, limits, retry });
    }
  }
}

async function factsOf(
  account: Exclude<ModelAccount, { provider: "demo" }>,
  ask: AskService,
): Promise<ModelFacts> {
  const { provider, model } = account;
  try {
    const answer = await ask(AbortSignal.timeout(askMs));
    return await resolveLimits(`${provider}/${model}`, () => Promise.resolve(answer));
  } catch (error) {
    const code = codeOf(error);
    if (code === "invalid_api_key" || code === "authentication_error") {
      const key = `${provider.toUpperCase()}_API_KEY`;
      throw new ModelError("auth", `${key} was refused by the model service; put a valid key there.`, {
        cause: error,
      });
    }
    if (code === "model_not_found" || (code === "not_found_error" && String(error).includes(model))) {
      const name = `${provider}/${model}`;
      throw new ModelError(
        "not-found",
        `The model service has no model ${name}; set HEDDLE_MODEL to one that it has.`,
        {
          cause: error,
        },
      );
    }
    // Compatible servers often have no such endpoint; an unreachable one is told by the first real call.
    return await resolveLimits(`${provider}/${model}`);
  }
}

function codeOf(error: unknown): string {
  if (error instanceof AnthropicError) return error.type ?? "";
  if (error instanceof OpenAIError) return error.code ?? "";
  return "";
}
