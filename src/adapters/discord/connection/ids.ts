import type { MessageRef, ThreadRef } from "../../../chat/threads.ts";

/**
 * Where things are on Discord, in the terms of the chat contracts.
 *
 * - Workspace: the server, or {@link directWorkspace}.
 * - Channel: the channel that people see in the list. A Discord thread belongs to its channel.
 * - Thread: a Discord thread. One that starts at a message has the id of that message, so its id is known before it
 *   exists. Where there can be no threads (direct messages, voice) the channel itself is the thread.
 * - Message: `<where>/<message>`, because Discord's API asks for the thread that a message is in, not its channel.
 */

/** The workspace of direct messages, which belong to no server. */
export const directWorkspace = "dm";

/** A place as Discord's API knows it: a channel or thread, and a message in it. */
export interface MessageLocation {
  where: string;
  message: string;
}

/** The ref of a message, with the channel that people see. */
export function messageRef(
  { workspace, channel }: Omit<ThreadRef, "thread" | "platform">,
  location: MessageLocation,
): MessageRef {
  return { platform: "discord", workspace, channel, message: `${location.where}/${location.message}` };
}

export function locateMessage(ref: MessageRef): MessageLocation {
  const [where, message] = ref.message.split("/");
  if (!where || !message)
    throw new Error(`"${ref.message}" is no message of Discord: expected channel/message.`);
  return { where, message };
}

/** Snowflakes count milliseconds since the beginning of 2015. https://docs.discord.com/developers/reference#snowflakes */
const epochMs = 1_420_070_400_000;

/** When the object with that id was created, ms since the epoch by Discord's clock. */
export function readTime(snowflake: string): number {
  return Number(BigInt(snowflake) >> 22n) + epochMs;
}

/** The smallest id that an object created at that time can have. */
export function toSnowflake(ms: number): string {
  return String(BigInt(Math.max(0, Math.floor(ms) - epochMs)) << 22n);
}

/** Orders ids by their time. */
export function compareByTime(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}
