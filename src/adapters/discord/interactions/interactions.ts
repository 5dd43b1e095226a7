import { InteractionType } from "discord.js";
import { fieldId, readComponentId } from "../surface/buttons.ts";
import { createComponentInteractions } from "./component-interactions.ts";
import type { InteractionOptions } from "./options.ts";
import { interactionSchema, type Of } from "./schema.ts";
import { createTasks } from "./tasks.ts";

/** Handles slash commands, context menus, suggestions, buttons and forms. */
export function createInteractions(options: InteractionOptions): (interaction: unknown) => Promise<void> {
  const tasks = createTasks(options);
  const presses = createComponentInteractions(options);

  const submit = async (interaction: Of<InteractionType.ModalSubmit>): Promise<void> => {
    const meaning = readComponentId(interaction.data.custom_id);
    const fields = interaction.data.components.map(({ component }) => component);
    const text = fields.find((field) => field?.custom_id === fieldId)?.value ?? "";
    if (meaning?.kind === "about") return tasks.about(interaction, meaning.message, text);
    if (meaning?.kind !== "said" || !interaction.message) return;
    return presses.act(interaction, { action: meaning.action, message: interaction.message.id, text });
  };

  return async (raw) => {
    const { data: interaction } = interactionSchema.safeParse(raw);
    // To ask Discord takes a part of the three seconds.
    options.channels.learn(interaction?.channel, interaction?.guild_id);
    switch (interaction?.type) {
      case InteractionType.ApplicationCommand:
        return tasks.command(interaction);
      case InteractionType.ApplicationCommandAutocomplete:
        return tasks.suggest(interaction);
      case InteractionType.MessageComponent:
        return presses.press(interaction);
      case InteractionType.ModalSubmit:
        return submit(interaction);
      case undefined:
        return;
    }
  };
}
