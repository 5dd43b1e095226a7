import { ApplicationCommandType, InteractionType } from "discord.js";
import { fieldId, readComponentId } from "../surface/buttons.ts";
import { createComponentInteractions } from "./component-interactions.ts";
import { createMessageCommand } from "./message-command.ts";
import type { InteractionOptions } from "./options.ts";
import { interactionSchema, type Of } from "./schema.ts";
import { runSlashCommand, suggestChoices } from "./slash-command.ts";

/** Handles slash commands, context menus, suggestions, buttons and forms. */
export function createInteractions(options: InteractionOptions): (interaction: unknown) => Promise<void> {
  const messageCommand = createMessageCommand(options);
  const components = createComponentInteractions(options);

  const runCommand = async (interaction: Of<InteractionType.ApplicationCommand>): Promise<void> => {
    const { data } = interaction;
    switch (data.type) {
      case ApplicationCommandType.ChatInput:
        return runSlashCommand(options, interaction, data);
      case ApplicationCommandType.Message:
        return messageCommand.openForm(interaction, data);
    }
  };

  const submit = async (interaction: Of<InteractionType.ModalSubmit>): Promise<void> => {
    const meaning = readComponentId(interaction.data.custom_id);
    const fields = interaction.data.components.map(({ component }) => component);
    const text = fields.find((field) => field?.custom_id === fieldId)?.value ?? "";
    if (meaning?.kind === "about") return messageCommand.submit(interaction, meaning.message, text);
    if (!interaction.message) return;
    const message = interaction.message.id;
    if (meaning?.kind === "said")
      return components.act(interaction, { action: meaning.action, message, text });
    if (meaning?.kind !== "filled" && meaning?.kind !== "rest") return;
    const written = fields.flatMap((field): [string, string | number[]][] => {
      const { custom_id: name, value, values } = field ?? {};
      return name === undefined ? [] : [[name, values?.map(Number) ?? value ?? ""]];
    });
    return components.act(interaction, {
      ...{ action: meaning.action, message, fields: Object.fromEntries(written) },
      ...(meaning.kind === "rest" && { message: meaning.message, continues: true, replaces: true }),
    });
  };

  return async (raw) => {
    const { data: interaction } = interactionSchema.safeParse(raw);
    // Asking Discord would take a part of the three seconds.
    options.channels.learn(interaction?.channel, interaction?.guild_id);
    switch (interaction?.type) {
      case InteractionType.ApplicationCommand:
        return runCommand(interaction);
      case InteractionType.ApplicationCommandAutocomplete:
        return suggestChoices(options, interaction);
      case InteractionType.MessageComponent:
        return components.press(interaction);
      case InteractionType.ModalSubmit:
        return submit(interaction);
      case undefined:
        return;
    }
  };
}
