import { type LanguageModel, ModelError, type ModelLimits } from "../model.ts";
import { lookUpModel, type ModelFacts } from "./catalogue.ts";
import { askService, describeAddress, resolveProtocol, type ServiceAccount } from "./check-access.ts";
import { createDemoModel } from "./demo/demo.ts";
import { findConflict, type RequestSettings } from "./request-settings.ts";
import type { RetryPolicy } from "./retry.ts";

/** A model by its provider, with the account to use it. */
export type ModelAccount = { provider: "demo" } | ServiceAccount;

export interface OpenOptions {
  retry?: Partial<RetryPolicy>;
  demo?: { scripts?: string | undefined; stepDelayMs?: number | undefined };
  /** What the operator configured for the model; overrides the service and the catalogue. */
  limits?: Partial<ModelLimits>;
  /** What the operator wants in every request. */
  settings?: RequestSettings;
  /** How long the service may take to describe a model, in milliseconds. Default 5,000. */
  askMs?: number;
}

/**
 * Opens a model and asks its service about it. What the service does not answer comes from the catalogue.
 *
 * @throws ModelError `not-found` or `auth` when the service says that it has no such model or refuses the key,
 * `invalid-request` when it would refuse every request with these settings
 */
export async function openModel(account: ModelAccount, options: OpenOptions = {}): Promise<LanguageModel> {
  const { retry = {}, settings = {} } = options;
  if (!("model" in account)) {
    const { scripts, stepDelayMs } = options.demo ?? {};
    return createDemoModel({
      ...(scripts !== undefined && { scriptsDir: scripts }),
      ...(stepDelayMs !== undefined && { stepDelayMs }),
    });
  }
  const { provider, model, apiKey, headers } = account;
  const baseUrl = describeAddress(account);
  const facts = await factsOf(account, options);
  const conflict = findSettingsConflict(account, settings, facts);
  if (conflict) throw new ModelError("invalid-request", conflict, { attempts: 0 });
  const { adaptiveThinking, ...limits } = facts;
  const common = { provider, model, apiKey, baseUrl, headers, limits, settings, retry };
  switch (resolveProtocol(account)) {
    case "anthropic":
      return (await import("./anthropic/anthropic.ts")).createAnthropicModel({ ...common, adaptiveThinking });
    case "openai-chat":
      return (await import("./openai/chat.ts")).createOpenAIChatModel(common);
    case "openai-responses":
      return (await import("./openai/responses.ts")).createOpenAIResponsesModel(common);
  }
}

/** Why the model's service would refuse every request with these settings, as far as is known; see `findConflict`. */
export function findSettingsConflict(
  account: ServiceAccount,
  settings: RequestSettings,
  facts = lookUpModel(`${account.provider}/${account.model}`),
): string | undefined {
  const { provider, model, baseUrl } = account;
  const protocol = resolveProtocol(account) === "anthropic" ? "anthropic" : "openai";
  return findConflict({ name: `${provider}/${model}`, protocol, baseUrl, settings, facts });
}

async function factsOf(account: ServiceAccount, { limits, askMs = 5_000 }: OpenOptions): Promise<ModelFacts> {
  const known = lookUpModel(`${account.provider}/${account.model}`);
  const asked = await askService(account, AbortSignal.timeout(askMs));
  if (asked.ok) return { ...known, ...asked.facts, ...limits };
  if (asked.refusal) throw asked.refusal;
  // Compatible servers often have no such endpoint; the first real call reports an unreachable one.
  return { ...known, ...limits };
}
