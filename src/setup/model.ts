import { ConfigError } from "../config/config-error.ts";
import { chooseModel, defaultModels, namedModel } from "../config/model-choice.ts";
import { modelName } from "../config/values.ts";
import type { SetupContext, StepResult } from "./context.ts";
import { describeSecret } from "./dialog.ts";
import { describePasted, readPasted } from "./pasted.ts";
import { type ModelTrial, tryModel } from "./try-model.ts";

const keyPages: Record<string, string> = {
  anthropic: "https://platform.claude.com/settings/keys",
  openai: "https://platform.openai.com/api-keys",
  minimax: "https://platform.minimax.io",
};

const labels: Record<string, string> = {
  anthropic: "Anthropic (Claude)",
  openai: "OpenAI, or a service that speaks its protocol (OPENAI_BASE_URL)",
  minimax: "MiniMax",
};

/** Chooses a model, takes its key and tries it at once. */
export async function setUpModel(context: SetupContext): Promise<StepResult> {
  const { dialog } = context;
  const current = await tryCurrent(context);
  if (current) dialog.say(`  ${current.isWorking ? "✓" : "✗"} ${current.text}`);
  const choice = await dialog.choose(
    "model",
    "Which model should answer?",
    [
      ...(current ? [{ value: "keep", label: "Keep what is set" }] : []),
      ...defaultModels.map(({ provider }) => ({ value: provider, label: labels[provider] ?? provider })),
      { value: "demo", label: "None yet: the demo model, which plays scripts" },
      ...(current ? [{ value: "remove", label: "Remove the keys from .env" }] : []),
    ],
    { standard: current?.isWorking ? "keep" : "anthropic", unanswered: current ? "keep" : "demo" },
  );
  switch (choice) {
    case "keep":
      return current?.isWorking
        ? { state: "ready", text: current.text }
        : { state: "failed", text: current?.text ?? "There is no model." };
    case "demo":
      return await useDemo(context);
    case "remove":
      await context.save({
        HEDDLE_MODEL: undefined,
        ANTHROPIC_API_KEY: undefined,
        OPENAI_API_KEY: undefined,
        MINIMAX_API_KEY: undefined,
      });
      return { state: "skipped", text: "The keys are removed; the demo model plays scripts." };
    default:
      return await askForModel(context, choice);
  }
}

/** Named only where a model would be chosen otherwise: a key that is set later then counts. */
async function useDemo(context: SetupContext): Promise<StepResult> {
  await context.save({ HEDDLE_MODEL: undefined });
  if (!hasModel(context))
    return { state: "skipped", text: "The demo model plays scripts until a key is set." };
  await context.save({ HEDDLE_MODEL: "demo" });
  return { state: "skipped", text: "The demo model plays scripts, by HEDDLE_MODEL=demo; the keys stay." };
}

function hasModel(context: SetupContext): boolean {
  try {
    return "model" in chooseModel(context.config());
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return true;
  }
}

async function tryCurrent(context: SetupContext): Promise<{ isWorking: boolean; text: string } | undefined> {
  const config = context.config();
  const named = config.environment.HEDDLE_MODEL ?? config.settings.model;
  try {
    const choice = chooseModel(config);
    if (!("model" in choice)) return undefined;
    const name = `${choice.provider}/${choice.model}`;
    context.dialog.say(`  Trying ${name} with one small request …`);
    const trial = await tryModel(choice, context);
    return trial.kind === "answered"
      ? { isWorking: true, text: describeAnswer(name, trial) }
      : { isWorking: false, text: `${name}: ${trial.text}` };
  } catch (error) {
    context.signal.throwIfAborted();
    return {
      isWorking: false,
      text: `${named ?? "The model"}: ${error instanceof Error ? error.message : ""}`,
    };
  }
}

function describeAnswer(name: string, { text, ms }: Extract<ModelTrial, { kind: "answered" }>): string {
  return `${name} answered “${text}” in ${(ms / 1_000).toFixed(1)} s.`;
}

interface Entered {
  variable: string;
  key: string;
  name: string;
}

async function askForModel(context: SetupContext, provider: string): Promise<StepResult> {
  const { dialog } = context;
  dialog.say(`  Make a key at ${keyPages[provider] ?? "your service"} and paste it here; it is not shown.`);
  let key = await askKey(context, provider);
  if (!key) return { state: "skipped", text: "No key was entered." };
  let name = await askName(context, key.provider);
  for (;;) {
    const entered = { variable: `${key.provider.toUpperCase()}_API_KEY`, key: key.value, name };
    const trial = await tryEntered(context, entered);
    if (trial.kind === "answered") {
      await saveModel(context, entered);
      const text = describeAnswer(name, trial);
      dialog.say(`  ✓ ${text}`);
      return { state: "ready", text };
    }
    dialog.say(`  ✗ ${trial.text}`);
    if (trial.wrong === "key") {
      key = await askKey(context, provider);
      if (!key) return { state: "failed", text: trial.text };
    } else if (trial.wrong === "name") {
      name = await askName(context, key.provider);
    } else {
      const next = await askNext(context);
      if (next === "keep") await saveModel(context, entered);
      if (next !== "again") return { state: "failed", text: trial.text };
    }
  }
}

function askNext({ dialog }: SetupContext): Promise<string> {
  return dialog.choose(
    "model.next",
    "What next?",
    [
      { value: "again", label: "Try again" },
      { value: "keep", label: "Save it all the same" },
      { value: "skip", label: "Leave it out for now" },
    ],
    { standard: "again", unanswered: "skip" },
  );
}

async function askKey({ dialog }: SetupContext, provider: string) {
  let { value, kind } = readPasted(await dialog.ask("model.key", "Key", { secret: true }));
  // Slack's own forms are sure. Those of Discord are not: a key of MiniMax looks like a token of it.
  while (kind.startsWith("slack-")) {
    dialog.say(`  ✗ That is ${describePasted(kind)}.`);
    ({ value, kind } = readPasted(await dialog.ask("model.key", "Key", { secret: true })));
  }
  if (value === "") return undefined;
  // A key of OpenAI's form may be any service's; only Anthropic's own form is sure.
  const owner = kind === "anthropic-key" ? "anthropic" : provider;
  if (owner !== provider) dialog.say(`  That is ${describePasted(kind)}: taken as such.`);
  dialog.say(`  Key ${describeSecret(value)}`);
  return { provider: owner, value };
}

async function askName({ dialog }: SetupContext, provider: string): Promise<string> {
  const standard = defaultModels.find((each) => each.provider === provider)?.model ?? "";
  for (;;) {
    const said = await dialog.ask("model.name", "Model", { standard: `${provider}/${standard}` });
    const name = said.startsWith(`${provider}/`) ? said : `${provider}/${said}`;
    if (modelName.safeParse(name).success) return name;
    dialog.say(`  Expected a name such as ${provider}/${standard}.`);
  }
}

function tryEntered(context: SetupContext, { variable, key, name }: Entered): Promise<ModelTrial> {
  context.dialog.say("  Trying it with one small request …");
  const config = context.config();
  const changed = { [variable]: key };
  const choice = namedModel(
    {
      settings: config.settings,
      environment: { ...config.environment, ...changed },
      variables: { ...config.variables, ...changed },
    },
    name,
  );
  if (!("model" in choice)) throw new Error("The demo model needs no trial.");
  return tryModel(choice, context);
}

function saveModel(context: SetupContext, { variable, key, name }: Entered): Promise<void> {
  return context.save({ [variable]: key, HEDDLE_MODEL: name });
}
