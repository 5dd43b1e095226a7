import { ConfigError } from "./config-error.ts";
import type { Config } from "./load.ts";
import { splitModelName } from "./model-names.ts";
import { isKnownProvider, type KnownProvider, type Providers } from "./providers.ts";

/** Which model to use, and with which account. */
export type ModelChoice =
  | { provider: "demo" }
  | {
      /** Of the settings, or one that the environment describes. */
      provider: string;
      model: string;
      protocol: Providers[string]["protocol"];
      /** Absent where the service needs none. */
      apiKey: string | undefined;
      baseUrl: string | undefined;
      headers: Readonly<Record<string, string>> | undefined;
      /** Where the operator finds the key and the address, for messages. */
      where: { key: string; baseUrl: string };
    };

type ModelConfig = Pick<Config, "environment" | "settings" | "variables">;

/** Taken where a provider's key is set and no model is named, in this order. */
export const defaultModels: readonly { provider: KnownProvider; model: string }[] = [
  { provider: "anthropic", model: "claude-sonnet-5-5" },
  { provider: "openai", model: "gpt-6-astra" },
  { provider: "minimax", model: "MiniMax-M2.5" },
];

const account = {
  anthropic: { key: "ANTHROPIC_API_KEY", baseUrl: "ANTHROPIC_BASE_URL" },
  openai: { key: "OPENAI_API_KEY", baseUrl: "OPENAI_BASE_URL" },
  minimax: { key: "MINIMAX_API_KEY", baseUrl: "MINIMAX_BASE_URL" },
} as const;

/**
 * The environment's model, else the settings', else the first provider that has a key, else the demo.
 *
 * @throws ConfigError when the named model's key is missing
 */
export function chooseModel(config: ModelConfig): ModelChoice {
  const named = config.environment.HEDDLE_MODEL ?? config.settings.model;
  if (named) return namedModel(config, named);
  for (const { provider, model } of defaultModels) {
    if (config.environment[account[provider].key]) return namedModel(config, `${provider}/${model}`);
  }
  return { provider: "demo" };
}

/** @throws ConfigError when the model's key is missing, or there is no such provider */
export function namedModel({ environment, settings, variables }: ModelConfig, named: string): ModelChoice {
  if (named === "demo") return { provider: "demo" };
  const { provider, model } = splitModelName(named);
  const known = isKnownProvider(provider) ? account[provider] : undefined;
  const entry = settings.providers[provider] ?? (known && {});
  if (!entry) {
    throw new ConfigError(`The model ${named} has a provider that providers in heddle.yaml does not name.`);
  }
  const key = entry.keyVariable ?? known?.key;
  const setting = `providers.${provider}`;
  return {
    ...{ provider, model, protocol: entry.protocol, headers: entry.headers },
    where: {
      key: key ?? `${setting}.keyVariable`,
      baseUrl: (!entry.baseUrl && known?.baseUrl) || `${setting}.baseUrl`,
    },
    apiKey: key === undefined ? undefined : findKey(variables, key, named),
    baseUrl: entry.baseUrl ?? (known && environment[known.baseUrl]),
  };
}

function findKey(variables: ModelConfig["variables"], key: string, named: string): string {
  const found = variables[key];
  if (found) return found;
  throw new ConfigError(
    `The model ${named} needs ${key}; set it in the environment or in .env, or use HEDDLE_MODEL=demo.`,
  );
}
