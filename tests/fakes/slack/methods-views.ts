import { z } from "zod";
import { checkBlocks } from "./blocks.ts";
import { channelOf, type Method, messageOf } from "./method.ts";
import { invalid, Refusal } from "./refusal.ts";

const plainText = (max: number) =>
  z.strictObject({ type: z.literal("plain_text"), text: z.string().min(1).max(max) });

const actionId = z.string().min(1).max(255);

/** https://docs.slack.dev/reference/block-kit/composition-objects/option-object */
const option = z.strictObject({ text: plainText(75), value: z.string().min(1).max(150) });
const options = z.array(option).min(1).max(100);

/** https://docs.slack.dev/reference/block-kit/block-elements */
const element = z
  .discriminatedUnion("type", [
    z.strictObject({
      type: z.literal("plain_text_input"),
      action_id: actionId,
      multiline: z.boolean(),
      max_length: z.number().min(1).max(3_000),
      initial_value: z.string().optional(),
    }),
    z.strictObject({
      type: z.literal("number_input"),
      action_id: actionId,
      is_decimal_allowed: z.boolean(),
      initial_value: z.string().optional(),
    }),
    z.strictObject({
      type: z.literal("static_select"),
      action_id: actionId,
      options,
      initial_option: option.optional(),
    }),
    z.strictObject({
      type: z.literal("multi_static_select"),
      action_id: actionId,
      options,
      initial_options: options.optional(),
    }),
  ])
  .refine(
    (one) => !("max_length" in one) || (one.initial_value ?? "").length <= one.max_length,
    "initial_value is too long",
  );

/** https://docs.slack.dev/reference/block-kit/blocks/input-block */
const inputBlock = z.strictObject({
  type: z.literal("input"),
  block_id: z.string().min(1).max(255),
  label: plainText(2_000),
  hint: plainText(2_000).optional(),
  optional: z.boolean().optional(),
  element,
});

/** The modals that a bot like ours opens, of inputs alone. https://docs.slack.dev/surfaces/modals */
const modalSchema = z.strictObject({
  type: z.literal("modal"),
  callback_id: z.string().min(1).max(255),
  private_metadata: z.string().max(3_000),
  title: plainText(24),
  submit: plainText(24),
  close: plainText(24).optional(),
  blocks: z
    .tuple([inputBlock], inputBlock)
    .refine((blocks) => blocks.length <= 100, "no more than 100 items allowed")
    .refine(
      (blocks) => new Set(blocks.map(({ block_id: id }) => id)).size === blocks.length,
      "block_id already exists",
    ),
});

export type FakeElement = z.infer<typeof element>;

const homeSchema = z.strictObject({ type: z.literal("home"), blocks: z.unknown() });

/** Windows and home tabs. */
export const viewMethods: Record<string, Method> = {
  "views.open": {
    token: "bot",
    args: "trigger_id view",
    run: (args, { workspace }) => {
      const trigger = workspace.triggers.get(args.text("trigger_id"));
      if (!trigger) throw new Refusal("invalid_trigger_id");
      if (trigger.isUsed) throw new Refusal("exchanged_trigger_id");
      if (Date.now() > trigger.until) throw new Refusal("expired_trigger_id");
      const { data: view, error } = modalSchema.safeParse(args.json("view"));
      if (!view)
        throw invalid("invalid_arguments", ...error.issues.map(({ message }) => `[ERROR] ${message}`));
      trigger.isUsed = true;
      const { callback_id, private_metadata } = view;
      const shown = {
        callback_id,
        private_metadata,
        title: view.title.text,
        label: view.blocks[0].label.text,
        isOptional: view.blocks[0].optional === true,
        field: [view.blocks[0].block_id, view.blocks[0].element.action_id] as const,
        inputs: view.blocks.map((block) => ({
          ...{ id: block.block_id, label: block.label.text, isOptional: block.optional === true },
          ...(block.hint && { hint: block.hint.text }),
          element: block.element,
        })),
      };
      workspace.modals.set(trigger.user, { view: shown });
      return { view: { id: workspace.id("V"), callback_id } };
    },
  },

  "views.publish": {
    token: "bot",
    args: "user_id view hash",
    run: (args, { workspace }) => {
      const user = args.text("user_id");
      if (!workspace.users.has(user)) throw new Refusal("user_not_found");
      const { data: view } = homeSchema.safeParse(args.json("view"));
      const checked = checkBlocks(view?.blocks);
      if (!checked.ok) throw invalid("invalid_arguments", ...checked.messages);
      // In messages only.
      if (checked.blocks.some(({ type }) => type === "markdown"))
        throw invalid("invalid_arguments", "[ERROR] unsupported type: markdown");
      workspace.homes.set(user, checked.blocks);
      return { view: { id: workspace.id("V") } };
    },
  },

  "chat.getPermalink": {
    token: "bot",
    args: "channel message_ts",
    run: (args, context) => {
      const channel = channelOf(args, context);
      const { ts } = messageOf(args, channel, context, "message_ts");
      return { permalink: `https://fake.slack.com/archives/${channel.id}/p${ts.replace(".", "")}` };
    },
  },
};
