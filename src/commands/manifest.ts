import { loadConfig } from "../config/load.ts";
import { UsageError } from "./setup.ts";

/** Prints what a platform's admin pastes to create the app. */
export async function command(args: string[]): Promise<number> {
  process.stdout.write(`${await manifestOf(args.length === 1 ? args[0] : undefined)}\n`);
  return 0;
}

async function manifestOf(platform: string | undefined): Promise<string> {
  switch (platform) {
    case "slack": {
      const { slackManifest } = await import("../adapters/slack/manifest.ts");
      return slackManifest();
    }
    case "discord": {
      const { discordManifest } = await import("../adapters/discord/manifest.ts");
      const { environment, settings } = loadConfig(process.env, process.cwd());
      return discordManifest({
        token: environment.DISCORD_TOKEN,
        messageContent: settings.discord.messageContent,
      });
    }
    default:
      throw new UsageError("Say which platform: heddle manifest slack, or heddle manifest discord.");
  }
}
