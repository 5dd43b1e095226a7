import { ConfigError } from "./config-error.ts";
import { findNearest } from "./nearest.ts";
import { knownProviders } from "./providers.ts";
import type { Settings } from "./schema.ts";

type ModelSettings = Pick<
  Settings,
  "model" | "fallbackModels" | "summaryModel" | "modelChoices" | "models" | "channels" | "providers"
>;

/** Splits `provider/model` at its first slash: the service's own name of a model may have more of them. */
export function splitModelName(name: string): { provider: string; model: string } {
  const slash = name.indexOf("/");
  return { provider: name.slice(0, slash), model: name.slice(slash + 1) };
}

/**
 * Refuses names of models whose provider there is not.
 *
 * @param fromEnvironment HEDDLE_MODEL
 * @throws ConfigError
 */
export function checkProviders(settings: ModelSettings, fromEnvironment: string | undefined): void {
  const known = [...new Set([...knownProviders, ...Object.keys(settings.providers)])];
  const faults = listNames(settings, fromEnvironment).flatMap(([place, name]) => {
    if (name === undefined || name === "demo") return [];
    const { provider } = splitModelName(name);
    if (known.includes(provider)) return [];
    const meant = findNearest(provider, known);
    const hint = meant ? ` Did you mean ${meant}?` : "";
    return `  ${place}: there is no provider ${provider}; there are ${known.join(", ")}, and providers in heddle.yaml adds more.${hint}`;
  });
  if (faults.length > 0) throw new ConfigError(`Configuration refused:\n${faults.join("\n")}`);
}

function listNames(settings: ModelSettings, fromEnvironment: string | undefined) {
  const { model, fallbackModels, summaryModel, modelChoices, models, channels } = settings;
  const each = (place: string, names: readonly string[] = []) =>
    names.map((name): [string, string] => [place, name]);
  return [
    ["HEDDLE_MODEL", fromEnvironment],
    ["model", model],
    ["summaryModel", summaryModel],
    ...each("fallbackModels", fallbackModels),
    ...each("modelChoices", modelChoices),
    ...each("models", Object.keys(models)),
    ...Object.entries(channels).flatMap(([id, channel]) => [
      [`channels.${id}.model`, channel.model] as const,
      ...each(`channels.${id}.modelChoices`, channel.modelChoices),
    ]),
  ] as const;
}
