import { ApplicationCommandType, InteractionResponseType, type InteractionType, Routes } from "discord.js";
import type { AttachmentHandle } from "../../../agent/messages.ts";
import type { Author, InboundEvent, ContextMessage } from "../../../chat/inbound.ts";
import { readThreadCommand } from "../../../chat/thread-command.ts";
import { cutText } from "../../../chat/title.ts";
import { parentChannelOf, threadOfMessageIn } from "../connection/channels.ts";
import { messageRef, readTime } from "../connection/ids.ts";
import { findMissing } from "../installation/permissions.ts";
import { attachmentHandle } from "../surface/attachments.ts";
import { taskForm } from "../surface/buttons.ts";
import { fetchQuote } from "../surface/quotes.ts";
import type { InteractionOptions } from "./options.ts";
import { changeReply, notStored, replyEphemeral, replyWithResult, respond } from "./replies.ts";
import { authorOf, type Base, type Of } from "./schema.ts";

interface Task {
  text: string;
  attachments?: AttachmentHandle[];
  options?: { model?: string; skill?: string };
  about?: ContextMessage;
}

/** Discord shows 25 choices of at most 100 characters. */
const mostChoices = 25;
const choiceChars = 100;
/** The task is shown in the message that the thread starts from. */
const shownChars = 1_500;
/** Messages that somebody is being asked about. */
const mostPending = 500;

/** With exclamation marks: behind a slash, Discord suggests the commands of other bots. */
function help(readsAll: boolean): string {
  return [
    `\`/agent\` with a task starts a thread for it. In the thread you need no command: just ${readsAll ? "write" : "mention me"}.`,
    "In a thread, `stop`, the Stop button or 🛑 ends what I do, `!status` tells how it stands, and `!quiet`, `!normal` or `!full` says how much to show.",
  ].join("\n");
}

/** Takes the tasks that are given with commands. */
export function createTasks(options: InteractionOptions) {
  const { rest, channels, people, identity, receive, log } = options;
  const pending = new Map<string, ContextMessage>();

  /**
   * Takes a task. The answer that the person sees makes the message from which the thread starts, so it comes
   * first; it promises nothing. What is stored is marked by whoever stored it.
   */
  const take = async (interaction: Base, task: Task): Promise<void> => {
    const channel = await channels.channel(interaction.channel_id);
    const missing = interaction.guild_id === undefined ? [] : findMissing(interaction.app_permissions);
    if (missing.length > 0) {
      const text = `I cannot work in #${channel.name}: I lack ${missing.join(", ")}. Ask somebody who manages this server to grant it.`;
      return replyEphemeral(rest, interaction, text);
    }
    const author = authorOf(interaction);
    const eventAt = (message: string): Extract<InboundEvent, { kind: "message" }> => ({
      kind: "message",
      thread: threadOfMessageIn(channel, message),
      ref: messageRef(
        { workspace: channel.workspace, channel: parentChannelOf(channel) },
        { where: channel.id, message },
      ),
      author,
      attachments: [],
      ...task,
      addressed: interaction.guild_id === undefined ? "direct" : "mention",
      at: readTime(interaction.id),
    });
    if (!options.mayAsk(channel.workspace, author)) {
      // Without a message of its own there is nothing in the channel to answer.
      const event = { ...eventAt(interaction.id), tellsRefusal: true } as const;
      return replyWithResult(rest, interaction, () => receive(event));
    }
    const type = InteractionResponseType.DeferredChannelMessageWithSource;
    const reply = await respond(rest, interaction, { type });
    if (!reply) return;
    if (reply.message === undefined)
      throw new Error("Discord did not say which message its answer has made.");
    await changeReply(rest, interaction, announcement(author, task)).catch((error: unknown) =>
      log.warn({ err: error }, "The answer to a command could not be shown."),
    );
    try {
      await receive(eventAt(reply.message));
    } catch (error) {
      await changeReply(rest, interaction, notStored).catch(() => undefined);
      throw error;
    }
  };

  const fetchMessage = async (where: string, message: string): Promise<ContextMessage | undefined> => {
    const { workspace } = await channels.channel(where);
    return fetchQuote(await rest.get(Routes.channelMessage(where, message)), {
      ...identity,
      people,
      workspace,
    });
  };

  return {
    /** A command, by its name or of the menu of a message. */
    async command(interaction: Of<InteractionType.ApplicationCommand>): Promise<void> {
      const { data } = interaction;
      if (data.type === ApplicationCommandType.ChatInput) {
        const value = (name: string) => data.options.find((option) => option.name === name)?.value;
        const text = (value("prompt") ?? "").trim();
        if (text.toLowerCase() === "help")
          return replyEphemeral(rest, interaction, help(options.messageContent));
        const { kind } = await channels.channel(interaction.channel_id);
        const word = readThreadCommand(text);
        if (word && kind.is === "channel") {
          const how = `I cannot know which thread you mean: use \`/agent ${word}\` in it.`;
          return replyEphemeral(rest, interaction, how);
        }
        const [model, skill, file] = [
          value("model"),
          value("skill"),
          data.resolved.attachments[value("file") ?? ""],
        ];
        return take(interaction, {
          text: word ? `/${word}` : text,
          ...(file && { attachments: [attachmentHandle(file)] }),
          ...((model || skill) && { options: { ...(model && { model }), ...(skill && { skill }) } }),
        });
      }
      const { workspace } = await channels.channel(interaction.channel_id);
      // What the bot may not read by itself comes with the command, but not with the form.
      const about = await fetchQuote(data.resolved.messages[data.target_id], {
        ...identity,
        people,
        workspace,
      });
      if (about) {
        pending.set(`${interaction.channel_id}/${data.target_id}`, about);
        const [oldest] = pending.keys();
        if (pending.size > mostPending && oldest !== undefined) pending.delete(oldest);
      }
      const form = taskForm(data.target_id);
      await respond(rest, interaction, { type: InteractionResponseType.Modal, data: form });
    },

    /** What is suggested while somebody types into a command. */
    async suggest(interaction: Of<InteractionType.ApplicationCommandAutocomplete>): Promise<void> {
      const place = threadOfMessageIn(await channels.channel(interaction.channel_id), interaction.id);
      const { models, skills } = await options.choices(place, authorOf(interaction));
      const focused = interaction.data.options.find((option) => option.focused);
      const typed = focused?.value.toLowerCase() ?? "";
      const choices = (focused?.name === "skill" ? skills : models)
        .filter((name) => name.length <= choiceChars && name.toLowerCase().includes(typed))
        .slice(0, mostChoices)
        .map((name) => ({ name, value: name }));
      const type = InteractionResponseType.ApplicationCommandAutocompleteResult;
      await respond(rest, interaction, { type, data: { choices } });
    },

    /** The task that somebody has written about a message of the channel. */
    async about(interaction: Base, message: string, text: string): Promise<void> {
      const { channel_id: where } = interaction;
      const about = pending.get(`${where}/${message}`) ?? (await fetchMessage(where, message));
      return take(interaction, { text, ...(about && { about }) });
    },
  };
}

/** What everybody sees of a task that was given with a command. */
function announcement(author: Author, { text, attachments = [], about }: Task): string {
  const quoted = text.replaceAll(/^/gm, "> ");
  const short = cutText(quoted, shownChars);
  const files = attachments.map(({ name }) => name);
  const small = [
    `asked by <@${author.id}>`,
    ...files,
    ...(about ? [`about a message of ${about.author.name}`] : []),
  ];
  return `${short}\n-# ${small.join(" · ")}`;
}
