import { ModelError } from "../model.ts";
import { readNetworkCode } from "../network/network-code.ts";
import { mayPass } from "../network/passing-status.ts";
import type { ModelFacts } from "./catalogue.ts";
import { isOpenAI, type EndpointProtocol } from "./endpoints.ts";
import type { ServiceAnswer } from "./errors.ts";

/** A model of a service, with the account to use it. */
export interface ServiceAccount {
  /** `anthropic`, `openai`, `minimax`, or any other name for a service whose `protocol` and `baseUrl` are given. */
  provider: string;
  /** The service's own name of the model. */
  model: string;
  /** Without one none is sent, as services of one's own often want it. */
  apiKey?: string | undefined;
  /** Default: the provider's own service. */
  baseUrl?: string | undefined;
  /** Default: the provider's, by its name and address. */
  protocol?: EndpointProtocol | undefined;
  /** Sent with every request, questions about models included. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** What the operator calls the places of key and address, for messages. Default: the provider's variables. */
  where?: { key: string; baseUrl: string };
}

/** What the service of an account speaks. */
export function resolveProtocol({ protocol, provider, baseUrl }: ServiceAccount): EndpointProtocol {
  if (protocol) return protocol;
  if (provider !== "openai") return "anthropic";
  // Compatible servers share the older protocol only; OpenAI's own models reason better over the newer one.
  return baseUrl === undefined || isOpenAI(baseUrl) ? "openai-responses" : "openai-chat";
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
    resolveProtocol(account) === "anthropic"
      ? (await import("./anthropic/client.ts")).anthropicFacts
      : (await import("./openai/service.ts")).openAIFacts;
  try {
    const { model, apiKey, headers } = account;
    const baseUrl = describeAddress(account);
    return { ok: true, facts: await source.fetchFacts(model, { apiKey, baseUrl, headers }, signal) };
  } catch (cause) {
    const answer = source.readAnswer(cause);
    return { ok: false, cause, answer, refusal: findRefusal(account, answer?.code, cause) };
  }
}

function nameVariables({ provider, where }: ServiceAccount): { key: string; baseUrl: string } {
  const variable = provider.toUpperCase();
  return where ?? { key: `${variable}_API_KEY`, baseUrl: `${variable}_BASE_URL` };
}

function findRefusal(
  account: ServiceAccount,
  code: string | undefined,
  cause: unknown,
): ModelError | undefined {
  const { provider, model } = account;
  const name = `${provider}/${model}`;
  if (code === "invalid_api_key" || code === "authentication_error") {
    const { key } = nameVariables(account);
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
  const { key, baseUrl } = nameVariables(account);
  const asked = await askService(account, signal);
  if (asked.ok) return { kind: "granted" };
  const { refusal, answer, cause } = asked;
  if (refusal) return { kind: "refused", message: refusal.message };
  // Whatever else it is, it is no refusal: an answer of another shape, such as a web page.
  if (!answer) return { kind: "unknown" };
  const { status } = answer;
  if (status === 401 || status === 403) {
    const message = `The model service does not let this key in (HTTP ${status}): check ${key}.`;
    return { kind: "refused", message };
  }
  if (status === undefined || mayPass(status)) {
    const why = status === undefined ? describeConnectionProblem(cause, signal) : `HTTP ${status}`;
    const message = `The model service cannot be used now (${why}): check the network and ${baseUrl}, or try again later.`;
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
