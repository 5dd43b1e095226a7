import { listWatched } from "../../app/channel-watch.ts";
import type { CommandContext } from "../../app/command-context.ts";
import type { Finding } from "../../chat/adapter.ts";
import { findClosedDiscord } from "../../config/access.ts";

/** What the Slack app lacks, where there is one. */
export async function checkSlackApp({
  config: { environment, settings },
}: CommandContext): Promise<Finding[]> {
  const { SLACK_BOT_TOKEN, SLACK_APP_TOKEN, SLACK_CLIENT_ID, SLACK_API_URL } = environment;
  if (!SLACK_BOT_TOKEN && !SLACK_APP_TOKEN && !SLACK_CLIENT_ID) {
    const text = "not used: `heddle setup slack` connects it";
    return [{ level: "note", text }];
  }
  const [{ checkSlack }, { resolveTransport, resolveTeams }] = await Promise.all([
    import("../../adapters/slack/installation/check.ts"),
    import("../../adapters/slack/installation/resolve-teams.ts"),
  ]);
  return await checkSlack({
    teams: resolveTeams(environment, settings.slack.workspaces),
    events: resolveTransport(environment, settings.slack.http),
    ...(SLACK_API_URL && { apiUrl: SLACK_API_URL }),
    watched: listWatched(settings, "slack"),
  });
}

/** The same of the Discord bot. */
export async function checkDiscordApp({
  config: { environment, settings },
}: CommandContext): Promise<Finding[]> {
  const { DISCORD_TOKEN, DISCORD_API_URL } = environment;
  if (!DISCORD_TOKEN) {
    return [{ level: "note", text: "not used: `heddle setup discord` connects it" }];
  }
  const { checkDiscord } = await import("../../adapters/discord/installation/check.ts");
  return await checkDiscord({
    token: DISCORD_TOKEN,
    ...(DISCORD_API_URL && { apiUrl: DISCORD_API_URL }),
    messageContent: settings.discord.messageContent,
    closed: findClosedDiscord(settings.access),
    watched: listWatched(settings, "discord"),
  });
}
