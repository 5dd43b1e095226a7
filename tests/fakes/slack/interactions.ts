import { z } from "zod";
import { buttonsOf, visibleBlocks } from "./blocks.ts";
import type { FakeElement } from "./methods-views.ts";
import type { Delivery, NewDelivery } from "./socket-mode.ts";
import {
  type FakeChannel,
  type FakeEvent,
  type FakeMessage,
  type FakeModal,
  type FakeUser,
  type Workspace,
  wireMessage,
} from "./workspace.ts";

/** What a person does with the parts of the app that are not messages. The delivery tells what became of it. */
export interface InteractivePerson {
  /** Presses the button with that action; fails when the message does not show one. */
  presses(action: string, message: FakeMessage): Promise<Delivery>;
  /** Types a slash command, `/agent build it`. */
  commands(channel: FakeChannel, line: string): Delivery;
  /** Chooses a shortcut in the menu of a message. */
  chooses(shortcut: string, message: FakeMessage): Delivery;
  /** The modal that is open for the person. */
  modal(): FakeModal | undefined;
  /** Writes into the field of the open modal and submits it. It closes when the app has no objection. */
  submits(text: string): Delivery;
  /** Fills in the inputs of the open modal by their labels and submits it; the rest stays as the modal has it. */
  fillsIn(inputs: Record<string, string | string[]>): Delivery;
  /** Opens the app's home tab, or its messages. */
  opensApp(tab: "home" | "messages"): Delivery;
  /** What the home tab shows. */
  home(): string | undefined;
  /** What the app has told this person alone. */
  ephemerals(): string[];
}

type Option = { value: string; text: { text: string } };

/** What the element has when it is sent. https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload */
function putInto(
  element: FakeElement,
  put: string | string[] | undefined,
): { value?: string | null; selected_option?: Option | null; selected_options?: Option[] } {
  const pick = (options: readonly Option[]) => {
    const named = [put ?? []].flat();
    const picked = options.filter(({ text }) => named.includes(text.text));
    if (picked.length !== named.length) throw new Error(`The modal does not offer ${named.join()}.`);
    return picked;
  };
  switch (element.type) {
    case "plain_text_input":
    case "number_input": {
      const value = String(put ?? element.initial_value ?? "");
      if (element.type === "number_input" && value !== "" && !Number.isFinite(Number(value)))
        throw new Error("Slack takes only a number there.");
      if (element.type === "plain_text_input" && value.length > element.max_length)
        throw new Error("Slack takes no more characters.");
      return { value: value === "" ? null : value };
    }
    case "static_select":
      return {
        selected_option:
          put === undefined ? (element.initial_option ?? null) : (pick(element.options)[0] ?? null),
      };
    case "multi_static_select":
      return {
        selected_options: put === undefined ? (element.initial_options ?? []) : pick(element.options),
      };
  }
}

type Deliver = (delivery: NewDelivery) => Delivery;

const objectionSchema = z.object({
  response_action: z.literal("errors"),
  errors: z.record(z.string(), z.string()),
});

const ephemeralSchema = z.object({ text: z.string() });

export function interactions(
  workspace: Workspace,
  user: FakeUser,
  deliver: Deliver,
  tell: (event: FakeEvent) => Delivery,
): InteractivePerson {
  const common = () => ({
    user: { id: user.id, username: user.name, name: user.name, team_id: user.teamId },
    api_app_id: workspace.appId,
    team: { id: workspace.teamId, domain: "fake" },
    enterprise: null,
    is_enterprise_install: false,
    trigger_id: workspace.trigger(user),
    // https://docs.slack.dev/reference/interaction-payloads/block_actions-payload
    ...(workspace.organisation && {
      team: null,
      enterprise: { id: workspace.organisation.id, name: "Fake organisation" },
      is_enterprise_install: true,
    }),
  });
  const interact = (payload: Record<string, unknown> & { type: string }) =>
    deliver({ kind: "interactive", type: payload.type, payload });

  return {
    async presses(action, message) {
      const pressed = buttonsOf(message).find(({ action_id }) => action_id === action);
      if (!pressed) throw new Error(`The message shows no button "${action}".`);
      const { channel, ts, threadTs } = message;
      channel.members.add(user.id);
      return interact({
        ...common(),
        type: "block_actions",
        container: { type: "message", message_ts: ts, channel_id: channel.id, thread_ts: threadTs },
        channel: { id: channel.id, name: channel.name },
        message: wireMessage(workspace, message),
        state: { values: {} },
        response_url: workspace.address("/response"),
        actions: [
          {
            ...pressed,
            action_id: pressed.actionId ?? pressed.action_id,
            block_id: "b",
            action_ts: workspace.timestamp(),
          },
        ],
      });
    },

    commands(channel, line) {
      const [command = "", ...words] = line.split(" ");
      channel.members.add(user.id);
      return deliver({
        kind: "slash_commands",
        type: command,
        payload: {
          command,
          text: words.join(" ").replaceAll("<@BOT>", `<@${workspace.bot.id}|${workspace.bot.name}>`),
          user_id: user.id,
          user_name: user.name,
          channel_id: channel.id,
          channel_name: channel.name,
          team_id: workspace.teamId,
          team_domain: "fake",
          api_app_id: workspace.appId,
          is_enterprise_install: String(workspace.organisation !== undefined),
          ...(workspace.organisation && { enterprise_id: workspace.organisation.id }),
          response_url: workspace.address("/response"),
          trigger_id: workspace.trigger(user),
        },
        onAnswer(answer) {
          const { data } = ephemeralSchema.safeParse(answer);
          if (data) workspace.ephemerals.push({ user: user.id, channel: channel.id, text: data.text });
        },
      });
    },

    chooses(shortcut, message) {
      const { channel } = message;
      channel.members.add(user.id);
      return interact({
        ...common(),
        type: "message_action",
        callback_id: shortcut,
        action_ts: workspace.timestamp(),
        message_ts: message.ts,
        channel: { id: channel.id, name: channel.name },
        message: wireMessage(workspace, message),
        response_url: workspace.address("/response"),
      });
    },

    modal: () => workspace.modals.get(user.id),

    submits(text) {
      const modal = workspace.modals.get(user.id);
      if (!modal) throw new Error(`${user.name} has no modal open.`);
      const { callback_id, private_metadata, field, isOptional } = modal.view;
      if (text === "" && !isOptional) throw new Error("Slack sends no modal without what it must have.");
      const [block, action] = field;
      const values = {
        [block]: { [action]: { type: "plain_text_input", value: text === "" ? null : text } },
      };
      return deliver({
        kind: "interactive",
        type: "view_submission",
        payload: {
          ...common(),
          type: "view_submission",
          view: { type: "modal", callback_id, private_metadata, state: { values } },
        },
        onAnswer(answer) {
          const objection = objectionSchema.safeParse(answer).data?.errors[block];
          if (objection === undefined) workspace.modals.delete(user.id);
          else modal.problem = objection;
        },
      });
    },

    fillsIn(inputs) {
      const modal = workspace.modals.get(user.id);
      if (!modal) throw new Error(`${user.name} has no modal open.`);
      const values = modal.view.inputs.map(({ id, label, isOptional, element }) => {
        const state = putInto(element, inputs[label]);
        const isEmpty = !state.value && !state.selected_option && !state.selected_options?.length;
        if (isEmpty && !isOptional) throw new Error("Slack sends no modal without what it must have.");
        return [id, { [element.action_id]: { type: element.type, ...state } }];
      });
      const { callback_id, private_metadata } = modal.view;
      const state = { values: Object.fromEntries(values) };
      return deliver({
        kind: "interactive",
        type: "view_submission",
        payload: {
          ...common(),
          type: "view_submission",
          view: { type: "modal", callback_id, private_metadata, state },
        },
        onAnswer(answer) {
          const [objection] = Object.entries(objectionSchema.safeParse(answer).data?.errors ?? {});
          if (!objection) return void workspace.modals.delete(user.id);
          const at = modal.view.inputs.find(({ id }) => id === objection[0]);
          if (!at) throw new Error("Slack refuses an error at a block that the modal has not.");
          modal.problem = `${at.label}: ${objection[1]}`;
        },
      });
    },

    opensApp: (tab) =>
      tell({
        type: "app_home_opened",
        user: user.id,
        channel: workspace.id("D"),
        tab,
        event_ts: workspace.timestamp(),
      }),

    home() {
      const blocks = workspace.homes.get(user.id);
      return blocks && visibleBlocks(blocks);
    },

    ephemerals: () =>
      workspace.ephemerals.filter((ephemeral) => ephemeral.user === user.id).map(({ text }) => text),
  };
}
