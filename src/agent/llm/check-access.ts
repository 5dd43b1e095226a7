import { ModelError } from "../model.ts";
import { readNetworkCode } from "../network-code.ts";
import type { ModelFacts } from "./catalogue.ts";
import type { ServiceAnswer } from "./errors.ts";

/** A model of a service, with the account to use it. */
export interface ServiceAccount {
  provider: "anthropic" | "openai" | "minimax";
  model: string;
  apiKey: string;
  baseUrl: string | undefined;
}

const miniMax = "https://api.minimax.io";

/** Where the service of a model is; undefined is the provider's own. */
export function describeAddress({ provider, baseUrl }: ServiceAccount): string | undefined {
  return baseUrl ?? (provider === "minimax" ? miniMax : undefined);
}

/** What a service says about a model, or why it says nothing. */
type Asked =
  | { ok: true; facts: Partial<ModelFacts> }
  /** `answer`: the service's own; undefined when it answered with something else. `refusal`: no such model, or a wrong key. */
  | { ok: false; cause: unknown; answer: ServiceAnswer | undefined; refusal: ModelError | undefined };

/** Asks the service's model endpoint, which costs nothing, what it says about the model. */
export async function askService(account: ServiceAccount, signal: AbortSignal): Promise<Asked> {
  // Only the SDK in use is loaded: each takes some megabytes.
  const source =
    account.provider === "openai"
      ? (await import("./openai/service.ts")).openAIFacts
      : (await import("./anthropic/client.ts")).anthropicFacts;
  try {
    const { model, apiKey } = account;
    const baseUrl = describeAddress(account);
    return { ok: true, facts: await source.fetchFacts(model, { apiKey, baseUrl }, signal) };
  } catch (cause) {
    const answer = source.readAnswer(cause);
    return { ok: false, cause, answer, refusal: findRefusal(account, answer?.code, cause) };
  }
}

function findRefusal(
  { provider, model }: ServiceAccount,
  code: string | undefined,
  cause: unknown,
): ModelError | undefined {
  const name = `${provider}/${model}`;
  if (code === "invalid_api_key" || code === "authentication_error") {
    const key = `${provider.toUpperCase()}_API_KEY`;
    const message = `${key} was refused by the model service; put a valid key there.`;
    return new ModelError("auth", message, { cause });
  }
  if (code === "model_not_found" || (code === "not_found_error" && String(cause).includes(model))) {
    const message = `The model service has no model ${name}; name one that it has in its place (HEDDLE_MODEL or heddle.yaml).`;
    return new ModelError("not-found", message, { cause });
  }
  return undefined;
}

/** `unknown`: the service was reached and says nothing about models, as many compatible ones. */
export type ModelAccess =
  | { kind: "granted" | "unknown" }
  /** One sentence with the way out. */
  | { kind: "refused" | "unreachable"; message: string };

/** Checks for the operator whether a model can be used. Unlike `openModel` it also reports what may soon be over. */
export async function checkAccess(account: ServiceAccount, signal: AbortSignal): Promise<ModelAccess> {
  const variable = (of: string) => `${account.provider.toUpperCase()}_${of}`;
  const asked = await askService(account, signal);
  if (asked.ok) return { kind: "granted" };
  const { refusal, answer, cause } = asked;
  if (refusal) return { kind: "refused", message: refusal.message };
  // Whatever else it is, it is no refusal: an answer of another shape, such as a web page.
  if (!answer) return { kind: "unknown" };
  const { status } = answer;
  if (status === 401 || status === 403) {
    const message = `The model service does not let this key in (HTTP ${status}): check ${variable("API_KEY")}.`;
    return { kind: "refused", message };
  }
  if (status === undefined || status === 429 || status >= 500) {
    const why = status === undefined ? describeConnectionProblem(cause, signal) : `HTTP ${status}`;
    const message = `The model service cannot be used now (${why}): check the network and ${variable("BASE_URL")}, or try again later.`;
    return { kind: "unreachable", message };
  }
  return { kind: "unknown" };
}

function describeConnectionProblem(cause: unknown, { aborted }: AbortSignal): string {
  return (
    readNetworkCode(cause) ??
    (aborted
      ? "no answer in time"
      : (cause instanceof Error ? cause.message : String(cause)).replace(/\.$/, ""))
  );
}
