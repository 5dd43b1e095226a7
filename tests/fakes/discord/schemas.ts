import { z } from "zod";

/**
 * What Discord takes. Stricter in one point: where Discord overlooks fields that it does not know, the fake refuses
 * them, because they are mistakes.
 */

const snowflake = z.string().regex(/^\d{17,20}$/);
const customId = z.string().min(1).max(100);

const button = z.strictObject({
  type: z.literal(2),
  style: z.number().int().min(1).max(4),
  label: z.string().min(1).max(80),
  custom_id: customId,
});

const rows = z
  .array(z.strictObject({ type: z.literal(1), components: z.array(button).min(1).max(5) }))
  .max(5)
  .refine((list) => {
    const ids = list.flatMap(({ components }) => components.map(({ custom_id }) => custom_id));
    return new Set(ids).size === ids.length;
  }, "COMPONENT_CUSTOM_ID_DUPLICATED");

const allowedMentions = z.strictObject({
  parse: z.array(z.enum(["users", "roles", "everyone"])),
  users: z.array(z.string()).max(100).optional(),
  replied_user: z.boolean().optional(),
});

/** Suppresses embeds and notifications; ephemeral only for interactions. */
const flags = z
  .number()
  .refine((bits) => (bits & ~((1 << 2) | (1 << 12))) === 0, "flags that a bot may not set");

/** As text, by Discord's OpenAPI description (`SnowflakeType`). https://github.com/discord/discord-api-spec */
const attachmentId = z.string().regex(/^(?:0|[1-9]\d*)$/);

export const messageBody = z.strictObject({
  content: z.string().max(2_000).default(""),
  nonce: z.string().max(25).optional(),
  enforce_nonce: z.boolean().optional(),
  flags: flags.default(0),
  components: rows.default([]),
  allowed_mentions: allowedMentions.optional(),
  attachments: z
    .array(z.strictObject({ id: attachmentId, filename: z.string().min(1).max(1_024) }))
    .max(10)
    .default([]),
  message_reference: z
    .strictObject({ message_id: snowflake, fail_if_not_exists: z.boolean().optional() })
    .optional(),
});

export const messageChange = z.strictObject({
  content: z.string().max(2_000).optional(),
  // Of those of a plain message. https://docs.discord.com/developers/resources/message#edit-message
  flags: z.literal([0, 1 << 2]).optional(),
  components: rows.optional(),
  allowed_mentions: allowedMentions.optional(),
});

export const threadBody = z.strictObject({
  name: z.string().trim().min(1).max(100),
  auto_archive_duration: z
    .union([z.literal(60), z.literal(1440), z.literal(4320), z.literal(10_080)])
    .optional(),
});

/** https://docs.discord.com/developers/resources/channel#start-thread-in-forum-or-media-channel */
export const forumPostBody = threadBody.extend({
  message: z.strictObject({
    content: z.string().min(1).max(2_000),
    flags: flags.default(0),
    components: rows.default([]),
    allowed_mentions: allowedMentions.optional(),
  }),
  applied_tags: z.array(snowflake).max(5).default([]),
});

export const channelChange = z.union([
  z.strictObject({ archived: z.boolean() }),
  z.strictObject({ applied_tags: z.array(snowflake).max(5) }),
]);

export const refreshBody = z.strictObject({ attachment_urls: z.array(z.url()).min(1).max(50) });

const commandName = z
  .string()
  .regex(/^[-_'\p{L}\p{N}]{1,32}$/u)
  .refine((name) => name === name.toLowerCase());
const installed = {
  contexts: z.array(z.number()).optional(),
  integration_types: z.array(z.number()).optional(),
};

const chatInput = z.strictObject({
  ...installed,
  type: z.literal(1),
  name: commandName,
  description: z.string().min(1).max(100),
  options: z
    .array(
      z.strictObject({
        type: z.number(),
        name: commandName,
        description: z.string().min(1).max(100),
        required: z.boolean().optional(),
        autocomplete: z.boolean().optional(),
        // https://docs.discord.com/developers/interactions/application-commands#application-command-object-application-command-option-choice-structure
        choices: z
          .array(z.strictObject({ name: z.string().min(1).max(100), value: z.string().min(1).max(100) }))
          .max(25)
          .optional(),
        max_length: z.number().int().min(1).max(6_000).optional(),
      }),
    )
    .max(25)
    .refine((list) => {
      const firstOptional = list.findIndex(({ required }) => !required);
      return firstOptional === -1 || list.slice(firstOptional).every(({ required }) => !required);
    }, "Required options must be placed before non-required options")
    .optional(),
});
const contextMenu = z.strictObject({
  ...installed,
  type: z.union([z.literal(2), z.literal(3)]),
  name: z.string().min(1).max(32),
});

export const commandsBody = z
  .array(z.union([chatInput, contextMenu]))
  .max(130)
  .refine(
    (list) => new Set(list.map(({ type, name }) => `${type} ${name}`)).size === list.length,
    "APPLICATION_COMMANDS_DUPLICATE_NAME",
  );

/**
 * That only one person sees it; of a reply that is there already, that it has no previews and notifies nobody as well.
 * https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object-messages
 */
const deferredFlags = z
  .number()
  .refine((bits) => (bits & ~(1 << 6)) === 0, "flags that a reply may not have");
const replyFlags = z
  .number()
  .refine((bits) => (bits & ~((1 << 6) | (1 << 2) | (1 << 12))) === 0, "flags that a reply may not have");

/** https://docs.discord.com/developers/components/reference#string-select */
const menu = z.strictObject({
  type: z.literal(3),
  custom_id: customId,
  placeholder: z.string().max(150).optional(),
  options: z
    .array(
      z.strictObject({
        label: z.string().min(1).max(100),
        value: z.string().min(1).max(100),
        description: z.string().min(1).max(100).optional(),
      }),
    )
    .min(1)
    .max(25)
    .refine(
      (list) => new Set(list.map(({ value }) => value)).size === list.length,
      "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED",
    ),
});

/** A row has one select and nothing beside it, or up to five buttons. https://docs.discord.com/developers/components/reference#action-row */
const replyRows = z
  .array(
    z.union([
      z.strictObject({ type: z.literal(1), components: z.tuple([menu]) }),
      z.strictObject({ type: z.literal(1), components: z.array(button).min(1).max(5) }),
    ]),
  )
  .max(5)
  .refine((list) => {
    const ids = list.flatMap(({ components }) => components.map(({ custom_id: id }) => id));
    return new Set(ids).size === ids.length;
  }, "COMPONENT_CUSTOM_ID_DUPLICATED");

const reply = z.strictObject({
  content: z.string().min(1).max(2_000),
  flags: replyFlags.optional(),
  allowed_mentions: allowedMentions.optional(),
  components: replyRows.optional(),
});

/** https://docs.discord.com/developers/components/reference#text-input */
const textInput = z
  .strictObject({
    type: z.literal(4),
    custom_id: customId,
    style: z.union([z.literal(1), z.literal(2)]),
    required: z.boolean().optional(),
    max_length: z.number().int().min(1).max(4_000).optional(),
    value: z.string().max(4_000).optional(),
  })
  .refine(({ value = "", max_length: most = 4_000 }) => value.length <= most, "value is too long");

/** In a form it may be required, and is by default. https://docs.discord.com/developers/components/reference#string-select */
const formSelect = z
  .strictObject({
    type: z.literal(3),
    custom_id: customId,
    required: z.boolean().default(true),
    min_values: z.number().int().min(0).max(25).default(1),
    max_values: z.number().int().min(1).max(25).default(1),
    options: z
      .array(
        z.strictObject({
          label: z.string().min(1).max(100),
          value: z.string().min(1).max(100),
          default: z.boolean().optional(),
        }),
      )
      .min(1)
      .max(25),
  })
  .refine(({ required, min_values: least }) => !required || least > 0, "BASE_TYPE_BAD_INT")
  .refine(
    ({ min_values: least, max_values: most, options }) => least <= most && most <= options.length,
    "BASE_TYPE_BAD_INT",
  )
  .refine(
    ({ options, max_values: most }) => options.filter((option) => option.default).length <= most,
    "SELECT_COMPONENT_TOO_MANY_DEFAULT_VALUES",
  );

/** https://docs.discord.com/developers/components/reference#label */
const label = z.strictObject({
  type: z.literal(18),
  label: z.string().min(1).max(45),
  description: z.string().min(1).max(100).optional(),
  component: z.union([textInput, formSelect]),
});

const modal = z.strictObject({
  custom_id: customId,
  title: z.string().min(1).max(45),
  components: z
    .array(label)
    .min(1)
    .max(5)
    .refine(
      (list) => new Set(list.map(({ component }) => component.custom_id)).size === list.length,
      "COMPONENT_CUSTOM_ID_DUPLICATED",
    ),
});

export const callbackBody = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal(4), data: reply }),
  z.strictObject({
    type: z.literal(5),
    data: z.strictObject({ flags: deferredFlags.optional() }).optional(),
  }),
  z.strictObject({ type: z.literal(6) }),
  // What is left out stays; flags cannot change.
  z.strictObject({ type: z.literal(7), data: reply.omit({ flags: true }).partial() }),
  z.strictObject({
    type: z.literal(8),
    data: z.strictObject({
      choices: z
        .array(z.strictObject({ name: z.string().min(1).max(100), value: z.string().min(1).max(100) }))
        .max(25),
    }),
  }),
  z.strictObject({ type: z.literal(9), data: modal }),
]);

export const applicationChange = z.strictObject({ flags: z.int() });

export const directBody = z.strictObject({ recipient_id: z.string() });
