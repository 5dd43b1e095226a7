import { z } from "zod";
import { checkBlocks } from "./blocks.ts";
import { channelOf, type Method, messageOf } from "./method.ts";
import { invalid, Refusal } from "./refusal.ts";

const plainText = (max: number) =>
  z.strictObject({ type: z.literal("plain_text"), text: z.string().min(1).max(max) });

/** The modals that a bot like ours opens: one field. https://docs.slack.dev/surfaces/modals */
const modalSchema = z.strictObject({
  type: z.literal("modal"),
  callback_id: z.string().min(1).max(255),
  private_metadata: z.string().max(3_000),
  title: plainText(24),
  submit: plainText(24),
  close: plainText(24).optional(),
  blocks: z.tuple([
    z.strictObject({
      type: z.literal("input"),
      block_id: z.string().max(255),
      label: plainText(2_000),
      optional: z.boolean().optional(),
      element: z.strictObject({
        type: z.literal("plain_text_input"),
        action_id: z.string().max(255),
        multiline: z.boolean(),
        max_length: z.number().max(3_000),
      }),
    }),
  ]),
});

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
