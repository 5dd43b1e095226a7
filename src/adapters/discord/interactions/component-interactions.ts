import { InteractionResponseType, type InteractionType } from "discord.js";
import { channelOf, threadAt } from "../connection/channels.ts";
import { messageRef, timeOf } from "../connection/ids.ts";
import { readId, sentenceForm } from "../surface/buttons.ts";
import type { InteractionOptions } from "./options.ts";
import { respond, settle, tellOnly } from "./replies.ts";
import { authorOf, type Base, type Of } from "./schema.ts";

/** Takes the presses of buttons, and the sentences that some of them ask for. */
export function createPresses({ rest, rooms, receive }: InteractionOptions) {
  const act = async (
    interaction: Base,
    { action, message, text }: { action: string; message: string; text?: string },
  ): Promise<void> => {
    const room = await rooms.room(interaction.channel_id);
    const event = {
      kind: "action" as const,
      thread: threadAt(room, message),
      ref: messageRef({ workspace: room.workspace, channel: channelOf(room) }, { where: room.id, message }),
      author: authorOf(interaction),
      action,
      tellsRefusal: true as const,
      ...(text !== undefined && { text }),
      at: timeOf(interaction.id),
    };
    await settle(rest, interaction, () => receive(event));
  };

  return {
    act,

    async press(interaction: Of<InteractionType.MessageComponent>): Promise<void> {
      const meaning = readId(interaction.data.custom_id);
      const message = interaction.message.id;
      switch (meaning?.kind) {
        case "stop": {
          const room = await rooms.room(interaction.channel_id);
          const author = authorOf(interaction);
          const at = timeOf(interaction.id);
          const target = { thread: threadAt(room, message) };
          return settle(rest, interaction, () => receive({ kind: "stop", target, author, at }));
        }
        case "act":
          return act(interaction, { action: meaning.action, message });
        case "ask": {
          const data = sentenceForm(meaning.action, meaning.question);
          await respond(rest, interaction, { type: InteractionResponseType.Modal, data });
          return;
        }
        case "said":
        case "about":
        case undefined:
          return tellOnly(
            rest,
            interaction,
            "This button is from an earlier version and does nothing any more.",
          );
      }
    },
  };
}
