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

/** What asking a service about a model gives: what it says, or why it says nothing. */
type Asked =
  | { ok: true; facts: Partial<ModelFacts> }
  /** `answer`: the service's own; undefined when it spoke of something else. `refusal`: no such model, or a wrong key. */
  | { ok: false; cause: unknown; answer: ServiceAnswer | undefined; refusal: ModelError | undefined };

/** Asks the service's model endpoint, which costs nothing, what it says about the model. */
export async function askService(account: ServiceAccount, signal: AbortSignal): Promise<Asked> {
  // Only the SDK in use is loaded: each takes some megabytes.
  const { ask, answerOf } =
    account.provider === "openai"
      ? await import("./openai/service.ts")
      : await import("./anthropic/client.ts");
  try {
    const { model, apiKey } = account;
    return { ok: true, facts: await ask(model, { apiKey, baseUrl: describeAddress(account) }, signal) };
  } catch (cause) {
    const answer = answerOf(cause);
    return { ok: false, cause, answer, refusal: refusalOf(account, answer?.code, cause) };
  }
}

function refusalOf(
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

/** Tries whether a model can be used, for the operator: unlike `openModel` it also tells what may be over soon. */
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
    const why = status === undefined ? connectionProblem(cause, signal) : `HTTP ${status}`;
    const message = `The model service cannot be used now (${why}): check the network and ${variable("BASE_URL")}, or try again later.`;
    return { kind: "unreachable", message };
  }
  return { kind: "unknown" };
}

function connectionProblem(cause: unknown, { aborted }: AbortSignal): string {
  return (
    readNetworkCode(cause) ??
    (aborted ? "no answer in time" : cause instanceof Error ? cause.message : String(cause))
  );
}
