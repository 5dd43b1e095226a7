import { createInterface } from "node:readline/promises";
import { furtherModels, splitConfigured } from "../../app/models/models.ts";
import type { CommandContext } from "../../app/command-context.ts";
import type { Finding } from "../../chat/adapter.ts";
import type { Config } from "../../config/load.ts";
import { chooseModel, namedModel } from "../../config/model-choice.ts";
import { tryModel } from "../../setup/try-model.ts";
import { UsageError } from "../usage-error.ts";
import type { Check } from "./check.ts";

/** How long a service may take to answer, in milliseconds. */
const patienceMs = 25_000;
/** More than that, so that the line says what did not answer. */
export const liveLimitMs = 30_000;

const platforms = ["slack", "discord"] as const;
type Platform = (typeof platforms)[number];

/** The channels of each platform that somebody has named. */
export type Destinations = Partial<Record<Platform, string[]>>;

/** Reads `slack:C012345` and `discord:80351110224678912`. @throws UsageError */
export function parseDestinations(posts: readonly string[]): Destinations {
  const destinations: Destinations = {};
  for (const post of posts) {
    const [name = "", channel = "", ...more] = post.split(":");
    const platform = platforms.find((known) => known === name);
    if (!platform || !/^[A-Za-z0-9]+$/.test(channel) || more.length > 0)
      throw new UsageError(`--post ${post}: expected slack:C012345 or discord:80351110224678912.`);
    (destinations[platform] ??= []).push(channel);
  }
  return destinations;
}

/** Asks at the terminal for the channels that nobody has named. */
export async function askDestinations(config: Config, named: Destinations): Promise<Destinations> {
  const open = platforms.filter((platform) => isConnected(config, platform) && !named[platform]);
  if (open.length === 0) return named;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const asked: string[] = [];
    for (const platform of open) {
      const title = platform === "slack" ? "Slack" : "Discord";
      const question = `Id of the ${title} channel that gets a test message (Enter: none): `;
      const channel = (await lines.question(question)).trim();
      if (channel) asked.push(`${platform}:${channel}`);
    }
    return { ...named, ...parseDestinations(asked) };
  } finally {
    lines.close();
  }
}

function isConnected({ environment }: Config, platform: Platform): boolean {
  return Boolean(platform === "slack" ? environment.SLACK_BOT_TOKEN : environment.DISCORD_TOKEN);
}

/** One request to each model, and one message to each named channel. */
export function createLiveChecks(destinations: Destinations): { what: string; run: Check }[] {
  return [
    { what: "model", run: tryModels },
    ...platforms.map((platform) => ({
      what: platform,
      run: ({ config }: CommandContext) => postTo(config, platform, destinations[platform]),
    })),
  ];
}

const tryModels: Check = async ({ config }, signal) => {
  const first = chooseModel(config);
  if (!("model" in first)) return [{ level: "note", text: "live: the demo model asks no service" }];
  const names = new Set([`${first.provider}/${first.model}`, ...furtherModels(config.settings)]);
  return await Promise.all(
    [...names].map(async (name): Promise<Finding> => {
      const choice = namedModel(config, name);
      if (!("model" in choice)) return { level: "note", text: "live: the demo model asks no service" };
      const configured = config.settings.models[name];
      const trial = await tryModel(choice, { patienceMs, signal }, configured && splitConfigured(configured));
      return trial.kind === "answered"
        ? {
            level: "ok",
            text: `live: ${name} answered “${trial.text}” in ${(trial.ms / 1_000).toFixed(1)} s`,
          }
        : { level: "error", text: `live: ${name}: ${trial.text}` };
    }),
  );
};

async function postTo(
  config: Config,
  platform: Platform,
  channels: readonly string[] = [],
): Promise<Finding[]> {
  if (channels.length > 0)
    return await Promise.all(channels.map((channel) => postTrialTo(config, platform, channel)));
  if (!isConnected(config, platform)) return [];
  const example = platform === "slack" ? "slack:C012345" : "discord:80351110224678912";
  return [{ level: "note", text: `live: nothing was posted; --post ${example} names a channel for that` }];
}

async function postTrialTo(config: Config, platform: Platform, channel: string): Promise<Finding> {
  const { SLACK_BOT_TOKEN, SLACK_API_URL, DISCORD_TOKEN, DISCORD_API_URL } = config.environment;
  const message = { channel, text: "This is a test message of `heddle doctor --live`." };
  if (platform === "slack" && SLACK_BOT_TOKEN) {
    const { postTrial } = await import("../../adapters/slack/installation/post-trial.ts");
    const options = { timeoutMs: patienceMs, ...(SLACK_API_URL && { apiUrl: SLACK_API_URL }) };
    return toLive(await postTrial(SLACK_BOT_TOKEN, message, options));
  }
  if (platform === "discord" && DISCORD_TOKEN) {
    const { postTrial } = await import("../../adapters/discord/installation/post-trial.ts");
    const access = {
      token: DISCORD_TOKEN,
      timeoutMs: patienceMs,
      ...(DISCORD_API_URL && { apiUrl: DISCORD_API_URL }),
    };
    return toLive(await postTrial(access, message));
  }
  const token = platform === "slack" ? "SLACK_BOT_TOKEN" : "DISCORD_TOKEN";
  return { level: "error", text: `live: nothing was posted to ${channel}: ${token} is not set` };
}

const toLive = ({ level, text }: Finding): Finding => ({ level, text: `live: ${text}` });
