import { loadConfig } from "../config/load.ts";
import { UsageError } from "./context.ts";

/** Prints what a platform's admin pastes, or opens, to create or invite the app. */
export async function printManifest(platform: "slack" | "discord", url?: string): Promise<number> {
  process.stdout.write(`${await manifestOf(platform, url)}\n`);
  return 0;
}

async function manifestOf(platform: "slack" | "discord", url: string | undefined): Promise<string> {
  switch (platform) {
    case "slack": {
      if (url !== undefined && URL.parse(url)?.protocol !== "https:") {
        throw new UsageError(`--url ${url}: expected the https address at which Slack reaches Heddle.`);
      }
      const { slackManifest } = await import("../adapters/slack/installation/manifest.ts");
      return slackManifest(url === undefined ? {} : { url });
    }
    case "discord": {
      const { discordManifest } = await import("../adapters/discord/installation/manifest.ts");
      const { environment, settings } = loadConfig(process.env, process.cwd());
      return discordManifest({
        token: environment.DISCORD_TOKEN,
        messageContent: settings.discord.messageContent,
      });
    }
  }
}
