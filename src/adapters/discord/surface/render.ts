import { MessageFlags, type RESTPostAPIChannelMessageJSONBody } from "discord.js";
import { cutText } from "../../../agent/text/text.ts";
import { keepWholeAnswer } from "../../../chat/markdown.ts";
import type { OutboundMessage } from "../../../chat/outbound.ts";
import { cutForDiscord, escapeForDiscord, splitForDiscord } from "../markdown/markdown.ts";
import { buttonRows } from "./buttons.ts";

/** Characters of one message. https://docs.discord.com/developers/resources/message#create-message */
export const messageChars = 2_000;
/** An answer of more than five messages is better read in a file. */
const mostChars = 5 * messageChars;
const footerChars = 400;

/** A message as Discord takes it for posting and for editing. */
export type RenderedMessage = Required<
  Pick<RESTPostAPIChannelMessageJSONBody, "content" | "flags" | "components" | "allowed_mentions">
>;

/** What a model writes must never notify people. */
export const nobody: Mentions = { parse: [] };
type Mentions = RESTPostAPIChannelMessageJSONBody["allowed_mentions"];
const maxMentions = 20;

/** The messages that show it; the footer and the buttons belong to the last one. */
export function renderParts(message: OutboundMessage): RenderedMessage[] {
  const users = listCalled(message);
  const below = callPeople(users, message) + smallPrint(message);
  const parts = splitForDiscord(message.markdown, messageChars - below.length);
  return parts.map((part, index) => {
    if (index < parts.length - 1) return render(message.kind, part, "", {});
    return allowMentions(users, render(message.kind, part, below, message));
  });
}

/** Ids of the people whom a new message calls. */
function listCalled({ mentions = [] }: OutboundMessage): string[] {
  return mentions.filter((id) => /^\d{1,20}$/.test(id)).slice(0, maxMentions);
}

function callPeople(users: readonly string[], { kind }: OutboundMessage): string {
  if (users.length === 0) return "";
  return `\n${users.map((id) => `<@${id}>`).join(" ")}${kind === "question" ? ", please decide." : ""}`;
}

function allowMentions(users: string[], message: RenderedMessage): RenderedMessage {
  return users.length > 0 ? { ...message, allowed_mentions: { parse: [], users } } : message;
}

/** The beginning of an answer that is too long for messages, and the file that belongs to it; undefined for others. */
export function renderFile(
  message: OutboundMessage,
): { beginning: RenderedMessage; file: { name: string; data: Buffer } } | undefined {
  const file = keepWholeAnswer(message.markdown, mostChars);
  if (!file) return undefined;
  const footer = [file.comment, message.footer].filter(Boolean).join(" · ");
  const users = listCalled(message);
  return {
    beginning: allowMentions(users, renderOne({ ...message, footer }, callPeople(users, message))),
    file: { name: file.name, data: file.data },
  };
}

/** The one message that shows it, cut if it is too long. @param above what stands above its small print */
export function renderOne(message: OutboundMessage, above = ""): RenderedMessage {
  const below = above + smallPrint(message);
  const text = cutForDiscord(message.markdown, messageChars - below.length);
  return render(message.kind, text, below, message);
}

function render(
  kind: OutboundMessage["kind"],
  text: string,
  small: string,
  buttons: Partial<OutboundMessage>,
): RenderedMessage {
  return {
    // Discord refuses an empty message.
    content: (text.trim() === "" ? "…" : text) + small,
    // A preview would make everybody's client fetch an address that a model has written.
    flags: MessageFlags.SuppressEmbeds | (kind === "progress" ? MessageFlags.SuppressNotifications : 0),
    components: buttonRows(buttons),
    allowed_mentions: nobody,
  };
}

function smallPrint({ footer }: OutboundMessage): string {
  if (!footer) return "";
  return `\n-# ${escapeForDiscord(cutText(footer.replaceAll(/\s+/g, " ").trim(), footerChars))}`;
}
