import { InteractionResponseType } from "discord.js";
import type { AttachmentHandle } from "../../../agent/messages.ts";
import { cutText } from "../../../agent/text/text.ts";
import type { Author, ContextMessage, InboundMessage } from "../../../chat/inbound.ts";
import { lacksChoice } from "../../../chat/task-choices.ts";
import { type ChannelInfo, parentChannelOf, threadOfMessageIn } from "../connection/channels.ts";
import { messageRef, readTime } from "../connection/ids.ts";
import { findMissing } from "../installation/permissions.ts";
import { escapeForDiscord } from "../markdown/markdown.ts";
import type { InteractionOptions } from "./options.ts";
import { changeReply, notConfirmed, replyEphemeral, replyWithResult, respond } from "./replies.ts";
import { readAuthor, type Base } from "./schema.ts";

/** A task that is given with a command rather than a message. */
export interface Task {
  text: string;
  attachments?: AttachmentHandle[];
  options?: NonNullable<InboundMessage["options"]>;
  about?: ContextMessage;
}

/** The task is shown in the message that the thread starts from. */
const shownChars = 1_500;
const nameChars = 100;

/** A task is worked on without them; whoever has files or marks to show says what is missing. */
const needless = ["Attach Files", "Add Reactions"];

/**
 * Receives a task. The reply that the person sees becomes the message from which the thread starts, so it is posted
 * first; it promises nothing. Intake marks the message once the task is stored.
 */
export async function receiveTask(options: InteractionOptions, interaction: Base, task: Task): Promise<void> {
  const { rest, channels, receive, log } = options;
  const channel = await channels.channel(interaction.channel_id);
  const missing =
    interaction.guild_id === undefined ? [] : findMissing(interaction.app_permissions, needless);
  if (missing.length > 0) {
    const text = `I cannot work in #${channel.name}: I lack ${missing.join(", ")}. Ask somebody who manages this server to grant it.`;
    return replyEphemeral(rest, interaction, text);
  }
  const author = readAuthor(interaction);
  if (
    !options.mayAsk(channel.workspace, author) ||
    (await lacksChoice(task.options ?? {}, () =>
      options.choices(threadOfMessageIn(channel, interaction.id), author),
    ))
  ) {
    // Without a message of its own there is nothing in the channel to answer.
    const event = toMessage(readOrigin(interaction), channel, task, interaction.id);
    return replyWithResult(rest, interaction, () => receive({ ...event, tellsRefusal: true }));
  }
  const type = InteractionResponseType.DeferredChannelMessageWithSource;
  const reply = await respond(rest, interaction, { type });
  if (!reply) return;
  if (reply.message === undefined)
    throw new Error("Discord did not say which message its response has created.");
  const shown = announce(author, task);
  await changeReply(rest, interaction, shown).catch((error: unknown) =>
    log.warn({ err: error }, "The reply to a command could not be shown."),
  );
  try {
    await receive(toMessage(readOrigin(interaction), channel, task, reply.message));
  } catch (error) {
    // Under the task, which begins here if it was stored all the same.
    await changeReply(rest, interaction, `${shown}\n-# ${notConfirmed}`).catch(() => undefined);
    throw error;
  }
}

/** Who gives a task, and when. */
export interface TaskOrigin {
  author: Author;
  /** In a direct message with the bot. */
  isDirect: boolean;
  at: number;
}

export function readOrigin(interaction: Base): TaskOrigin {
  const isDirect = interaction.guild_id === undefined;
  return { author: readAuthor(interaction), isDirect, at: readTime(interaction.id) };
}

/** @param message id of the message that stands for the task */
export function toMessage(
  { author, isDirect, at }: TaskOrigin,
  channel: ChannelInfo,
  task: Task,
  message: string,
): InboundMessage {
  const { workspace } = channel;
  return {
    kind: "message",
    thread: threadOfMessageIn(channel, message),
    ref: messageRef({ workspace, channel: parentChannelOf(channel) }, { where: channel.id, message }),
    author,
    attachments: [],
    ...task,
    addressed: isDirect ? "direct" : "mention",
    at,
  };
}

/** What everybody sees of a task that was given with a command. */
export function announce(author: Author, { text, attachments = [], about }: Task): string {
  const quoted = text.replaceAll(/^/gm, "> ");
  const short = cutText(quoted, shownChars);
  const files = attachments.map(({ name }) => cutText(name, nameChars));
  const others = [...files, ...(about ? [`about a message of ${about.author.name}`] : [])];
  return `${short}\n-# ${[`asked by <@${author.id}>`, ...others.map(escapeForDiscord)].join(" · ")}`;
}
