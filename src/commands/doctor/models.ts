import { lookUpModel } from "../../agent/llm/catalogue.ts";
import { checkAccess, resolveProtocol } from "../../agent/llm/check-access.ts";
import { findSettingsConflict } from "../../agent/llm/open.ts";
import { findToolLimit } from "../../agent/llm/tool-limit.ts";
import type { CommandContext } from "../../app/command-context.ts";
import { furtherModels, splitConfigured } from "../../app/models/models.ts";
import type { Finding } from "../../chat/adapter.ts";
import type { Config } from "../../config/load.ts";
import { chooseModel, namedModel } from "../../config/model-choice.ts";
import { patienceMs } from "./check.ts";

/** Whether the services of the configured models take the key and have the model. */
export async function checkModels({ config }: CommandContext, signal: AbortSignal): Promise<Finding[]> {
  const { settings } = config;
  const first = chooseModel(config);
  if (!("model" in first)) {
    const text =
      "demo, which plays scripted tasks. For a real one put ANTHROPIC_API_KEY, OPENAI_API_KEY or MINIMAX_API_KEY into .env.";
    return [{ level: "warning", text }];
  }
  const name = `${first.provider}/${first.model}`;
  const names = new Set([name, ...furtherModels(settings)]);
  const soon = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
  return await Promise.all([...names].map((each) => checkModel(config, each, soon)));
}

async function checkModel(config: Config, name: string, signal: AbortSignal): Promise<Finding> {
  const choice = namedModel(config, name);
  if (!("model" in choice)) return { level: "ok", text: "demo" };
  const configured = config.settings.models[name];
  const conflict = configured && findSettingsConflict(choice, splitConfigured(configured).settings);
  if (conflict) return { level: "error", text: conflict };
  const access = await checkAccess(choice, signal);
  switch (access.kind) {
    case "granted":
      return { level: "ok", text: `${name}: its service takes the key and has the model` };
    case "unknown": {
      const text = `${name}: its service tells nothing about models; \`heddle run "Say hello"\` shows whether it works`;
      return { level: "note", text };
    }
    case "refused":
    case "unreachable":
      return { level: "error", text: `${name}: ${access.message}` };
  }
}

/** What is known of the configured models without asking their services. */
export function listModelLimits(config: Config) {
  const first = chooseModel(config);
  const names = "model" in first ? [`${first.provider}/${first.model}`] : [];
  return [...new Set([...names, ...furtherModels(config.settings)])].map((id) => {
    const choice = namedModel(config, id);
    const isOpenAI = "model" in choice && resolveProtocol(choice) !== "anthropic";
    const tools = isOpenAI ? findToolLimit(choice.baseUrl) : undefined;
    const limits = { ...lookUpModel(id), ...config.settings.models[id], ...(tools && { tools }) };
    return { id, limits };
  });
}
