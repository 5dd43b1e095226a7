import { findClosedDiscord } from "../../config/access.ts";
import type { Config } from "../../config/load.ts";

/** Why nothing may arrive from a platform. */
export interface SilenceReasons {
  /** What the platform itself tells, with what to do: a sentence for each. */
  found: string[];
  /** What it cannot tell. */
  unseen: string;
}

const unseenAtDiscord =
  "May the bot see that channel (Edit Channel → Permissions)? Is it the server to which it was invited? Mention the bot itself, and not a role of the same name.";

/** Asks a platform, without connecting to it. */
export async function findReasonsOfSilence(
  platform: string,
  { environment, settings }: Config,
): Promise<SilenceReasons> {
  if (platform === "slack") {
    const [silence, { resolveTransport, resolveTeams }] = await Promise.all([
      import("../../adapters/slack/installation/silence.ts"),
      import("../../adapters/slack/installation/resolve-teams.ts"),
    ]);
    const found = await silence.findReasonsOfSilence({
      teams: resolveTeams(environment, settings.slack.workspaces),
      events: resolveTransport(environment, settings.slack.http),
      ...(environment.SLACK_API_URL && { apiUrl: environment.SLACK_API_URL }),
    });
    return { found, unseen: silence.unseenReasonsAtSlack };
  }
  const { checkDiscord } = await import("../../adapters/discord/installation/check.ts");
  const findings = await checkDiscord({
    token: environment.DISCORD_TOKEN ?? "",
    ...(environment.DISCORD_API_URL && { apiUrl: environment.DISCORD_API_URL }),
    messageContent: settings.discord.messageContent,
  });
  const closed = findClosedDiscord(settings.access);
  const told = findings.flatMap(({ level, text }) => (["error", "warning"].includes(level) ? [text] : []));
  return { found: [...told, ...(closed === undefined ? [] : [closed])], unseen: unseenAtDiscord };
}
