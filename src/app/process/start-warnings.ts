import { checkAccess } from "../../agent/llm/check-access.ts";
import { type Config, listUnknownVariables } from "../../config/load.ts";
import { namedModel } from "../../config/model-choice.ts";
import { listModelNames } from "../models/models.ts";

/** How long a service may take to answer, ms. */
const patienceMs = 10_000;

/**
 * What an operator should know before the first message, a sentence each: variables that are none of ours, and models
 * whose service does not answer. To be called when the process serves: nothing waits for it. Never rejects.
 */
export async function findStartWarnings(config: Config, signal: AbortSignal): Promise<string[]> {
  const strange = listUnknownVariables(config.variables).map(
    (name) => `${name} is set, but Heddle has no such setting: .env.example has the names.`,
  );
  if (!config.settings.checkModelsAtStart) return strange;
  const names = new Set([...listModelNames(config), ...config.settings.fallbackModels]);
  const soon = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
  const models = await Promise.all([...names].map((name) => warnOfModel(config, name, soon)));
  // What a process that ends has not heard of says nothing about the service.
  return [...strange, ...(signal.aborted ? [] : models.flat())];
}

async function warnOfModel(config: Config, name: string, signal: AbortSignal): Promise<string[]> {
  try {
    const choice = namedModel(config, name);
    if (!("model" in choice)) return [];
    const access = await checkAccess(choice, signal);
    return "message" in access ? [`${name} cannot answer at the moment: ${access.message}`] : [];
  } catch {
    // It is named where it is used, and the first call of it tells more.
    return [];
  }
}
