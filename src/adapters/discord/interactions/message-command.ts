import { InteractionResponseType, type InteractionType, Routes } from "discord.js";
import type { ContextMessage } from "../../../chat/inbound.ts";
import { taskForm } from "../surface/buttons.ts";
import { fetchQuote } from "../surface/quotes.ts";
import type { InteractionOptions } from "./options.ts";
import { respond } from "./replies.ts";
import type { Base, MessageCommandData, Of } from "./schema.ts";
import { receiveTask } from "./tasks.ts";

/** Messages that somebody is being asked about. */
const maxPending = 500;

/** The entry in the menu of a message: it opens a form, whose text is a task about that message. */
export interface MessageCommand {
  openForm(interaction: Of<InteractionType.ApplicationCommand>, data: MessageCommandData): Promise<void>;
  /** Receives what somebody wrote into the form. */
  submit(interaction: Base, message: string, text: string): Promise<void>;
}

export function createMessageCommand(options: InteractionOptions): MessageCommand {
  const { rest, channels, people, identity } = options;
  /** What the bot may not read by itself comes with the command, but not with the form. */
  const pending = new Map<string, ContextMessage>();

  const remember = (key: string, about: ContextMessage) => {
    pending.set(key, about);
    const [oldest] = pending.keys();
    if (pending.size > maxPending && oldest !== undefined) pending.delete(oldest);
  };

  const quote = async (channel: string, message: unknown): Promise<ContextMessage | undefined> => {
    const { workspace } = await channels.channel(channel);
    return fetchQuote(message, { ...identity, people, workspace });
  };

  return {
    async openForm(interaction, { target_id: target, resolved }) {
      const { channel_id: channel } = interaction;
      const about = await quote(channel, resolved.messages[target]);
      if (about) remember(`${channel}/${target}`, about);
      await respond(rest, interaction, {
        type: InteractionResponseType.Modal,
        data: taskForm(target),
      });
    },

    async submit(interaction, message, text) {
      const { channel_id: channel } = interaction;
      const about =
        pending.get(`${channel}/${message}`) ??
        (await quote(channel, await rest.get(Routes.channelMessage(channel, message))));
      return receiveTask(options, interaction, { text, ...(about && { about }) });
    },
  };
}
