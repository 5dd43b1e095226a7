import { parse } from "yaml";
import { loadConfig } from "../config/load.ts";
import { UsageError } from "./context.ts";

/** Prints what a platform's admin pastes, or opens, to create or invite the app. */
export async function printManifest(
  platform: "slack" | "discord",
  options: { url?: string; json?: true },
): Promise<number> {
  process.stdout.write(`${await manifestOf(platform, options)}\n`);
  return 0;
}

async function manifestOf(
  platform: "slack" | "discord",
  { url, json }: { url?: string; json?: true },
): Promise<string> {
  switch (platform) {
    case "slack": {
      if (url !== undefined && URL.parse(url)?.protocol !== "https:") {
        throw new UsageError(`--url ${url}: expected the https address at which Slack reaches Heddle.`);
      }
      const { slackManifest } = await import("../adapters/slack/installation/manifest.ts");
      const manifest = slackManifest(url === undefined ? {} : { url });
      return json ? JSON.stringify(parse(manifest)) : manifest;
    }
    case "discord": {
      const { discordManifest, formatDiscordManifest } = await import(
        "../adapters/discord/installation/manifest.ts"
      );
      const { environment, settings } = loadConfig(process.env, process.cwd());
      const manifest = discordManifest({
        token: environment.DISCORD_TOKEN,
        messageContent: settings.discord.messageContent,
      });
      return json ? JSON.stringify(manifest) : formatDiscordManifest(manifest);
    }
  }
}
