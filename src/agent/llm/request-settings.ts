import { type Effort, type ModelLimits, efforts } from "../model.ts";
import type { ModelFacts } from "./catalogue.ts";
import { isOpenAI, type WireProtocol } from "./endpoints.ts";

/** What the operator wants in every request to a model. What is absent is not sent, so the service's default counts. */
export interface RequestSettings {
  effort?: Effort;
  /** Tokens that the model may think, for those of Anthropic's protocol that have such a budget. */
  thinkingTokens?: number;
  temperature?: number;
  serviceTier?: string;
  /** How long Anthropic's service keeps what it has cached. Its own default is five minutes. */
  cacheTtl?: "5m" | "1h";
  /** Sent besides the protocol's own. */
  headers?: Readonly<Record<string, string>>;
  /** Fields put beside the protocol's own, in place of one of the same name. */
  body?: Readonly<Record<string, unknown>>;
}

/** What a model is asked with; see {@link findConflict}. */
interface Asked {
  /** `provider/model`. */
  name: string;
  protocol: WireProtocol;
  baseUrl: string | undefined;
  settings: RequestSettings;
  facts: ModelFacts;
}

/** Values of `service_tier` (the SDKs' types: `MessageCreateParamsBase`, `ChatCompletionCreateParamsBase`). */
const serviceTiers = {
  anthropic: ["auto", "standard_only"],
  openai: ["auto", "default", "flex", "scale", "priority", "fast"],
};

/** Anthropic's levels, where the service does not say which of them a model takes (`OutputConfig` of the SDK). */
const anthropicEfforts: readonly Effort[] = ["low", "medium", "high", "xhigh", "max"];

/** Fields that each request fills by itself; another value in them would break the conversation. */
const ownFields = ["model", "messages", "input", "stream", "system", "instructions", "tools"];

/**
 * Why a service would refuse every request with these settings: one sentence with the way out. Undefined when nothing
 * known speaks against them.
 */
export function findConflict(asked: Asked): string | undefined {
  const { name, settings } = asked;
  const field = Object.keys(settings.body ?? {}).find((key) => ownFields.includes(key));
  const why =
    field === undefined
      ? asked.protocol === "anthropic"
        ? findAnthropicConflict(asked)
        : findOpenAIConflict(asked)
      : `body.${field} is Heddle's own field: take it out.`;
  return why && `models.${name}: ${why}`;
}

/**
 * https://platform.claude.com/docs/en/build-with-claude/extended-thinking: thinking goes with no temperature but 1, its
 * budget is 1,024 at least and below `max_tokens`. Models from 4.7 on take neither temperature nor budget
 * (.../about-claude/models/migration-guide); those of 4.6 take both only without adaptive thinking, which is asked for.
 */
function findAnthropicConflict({ settings, facts }: Asked): string | undefined {
  const { effort, thinkingTokens, temperature, serviceTier } = settings;
  const levels = facts.efforts ?? anthropicEfforts;
  if (effort !== undefined && !levels.includes(effort)) return refuseEffort(effort, levels);
  if (thinkingTokens !== undefined && facts.adaptiveThinking) {
    return "this model decides itself how much it thinks and takes no thinkingTokens: set effort instead.";
  }
  if (thinkingTokens !== undefined && thinkingTokens >= facts.maxOutputTokens) {
    return `thinkingTokens must be less than the ${facts.maxOutputTokens} tokens of the longest reply.`;
  }
  if (temperature !== undefined && (facts.adaptiveThinking || thinkingTokens !== undefined)) {
    return "the service takes no temperature from a model that thinks: take temperature out.";
  }
  if (temperature !== undefined && temperature > 1) return "expected a temperature from 0 to 1.";
  return refuseTier(serviceTier, serviceTiers.anthropic);
}

/** https://developers.openai.com/api/docs/guides/reasoning: reasoning models take an effort and no temperature. */
function findOpenAIConflict({ name, baseUrl, settings }: Asked): string | undefined {
  const { effort, thinkingTokens, temperature, serviceTier, cacheTtl } = settings;
  if (cacheTtl !== undefined) return "OpenAI's protocols have no cacheTtl: take it out.";
  if (thinkingTokens !== undefined) {
    return "OpenAI's protocols have no thinkingTokens: set effort instead.";
  }
  // What other services take is theirs to say.
  if (baseUrl !== undefined && !isOpenAI(baseUrl)) return undefined;
  const reasons = isReasoningModel(name.slice(name.indexOf("/") + 1));
  if (temperature !== undefined && reasons && effort !== "none") {
    return "the service takes no temperature from a model that reasons: take temperature out, or set effort: none.";
  }
  if (effort !== undefined && !reasons) return "this model does not reason: take effort out.";
  return refuseTier(serviceTier, serviceTiers.openai);
}

/** OpenAI's older models do not reason, and refuse to be asked for it. */
export function isReasoningModel(model: string): boolean {
  return !/^(ft:)?(gpt-[34]|chatgpt)|-chat-latest$/.test(model);
}

function refuseEffort(effort: Effort, levels: readonly Effort[]): string {
  return levels.length === 0
    ? "this model takes no effort: take it out."
    : `this model takes no effort ${effort}: choose one of ${levels.join(", ")}.`;
}

function refuseTier(tier: string | undefined, known: readonly string[]): string | undefined {
  return tier === undefined || known.includes(tier)
    ? undefined
    : `the service knows no serviceTier ${tier}: choose one of ${known.join(", ")}.`;
}

/** The effort of a request: its own if the model takes that, else what the operator has set. */
export function findEffort(
  requested: Effort | undefined,
  { efforts: known = efforts }: ModelLimits,
  { effort }: RequestSettings,
): Effort | undefined {
  return requested !== undefined && known.includes(requested) ? requested : effort;
}
