import type { WebClient } from "@slack/web-api";
import type { Finding } from "../../../chat/adapter.ts";
import { refusalCode } from "../connection/web.ts";

/** A channel whose messages are to be heard also without a mention. */
export interface WatchedChannel {
  workspace: string;
  channel: string;
}

/**
 * Checks whether Slack tells the bot what is said in these channels: it does in those that the bot is in, to an app with
 * the events `message.channels` and `message.groups`. https://docs.slack.dev/reference/events/message.channels
 */
export async function checkWatchedChannels(
  client: WebClient,
  teamId: string,
  watched: readonly WatchedChannel[],
): Promise<Finding[]> {
  return await Promise.all(watched.map((place) => checkChannel(client, teamId, place)));
}

async function checkChannel(
  client: WebClient,
  teamId: string,
  { workspace, channel }: WatchedChannel,
): Promise<Finding> {
  const setting = `channels.slack:${workspace}:${channel}.watch`;
  if (workspace !== teamId)
    return { level: "warning", text: `${setting} hears nothing: the bot token belongs to ${teamId}.` };
  try {
    const { channel: found } = await client.conversations.info({ channel });
    if (found?.is_member) return { level: "ok", text: `#${found.name} is watched, and the bot is in it` };
    return {
      level: "warning",
      text: `${setting} hears nothing: invite the bot into #${found?.name ?? channel}.`,
    };
  } catch (error) {
    const why = refusalCode(error) ?? "no answer";
    return {
      level: "warning",
      text: `${setting}: Slack does not show the bot that channel (${why}): correct its id, or invite the bot into it.`,
    };
  }
}
