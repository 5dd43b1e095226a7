import { type LanguageModel, ModelError, type ModelLimits } from "../model.ts";
import { lookUpModel, type ModelFacts } from "./catalogue.ts";
import { askService, describeAddress, resolveProtocol, type ServiceAccount } from "./check-access.ts";
import { createDemoModel } from "./demo/demo.ts";
import { findConflict, type RequestSettings } from "./request-settings.ts";
import { isAnthropic, isLocal, isOpenAI } from "./endpoints.ts";
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
  const { adaptiveThinking, ...known } = settings.cacheTtl === "1h" ? priceHourWrites(facts, options) : facts;
  const limits = { ...findOwnSearch(account), ...known };
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

/**
 * The search of a model's own service. At other addresses it is what the operator says.
 * https://platform.claude.com/docs/en/about-claude/pricing, https://developers.openai.com/api/docs/pricing: $10 for 1,000
 */
function findOwnSearch(account: ServiceAccount): Pick<ModelLimits, "webSearch"> {
  const address = describeAddress(account);
  const protocol = resolveProtocol(account);
  const isOwn =
    protocol === "anthropic"
      ? address === undefined || isAnthropic(address)
      : protocol === "openai-responses" && (address === undefined || isOpenAI(address));
  return isOwn ? { webSearch: { price: 0.01 } } : {};
}

/**
 * Writing for an hour costs twice the input, in place of 1.25 times
 * (https://platform.claude.com/docs/en/build-with-claude/prompt-caching). An operator's own price stands.
 */
function priceHourWrites(facts: ModelFacts, { limits }: OpenOptions): ModelFacts {
  const { price } = facts;
  if (!price || limits?.price) return facts;
  const { longPrompt } = price;
  return {
    ...facts,
    price: {
      ...price,
      cacheWrite: price.input * 2,
      ...(longPrompt && { longPrompt: { ...longPrompt, cacheWrite: longPrompt.input * 2 } }),
    },
  };
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
  // Compatible servers often have no such endpoint; the first real call reports an unreachable one.
  if (!asked.ok && asked.refusal) throw asked.refusal;
  const told = asked.ok ? asked.facts : {};
  const free = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  return {
    ...known,
    ...(!known.price && isLocal(describeAddress(account) ?? "") && { price: free }),
    ...told,
    // Servers such as vLLM refuse a prompt that leaves no room for the longest reply, so that it cannot be the window.
    ...(told.contextTokens && { maxOutputTokens: Math.min(known.maxOutputTokens, told.contextTokens >> 2) }),
    ...(told.maxOutputTokens && { maxOutputTokens: told.maxOutputTokens }),
    ...limits,
  };
}
