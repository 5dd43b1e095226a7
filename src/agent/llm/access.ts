import { APIError as AnthropicError } from "@anthropic-ai/sdk";
import { APIError as OpenAIError } from "openai";
import { askAnthropic } from "./anthropic-client.ts";
import type { ModelFacts } from "./catalogue.ts";
import { networkCode } from "./errors.ts";
import { ModelError } from "./model.ts";
import { createClient } from "./openai-service.ts";

/** A model of a service, with the account to use it. */
export interface ServiceAccount {
  provider: "anthropic" | "openai" | "minimax";
  model: string;
  apiKey: string;
  baseUrl: string | undefined;
}

const miniMax = "https://api.minimax.io";

/** Where the service of a model is; undefined is the provider's own. */
export function addressOf({ provider, baseUrl }: ServiceAccount): string | undefined {
  return baseUrl ?? (provider === "minimax" ? miniMax : undefined);
}

/**
 * Asks the service's model endpoint, which costs nothing, what it says about the model. OpenAI's names no limits,
 * but knows whether there is such a model. Throws whatever went wrong.
 */
export async function askService(account: ServiceAccount, signal: AbortSignal): Promise<Partial<ModelFacts>> {
  const { provider, model, apiKey } = account;
  const baseUrl = addressOf(account);
  if (provider !== "openai") return await askAnthropic(model, { apiKey, baseUrl }, signal);
  await createClient({ apiKey, ...(baseUrl !== undefined && { baseUrl }) }).models.retrieve(model, {
    signal,
  });
  return {};
}

/** The error that a service's answer stands for, if it says that it has no such model or does not take the key. */
export function refusalOf({ provider, model }: ServiceAccount, cause: unknown): ModelError | undefined {
  const name = `${provider}/${model}`;
  const code = codeOf(cause);
  if (code === "invalid_api_key" || code === "authentication_error") {
    const key = `${provider.toUpperCase()}_API_KEY`;
    const message = `${key} was refused by the model service; put a valid key there.`;
    return new ModelError("auth", message, { cause });
  }
  if (code === "model_not_found" || (code === "not_found_error" && String(cause).includes(model))) {
    const message = `The model service has no model ${name}; set HEDDLE_MODEL to one that it has.`;
    return new ModelError("not-found", message, { cause });
  }
  return undefined;
}

/** `untold`: the service was reached and says nothing about models, as many compatible ones. */
export type ModelAccess =
  | { kind: "granted" | "untold" }
  /** One sentence with the way out. */
  | { kind: "refused" | "unreachable"; message: string };

/** Tries whether a model can be used, for the operator: unlike `openModel` it also tells what may be over soon. */
export async function checkAccess(account: ServiceAccount, signal: AbortSignal): Promise<ModelAccess> {
  const variable = (of: string) => `${account.provider.toUpperCase()}_${of}`;
  try {
    await askService(account, signal);
    return { kind: "granted" };
  } catch (error) {
    const refusal = refusalOf(account, error);
    if (refusal) return { kind: "refused", message: refusal.message };
    // Whatever else it is, it is no refusal: an answer of another shape, such as a web page.
    if (!(error instanceof AnthropicError || error instanceof OpenAIError)) return { kind: "untold" };
    const { status } = error;
    if (status === 401 || status === 403) {
      const message = `The model service does not let this key in (HTTP ${status}): check ${variable("API_KEY")}.`;
      return { kind: "refused", message };
    }
    if (status === undefined || status === 429 || status >= 500) {
      const why = status === undefined ? connectionProblem(error, signal) : `HTTP ${status}`;
      const message = `The model service cannot be used now (${why}): check the network and ${variable("BASE_URL")}, or try again later.`;
      return { kind: "unreachable", message };
    }
    return { kind: "untold" };
  }
}

function connectionProblem(error: Error, { aborted }: AbortSignal): string {
  return networkCode(error) ?? (aborted ? "no answer in time" : error.message);
}

function codeOf(error: unknown): string {
  if (error instanceof AnthropicError) return error.type ?? "";
  if (error instanceof OpenAIError) return error.code ?? "";
  return "";
}
