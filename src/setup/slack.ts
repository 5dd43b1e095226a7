import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { slackManifest } from "../adapters/slack/installation/manifest.ts";
import {
  createSlackApp,
  iconFile,
  type TokenTrial,
  type TrialOptions,
  tryAppToken,
  tryBotToken,
} from "../adapters/slack/installation/try-tokens.ts";
import type { SetupContext, StepResult } from "./context.ts";
import { describeSecret } from "./dialog.ts";
import { describePasted, type PastedKind, readPasted } from "./pasted.ts";
import { configurationTokenSteps, describeForm, describeIcon, describeTokens } from "./slack-texts.ts";

/** The two tokens, and what Slack has said of each. */
interface Tokens {
  bot?: { value: string; description: string; appId: string | undefined };
  app?: { value: string; appId: string | undefined };
}

/** Makes or finds the app, takes its two tokens and tries them. */
export async function setUpSlack(context: SetupContext): Promise<StepResult> {
  const { dialog } = context;
  const { environment } = context.config();
  const isSet = Boolean(environment.SLACK_BOT_TOKEN ?? environment.SLACK_APP_TOKEN);
  if (!isSet && environment.SLACK_CLIENT_ID)
    return {
      state: "skipped",
      text: "Slack is set up with SLACK_CLIENT_ID, for several workspaces: docs/slack.md.",
    };
  const known = isSet ? await tryKnown(context) : {};
  const isReady = known.bot !== undefined && known.app !== undefined;
  const choice = await dialog.choose(
    "slack",
    isReady ? "Slack is set up." : "Should Heddle answer in Slack?",
    [
      ...(isReady ? [{ value: "keep", label: "Keep it" }] : []),
      { value: "form", label: "Make the app: open a form that is filled in, then paste two tokens" },
      { value: "create", label: "Let Heddle make the app, with a configuration token" },
      { value: "tokens", label: "I have an app: paste its tokens" },
      ...(isSet ? [{ value: "remove", label: "Remove the tokens from .env" }] : []),
      { value: "skip", label: "Not now" },
    ],
    { standard: isReady ? "keep" : "form", unanswered: isReady ? "keep" : "skip" },
  );
  switch (choice) {
    case "keep":
      return { state: "ready", text: `Slack: ${known.bot?.description}.` };
    case "skip":
      return { state: "skipped", text: "Slack is not connected." };
    case "remove":
      await context.save({ SLACK_BOT_TOKEN: undefined, SLACK_APP_TOKEN: undefined });
      return {
        state: "skipped",
        text: "Slack's tokens are removed; the app at Slack stays until you delete it.",
      };
    case "form":
      await showForm(context);
      break;
    case "create":
      if (!(await createApp(context))) return { state: "failed", text: "The Slack app was not made." };
      break;
  }
  // Whoever asks for a change of a working pair wants other tokens.
  return await takeTokens(context, isReady ? {} : known);
}

function trialOptions(context: SetupContext): TrialOptions {
  const { SLACK_API_URL } = context.config().environment;
  return { timeoutMs: context.patienceMs, ...(SLACK_API_URL && { apiUrl: SLACK_API_URL }) };
}

/** The tokens that are set, as far as they work. */
async function tryKnown(context: SetupContext): Promise<Tokens> {
  const { SLACK_BOT_TOKEN: bot, SLACK_APP_TOKEN: app } = context.config().environment;
  const tokens: Tokens = {};
  if (bot) await tryBot(context, tokens, bot);
  if (app) await tryApp(context, tokens, app);
  return tokens;
}

async function showForm(context: SetupContext): Promise<void> {
  const { dialog } = context;
  const manifest = slackManifest();
  const folder = context.config().dataDir;
  const file = join(folder, "slack-manifest.yaml");
  await mkdir(folder, { recursive: true, mode: 0o711 });
  await writeFile(file, `${manifest}\n`);
  dialog.copy(manifest);
  const query = new URLSearchParams({ new_app: "1", manifest_json: JSON.stringify(parse(manifest)) });
  const link = `https://api.slack.com/apps?${query.toString()}`;
  for (const line of describeForm(file, link, iconFile)) dialog.say(line);
}

/** With a configuration token, which is used once. */
async function createApp(context: SetupContext): Promise<boolean> {
  const { dialog } = context;
  for (const line of configurationTokenSteps) dialog.say(line);
  for (;;) {
    const { kind, value } = readPasted(
      await dialog.ask("slack.configurationToken", "Configuration token (xoxe.xoxp-…)", { secret: true }),
    );
    if (value === "") return false;
    if (kind !== "slack-configuration-token") {
      dialog.say(`  ✗ That is ${describePasted(kind)}: copy the Access Token, which begins with xoxe.xoxp-.`);
      continue;
    }
    const made = await createSlackApp(
      value,
      parse(slackManifest()) as Record<string, unknown>,
      trialOptions(context),
    );
    context.signal.throwIfAborted();
    if (!made.ok) {
      for (const problem of made.problems) dialog.say(`  ✗ ${problem}`);
      continue;
    }
    dialog.say(`  ✓ Slack has made the app ${made.appId}. Install it into your workspace at`);
    dialog.say(`    ${made.installUrl}`);
    for (const line of describeTokens("  Then:")) dialog.say(line);
    if (!made.hasIcon) for (const line of describeIcon(iconFile)) dialog.say(line);
    return true;
  }
}

/** Until both are there and belong together, or the person leaves. */
async function takeTokens(context: SetupContext, tokens: Tokens): Promise<StepResult> {
  const { dialog } = context;
  const asked = new Set<string>();
  let isRefused = false;
  for (;;) {
    const missing = !tokens.bot ? "bot" : !tokens.app ? "app" : undefined;
    if (missing) {
      const pasted = readPasted(await askToken(context, missing, asked));
      if (pasted.value === "") return leave(tokens, isRefused);
      const known = { ...tokens };
      await place(context, tokens, pasted.kind, pasted.value);
      isRefused = tokens.bot === known.bot && tokens.app === known.app;
      continue;
    }
    const { bot, app } = tokens;
    if (!bot || !app) continue;
    if (bot.appId && app.appId && bot.appId !== app.appId) {
      dialog.say(
        `  ✗ The tokens are of two apps (${bot.appId} and ${app.appId}): take both from one. Paste the other bot token or app-level token.`,
      );
      delete tokens.bot;
      delete tokens.app;
      continue;
    }
    await context.save({ SLACK_BOT_TOKEN: bot.value, SLACK_APP_TOKEN: app.value });
    return { state: "ready", text: `Slack: ${bot.description}.` };
  }
}

/** A file answers each question once, whichever of the tokens it holds there. */
function askToken({ dialog }: SetupContext, missing: "bot" | "app", asked: Set<string>): Promise<string> {
  const other = missing === "bot" ? "app" : "bot";
  const id = asked.has(missing) && !asked.has(other) ? other : missing;
  asked.add(id);
  const text = missing === "bot" ? "Bot token (xoxb-…)" : "App-level token (xapp-…)";
  return dialog.ask(id === "bot" ? "slack.botToken" : "slack.appToken", text, { secret: true });
}

function leave(tokens: Tokens, isRefused: boolean): StepResult {
  const got = tokens.bot ? "the bot token" : tokens.app ? "the app-level token" : undefined;
  if (!got && isRefused)
    return { state: "failed", text: "Slack is not connected: what was entered does not work." };
  if (!got) return { state: "skipped", text: "Slack is not connected." };
  const text = `Slack waits for the other token; ${got} is right and was not saved, because Heddle does not start with one of the two. Come back to this step (\`heddle setup slack\`) when you have it.`;
  return { state: "waiting", text };
}

/** Puts a token where it belongs, whichever was asked for. */
async function place(context: SetupContext, tokens: Tokens, kind: PastedKind, value: string): Promise<void> {
  const { dialog } = context;
  switch (kind) {
    case "slack-bot-token":
      if (tokens.bot) dialog.say("  That is another bot token: it takes the place of the first.");
      return await tryBot(context, tokens, value);
    case "slack-app-token":
      if (!tokens.bot) dialog.say("  That is the app-level token: taken as such.");
      return await tryApp(context, tokens, value);
    default:
      dialog.say(`  ✗ That is ${describePasted(kind)}.`);
  }
}

async function tryBot(context: SetupContext, tokens: Tokens, value: string): Promise<void> {
  const { dialog } = context;
  for (;;) {
    const trial = await tryBotToken(value, trialOptions(context));
    context.signal.throwIfAborted();
    if (trial.ok) {
      dialog.say(`  ✓ ${trial.description} (bot token ${describeSecret(value)})`);
      if (trial.warning) dialog.say(`  ! ${trial.warning}`);
      if (trial.warning && (await asksAgain(context, "Take it as it is", "keep"))) continue;
      tokens.bot = { value, description: trial.description, appId: trial.appId };
      return;
    }
    if (!(await isWorthAnother(context, trial))) return;
  }
}

async function tryApp(context: SetupContext, tokens: Tokens, value: string): Promise<void> {
  const { dialog } = context;
  for (;;) {
    const trial = await tryAppToken(value, trialOptions(context));
    context.signal.throwIfAborted();
    if (trial.ok) {
      dialog.say(`  ✓ Slack offers a connection (app-level token ${describeSecret(value)})`);
      tokens.app = { value, appId: trial.appId };
      return;
    }
    if (!(await isWorthAnother(context, trial))) return;
  }
}

async function isWorthAnother(
  context: SetupContext,
  trial: Extract<TokenTrial<object>, { ok: false }>,
): Promise<boolean> {
  context.dialog.say(`  ✗ ${trial.problem}`);
  return !trial.isReached && (await asksAgain(context, "Leave it", "skip"));
}

async function asksAgain({ dialog }: SetupContext, otherwise: string, unanswered: string): Promise<boolean> {
  const choices = [
    { value: "again", label: "Try again" },
    { value: unanswered, label: otherwise },
  ];
  return (
    (await dialog.choose("slack.next", "What next?", choices, { standard: "again", unanswered })) === "again"
  );
}
