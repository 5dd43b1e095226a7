/** Discord's message text turned into what people see. https://docs.discord.com/developers/reference#message-formatting */

import { isAboutPeople } from "../../../chat/thread-command.ts";

/**
 * The text without mentions of the bot at its beginning and end, and with the names of people and emoji.
 *
 * @param nameOf the name of a user where it is known; otherwise the id is shown
 */
export function readableText(
  text: string,
  botId: string,
  nameOf: (userId: string) => string | undefined,
): string {
  const mention = `<@!?${botId}>`;
  const bare = text
    .replace(new RegExp(`^\\s*(?:${mention}[\\s,:;]*)+`), "")
    // Looking back, so that a long gap is not read again from each of its blanks.
    .replace(new RegExp(`(?<![\\s,])(?:[\\s,]*${mention})+\\s*$`), "");
  if (isAboutPeople(bare)) return bare.trim();
  return bare
    .replaceAll(/<@!?(\d+)>/g, (_match, id: string) => `@${nameOf(id) ?? id}`)
    .replaceAll(/<a?:(\w+):\d+>/g, ":$1:");
}

/** Names of reactions, so that 🛑 is the same with and without the mark that asks for colour. */
export function readEmojiName(name: string): string {
  return name.replaceAll("\uFE0F", "");
}
