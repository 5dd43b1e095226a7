import type { Environment } from "./environment.ts";
import { ConfigError } from "./config-error.ts";

export type Provider = "anthropic" | "openai" | "minimax";

/** Which model to use, and with which account. */
export type ModelChoice =
  | { provider: "demo" }
  | { provider: Provider; model: string; apiKey: string; baseUrl: string | undefined };

const defaults: readonly { provider: Provider; model: string }[] = [
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
export function chooseModel(environment: Environment, fromSettings: string | undefined): ModelChoice {
  const named = environment.HEDDLE_MODEL ?? fromSettings;
  if (named) return namedModel(environment, named);
  for (const { provider, model } of defaults) {
    const apiKey = environment[account[provider].key];
    if (apiKey) return { provider, model, apiKey, baseUrl: environment[account[provider].baseUrl] };
  }
  return { provider: "demo" };
}

/** @throws ConfigError when the model's key is missing */
export function namedModel(environment: Environment, named: string): ModelChoice {
  if (named === "demo") return { provider: "demo" };
  const slash = named.indexOf("/");
  const provider = named.slice(0, slash) as Provider; // The schema's pattern admits only these.
  const { key, baseUrl } = account[provider];
  const apiKey = environment[key];
  if (!apiKey) {
    throw new ConfigError(
      `The model ${named} needs ${key}; set it in the environment or in .env, or use HEDDLE_MODEL=demo.`,
    );
  }
  return { provider, model: named.slice(slash + 1), apiKey, baseUrl: environment[baseUrl] };
}
