import { InteractionResponseType, type InteractionType } from "discord.js";
import type { WrittenFields } from "../../../agent/server-input.ts";
import { parentChannelOf, threadOfMessageIn } from "../connection/channels.ts";
import { messageRef, readTime } from "../connection/ids.ts";
import { formInputs, readComponentId, sentenceForm } from "../surface/buttons.ts";
import type { InteractionOptions } from "./options.ts";
import { replyEphemeral, replyWithResult, respond } from "./replies.ts";
import { readAuthor, type Base, type Of } from "./schema.ts";

const outdated = "This button is from an earlier version and no longer does anything.";

/** Handles buttons, menus, and the forms that some of them open. */
export function createComponentInteractions({ rest, channels, receive }: InteractionOptions) {
  const act = async (
    interaction: Base,
    {
      action,
      message,
      replaces,
      continues,
      ...written
    }: {
      action: string;
      message: string;
      text?: string;
      fields?: WrittenFields;
      replaces?: true;
      /** It is about the next part of a form. */
      continues?: true;
    },
  ): Promise<void> => {
    const channel = await channels.channel(interaction.channel_id);
    const event = {
      kind: "action" as const,
      thread: threadOfMessageIn(channel, message),
      ref: messageRef(
        { workspace: channel.workspace, channel: parentChannelOf(channel) },
        { where: channel.id, message },
      ),
      author: readAuthor(interaction),
      action,
      window: { most: formInputs, ...(continues && { continues }) },
      tellsRefusal: true as const,
      ...written,
      at: readTime(interaction.id),
    };
    await replyWithResult(rest, interaction, () => receive(event), {
      ...{ replaces: replaces ?? false, pressed: { action, message, continues: continues === true } },
      ...(continues && written.fields && { done: "Thank you, that was all." }),
    });
  };

  return {
    act,

    async press(interaction: Of<InteractionType.MessageComponent>): Promise<void> {
      const meaning = readComponentId(interaction.data.custom_id);
      const message = interaction.message.id;
      switch (meaning?.kind) {
        case "stop": {
          const channel = await channels.channel(interaction.channel_id);
          const author = readAuthor(interaction);
          const at = readTime(interaction.id);
          const target = { thread: threadOfMessageIn(channel, message) };
          return replyWithResult(rest, interaction, () =>
            receive({ kind: "stop", target, author, tellsRefusal: true, at }),
          );
        }
        case "act":
          return act(interaction, { action: meaning.action, message });
        case "choose": {
          const [action] = interaction.data.values ?? [];
          if (action === undefined) return replyEphemeral(rest, interaction, outdated);
          return act(interaction, { action, message, replaces: true });
        }
        case "more":
          return act(interaction, { action: meaning.action, message: meaning.message, continues: true });
        case "ask": {
          const data = sentenceForm(meaning.action, meaning.question);
          await respond(rest, interaction, { type: InteractionResponseType.Modal, data });
          return;
        }
        case "said":
        case "filled":
        case "rest":
        case "about":
        case undefined:
          return replyEphemeral(rest, interaction, outdated);
      }
    },
  };
}
