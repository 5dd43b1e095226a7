/**
 * Slack's message text turned into what people see: mentions, links and entities as plain text.
 * https://docs.slack.dev/messaging/formatting-message-text
 */

import { isAboutPeople } from "../../../chat/thread-command.ts";

/** Whether the text mentions that user. */
export function mentionsUser(text: string, userId: string): boolean {
  return text.includes(`<@${userId}>`) || text.includes(`<@${userId}|`);
}

/**
 * The text without mentions of the bot at its beginning and end.
 *
 * @param nameOf the name of a user where it is known; otherwise the id is shown
 */
export function readableText(
  text: string,
  botId: string,
  nameOf: (userId: string) => string | undefined,
): string {
  const mention = `<@${botId}(?:\\|[^<>]*)?>`;
  const bare = text
    .replace(new RegExp(`^\\s*(?:${mention}[\\s,:;]*)+`), "")
    // Looking back, so that a long gap is not read again from each of its blanks.
    .replace(new RegExp(`(?<![\\s,])(?:[\\s,]*${mention})+\\s*$`), "");
  if (isAboutPeople(bare)) return bare.trim();
  // One pass, so that an entity that somebody wrote out ("&amp;lt;") is not decoded twice.
  return bare.replaceAll(/<([^<>\n]+)>|&(lt|gt|amp);/g, (_match, token?: string, entity?: string) =>
    token === undefined ? ({ lt: "<", gt: ">", amp: "&" }[entity ?? ""] ?? "") : readableToken(token, nameOf),
  );
}

function readableToken(token: string, nameOf: (userId: string) => string | undefined): string {
  const bar = token.indexOf("|");
  const target = decode(bar === -1 ? token : token.slice(0, bar));
  const label = bar === -1 ? "" : decode(token.slice(bar + 1));
  if (target.startsWith("@")) return `@${nameOf(target.slice(1)) ?? (label || target.slice(1))}`;
  if (target.startsWith("#")) return `#${label || target.slice(1)}`;
  if (target.startsWith("!date^")) return label || target;
  if (target.startsWith("!")) return label || `@${target.slice(1)}`;
  // Slack adds the scheme to what people typed as "example.com".
  if (label === "" || target.endsWith(label)) return label === "" ? target : label;
  return `${label} (${target})`;
}

function decode(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
