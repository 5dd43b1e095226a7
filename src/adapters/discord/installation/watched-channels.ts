import { type REST, Routes } from "discord.js";
import { z } from "zod";
import type { Finding } from "../../../chat/adapter.ts";
import { refusalCode } from "../connection/rest.ts";

/** A channel whose messages are to be heard also without a mention. */
export interface WatchedChannel {
  workspace: string;
  channel: string;
}

const channelSchema = z.object({ name: z.string(), guild_id: z.string().optional() });

/**
 * Checks whether Discord tells the bot what is said in these channels: it does in those that the bot sees, and with the
 * words only to an app with the Message Content intent.
 * https://docs.discord.com/developers/events/gateway#message-content-intent
 */
export async function checkWatchedChannels(
  rest: REST,
  { messageContent }: { messageContent: boolean },
  watched: readonly WatchedChannel[],
): Promise<Finding[]> {
  if (watched.length > 0 && !messageContent)
    return [
      {
        level: "error",
        text: "channels.*.watch hears nothing on Discord: without discord.messageContent the bot reads only messages that mention it.",
      },
    ];
  return await Promise.all(watched.map((place) => checkChannel(rest, place)));
}

async function checkChannel(rest: REST, { workspace, channel }: WatchedChannel): Promise<Finding> {
  const setting = `channels.discord:${workspace}:${channel}.watch`;
  try {
    const { name, guild_id } = channelSchema.parse(await rest.get(Routes.channel(channel)));
    if (guild_id === workspace) return { level: "ok", text: `#${name} is watched, and the bot sees it` };
    return { level: "warning", text: `${setting} hears nothing: #${name} is in the server ${guild_id}.` };
  } catch (error) {
    const why = refusalCode(error) ?? "no answer";
    return {
      level: "warning",
      text: `${setting}: Discord does not show the bot that channel (${why}): correct its id, or let the bot view it.`,
    };
  }
}
