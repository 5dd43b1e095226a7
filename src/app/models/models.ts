import { createFallbackModel } from "../../agent/llm/fallback.ts";
import { describeAddress } from "../../agent/llm/check-access.ts";
import { lookUpModel } from "../../agent/llm/catalogue.ts";
import { type Effort, efforts, type LanguageModel } from "../../agent/model.ts";
import { openModel } from "../../agent/llm/open.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { ConfigError } from "../../config/config-error.ts";
import type { Config } from "../../config/load.ts";
import { chooseModel, type ModelChoice, namedModel } from "../../config/model-choice.ts";
import { findNearest } from "../../config/nearest.ts";
import type { Logger } from "../../telemetry/log.ts";
import { channelSettings, modelChoicesIn } from "../channel-settings.ts";
import { createModelFailures, type ModelFailures } from "./model-failures.ts";

export interface Models {
  /** Answers where nothing else is said, with the configured others to fall back on. */
  model: LanguageModel;
  /** Answers in that thread. @param chosen what somebody has chosen for it; counts only where it may be @param effort of each request */
  choose(thread: ThreadId, chosen: string | undefined, effort?: Effort): LanguageModel;
  /** Writes the summaries of long conversations. */
  summariser: LanguageModel;
  /** Plays the sub-agents. Absent where that is the model of their thread. */
  helper?: LanguageModel;
  /** Which of their calls failed lately. */
  failures: Pick<ModelFailures, "list">;
}

/**
 * Opens every model that the configuration names.
 *
 * @param now the settings that tell which of them a thread has; by default those of the configuration
 * @throws ConfigError when one has no key, ModelError when its service refuses the key or does not know it
 */
export async function openModels(
  config: Config,
  log: Pick<Logger, "warn">,
  now: () => Config["settings"] = () => config.settings,
): Promise<Models> {
  const { settings } = config;
  const { demo, retry, models } = settings;
  const open = (choice: ModelChoice) => {
    const configured = "model" in choice ? models[`${choice.provider}/${choice.model}`] : undefined;
    return openModel(choice, { demo, retry, ...(configured && splitConfigured(configured)) });
  };
  const openAll = (names: readonly string[]) =>
    Promise.all(names.map((name) => open(namedModel(config, name))));
  const failures = createModelFailures(Date.now);
  const fallingBack = (first: LanguageModel, others: readonly LanguageModel[]) =>
    createFallbackModel({
      models: [first, ...others],
      onFailure(name, error) {
        const { kind, attempts, detail, message } = error;
        log.warn({ model: name, kind, attempts, detail }, message);
        failures.note(name, error);
      },
      now: () => performance.now(),
    });

  const first = await open(chooseModel(config));
  const others = await openAll(settings.fallbackModels.filter((name) => name !== first.id));
  const model = fallingBack(first, others);
  const named = new Map([[model.id, model]]);
  const more = (await openAll([...otherNames(settings)].filter((name) => !named.has(name)))).map((extra) =>
    fallingBack(
      extra,
      [first, ...others].filter(({ id }) => id !== extra.id),
    ),
  );
  for (const extra of more) named.set(extra.id, extra);
  const choose: Models["choose"] = (thread, chosen, effort) => {
    const may = chosen !== undefined && modelChoicesIn(now(), thread).includes(chosen);
    const name = may ? chosen : channelSettings(now(), thread).model;
    const found = (name && named.get(name)) || model;
    return effort === undefined ? found : withEffort(found, effort);
  };
  const openSpecial = async (name: string | undefined) => {
    const [special] = await openAll(name === undefined ? [] : [name]);
    return special && fallingBack(special, [model]);
  };
  const [summariser = model, helper] = await Promise.all(
    [settings.summaryModel, settings.taskModel].map(openSpecial),
  );
  return { model, choose, summariser, ...(helper && { helper }), failures };
}

/** @throws ConfigError when one of the models that `openModels` opens has no key */
export function checkModelKeys(config: Config): void {
  chooseModel(config);
  for (const name of furtherModels(config.settings)) namedModel(config, name);
}

/** The names of the models that a channel may have, the one that answers by default first. */
export function listModelNames(config: Config): string[] {
  const choice = chooseModel(config);
  const first = "model" in choice ? `${choice.provider}/${choice.model}` : choice.provider;
  return [...new Set([first, ...otherNames(config.settings)])];
}

/** What models are opened from: where it is the same, they are. */
export function readModelSources({ environment, settings, variables }: Config): unknown {
  const { model, fallbackModels, summaryModel, taskModel, models, providers, retry, demo } = settings;
  return {
    ...{ model, fallbackModels, summaryModel, taskModel, models, providers, retry, demo },
    others: [...otherNames(settings)].toSorted(),
    // Keys and addresses of services, whichever they are called.
    ...{ variables, named: environment.HEDDLE_MODEL },
  };
}

/** The same model for each effort, always the same object: what is learnt about a model is kept by it. */
const byEffort = new WeakMap<LanguageModel, Map<Effort, LanguageModel>>();

function withEffort(model: LanguageModel, effort: Effort): LanguageModel {
  const known = byEffort.get(model) ?? new Map<Effort, LanguageModel>();
  byEffort.set(model, known);
  const { id, limits } = model;
  const found = known.get(effort) ?? {
    ...{ id, limits },
    stream: (request, signal) => model.stream({ ...request, effort }, signal),
  };
  known.set(effort, found);
  return found;
}

/** The models of a thread: the one that answers where nobody chooses, and those that people may choose. */
export function offerModels(config: Config, thread: ThreadId) {
  return {
    standard: findStandardModel(config, thread),
    choices: modelChoicesIn(config.settings, thread),
    efforts: (model: string) => lookUpModel(model).efforts ?? efforts,
    nearest: findNearest,
  };
}

function findStandardModel(config: Config, thread: ThreadId): string {
  const { environment, settings } = config;
  const named = channelSettings(settings, thread).model ?? environment.HEDDLE_MODEL ?? settings.model;
  if (named) return named;
  const choice = chooseModel(config);
  return "model" in choice ? `${choice.provider}/${choice.model}` : choice.provider;
}

/** Where the service of a model is; undefined is its provider's own, or that of a model that is not configured. */
export function findModelAddress(config: Config, name: string): string | undefined {
  if (!name.includes("/")) return undefined;
  try {
    const choice = namedModel(config, name);
    return "model" in choice ? describeAddress(choice) : undefined;
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

/** What is configured for a model, as what is known of it and what is asked of it. */
export function splitConfigured(configured: Config["settings"]["models"][string]) {
  const { effort, thinkingTokens, temperature, cacheTtl, serviceTier, headers, body, ...limits } = configured;
  return {
    limits,
    settings: {
      ...(effort !== undefined && { effort }),
      ...(thinkingTokens !== undefined && { thinkingTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(cacheTtl && { cacheTtl }),
      ...(serviceTier !== undefined && { serviceTier }),
      ...(headers && { headers }),
      ...(body && { body }),
    },
  };
}

/** The names of all models that the configuration uses besides the first one. */
export function furtherModels(settings: Config["settings"]): Set<string> {
  const { fallbackModels, summaryModel, taskModel } = settings;
  const special = [summaryModel, taskModel].filter((name) => name !== undefined);
  return new Set([...fallbackModels, ...special, ...otherNames(settings)]);
}

/** Models that only some threads use. */
function otherNames({ modelChoices, channels }: Config["settings"]): Set<string> {
  const inChannels = Object.values(channels).flatMap((channel) => [
    ...(channel.model ? [channel.model] : []),
    ...(channel.modelChoices ?? []),
  ]);
  return new Set([...modelChoices, ...inChannels]);
}
