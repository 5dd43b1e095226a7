import { ApplicationCommandType, InteractionType } from "discord.js";
import { z } from "zod";
import type { Author } from "../../../chat/inbound.ts";
import { describePerson, memberSchema, userSchema } from "../connection/people.ts";
import { attachmentSchema } from "../surface/attachments.ts";

const baseSchema = z.object({
  id: z.string(),
  token: z.string(),
  application_id: z.string(),
  guild_id: z.string().optional(),
  channel_id: z.string(),
  /** As much of it as Discord sends here. */
  channel: z.unknown().optional(),
  /** In direct messages. */
  user: userSchema.optional(),
  /** In servers. */
  member: memberSchema.extend({ user: userSchema }).optional(),
  app_permissions: z.string(),
});

const optionsSchema = z
  .array(z.object({ name: z.string(), value: z.string(), focused: z.boolean().optional() }))
  .default([]);

const commandSchema = baseSchema.extend({
  type: z.literal(InteractionType.ApplicationCommand),
  data: z.discriminatedUnion("type", [
    z.object({
      type: z.literal(ApplicationCommandType.ChatInput),
      name: z.string(),
      options: optionsSchema,
      resolved: z.object({ attachments: z.record(z.string(), attachmentSchema).default({}) }).prefault({}),
    }),
    z.object({
      type: z.literal(ApplicationCommandType.Message),
      target_id: z.string(),
      resolved: z.object({ messages: z.record(z.string(), z.unknown()) }),
    }),
  ]),
});

const autocompleteSchema = baseSchema.extend({
  type: z.literal(InteractionType.ApplicationCommandAutocomplete),
  data: z.object({ options: optionsSchema }),
});

const buttonSchema = baseSchema.extend({
  type: z.literal(InteractionType.MessageComponent),
  /** `values`: what was chosen of a menu. */
  data: z.object({ custom_id: z.string(), values: z.array(z.string()).optional() }),
  message: z.object({ id: z.string() }),
});

const formSchema = baseSchema.extend({
  type: z.literal(InteractionType.ModalSubmit),
  data: z.object({
    custom_id: z.string(),
    /** `value`: what was written; `values`: what was chosen. */
    components: z.array(
      z.object({
        component: z
          .object({
            custom_id: z.string(),
            value: z.string().optional(),
            values: z.array(z.string()).optional(),
          })
          .optional(),
      }),
    ),
  }),
  /** Of a form that a button has opened. */
  message: z.object({ id: z.string() }).optional(),
});

/** What people do other than writing messages: commands, suggestions while typing, buttons and forms. */
export const interactionSchema = z.discriminatedUnion("type", [
  commandSchema,
  autocompleteSchema,
  buttonSchema,
  formSchema,
]);

/** What all of them have. */
export type Base = z.infer<typeof baseSchema>;
type Interaction = z.infer<typeof interactionSchema>;
/** The data of a slash command, and of the entry in the menu of a message. */
type CommandData = Of<InteractionType.ApplicationCommand>["data"];
export type SlashCommandData = Extract<CommandData, { type: ApplicationCommandType.ChatInput }>;
export type MessageCommandData = Extract<CommandData, { type: ApplicationCommandType.Message }>;
export type Of<Type extends Interaction["type"]> = Extract<Interaction, { type: Type }>;

/** The person who used the command or pressed the button. */
export function readAuthor({ member, user }: Base): Author {
  const who = member?.user ?? user;
  if (!who) throw new Error("Discord did not say who used a command.");
  return describePerson(who, member);
}
