import { randomUUID } from "node:crypto";
import { MessageFlags, MessageType, PermissionFlagsBits } from "discord.js";
import type { z } from "zod";
import { refusals } from "./refusal.ts";
import type { callbackBody } from "./schemas.ts";
import {
  type FakeChannel,
  type FakeFile,
  type FakeMenu,
  type FakeMessage,
  type FakeUser,
  wireChannel,
  wireFile,
  wireMember,
  wireMessage,
  wireUser,
  type World,
} from "./world.ts";

type Callback = z.infer<typeof callbackBody>;
type Modal = Extract<Callback, { type: 9 }>["data"];

/** Something that a person does with the app, and what became of it. */
export interface FakeInteraction {
  id: string;
  token: string;
  type: number;
  user: FakeUser;
  channel: FakeChannel;
  /** The message with the button, or of the button that opened the form. */
  on?: FakeMessage;
  /** How the app has answered first; undefined while it has not. */
  answer?: Callback;
  /** The message that the answer has made. */
  reply?: FakeMessage;
  modal?: Modal;
  choices?: string[];
  /** The person reads that the app did not respond. */
  hasFailed: boolean;
  /** Until when the token is good, ms. */
  expires: number;
}

/**
 * Within which an interaction must be answered. Discord gives three seconds; a busy machine holds up the program or the
 * fake for as long as that. For a test of what comes after it there is {@link Interactions.lapse}.
 */
const ackMs = 30_000;

const interactionTypes = { command: 2, button: 3, autocomplete: 4, form: 5 } as const;

/** Interactions: told to every gateway session, answered once and in time. */
export class Interactions {
  readonly all: FakeInteraction[] = [];
  readonly #world: World;
  readonly #onChange: () => void;
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(world: World, onChange: () => void) {
    this.#world = world;
    this.#onChange = onChange;
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  /** Nobody may answer any more. */
  lapse(interaction: FakeInteraction): void {
    interaction.hasFailed = interaction.answer === undefined;
    this.#onChange();
  }

  command(
    user: FakeUser,
    channel: FakeChannel,
    command: { id: string; name: string },
    task: CommandTask,
  ): FakeInteraction {
    const options = Object.entries(task.options).map(([name, value]) => ({ type: 3, name, value }));
    const { file } = task;
    return this.#begin("command", user, channel, {
      ...command,
      type: 1,
      options: file ? [...options, { type: 11, name: "file", value: file.id }] : options,
      ...(file && { resolved: { attachments: { [file.id]: wireFile(this.#world, file, channel) } } }),
    });
  }

  autocomplete(
    user: FakeUser,
    channel: FakeChannel,
    command: { id: string; name: string },
    [name, value]: [string, string],
  ): FakeInteraction {
    const options = [{ type: 3, name, value, focused: true }];
    return this.#begin("autocomplete", user, channel, { ...command, type: 1, options });
  }

  menu(user: FakeUser, message: FakeMessage, command: { id: string; name: string }): FakeInteraction {
    return this.#begin("command", user, message.channel, {
      ...command,
      type: 3,
      target_id: message.id,
      // With its content, whatever the app may read otherwise.
      resolved: { messages: { [message.id]: wireMessage(this.#world, message) } },
    });
  }

  press(user: FakeUser, message: FakeMessage, customId: string): FakeInteraction {
    return this.#begin("button", user, message.channel, { component_type: 2, custom_id: customId }, message);
  }

  choose(user: FakeUser, message: FakeMessage, customId: string, value: string): FakeInteraction {
    const data = { component_type: 3, custom_id: customId, values: [value] };
    return this.#begin("button", user, message.channel, data, message);
  }

  submit({ user, channel, modal, on }: FakeInteraction, text: string): FakeInteraction {
    const [field] = modal?.components ?? [];
    if (!modal || !field) throw new Error("The app has opened no form.");
    if (text === "" && field.component.required !== false)
      throw new Error("Discord sends no form without what it must have.");
    const component = { type: 4, id: 2, custom_id: field.component.custom_id, value: text };
    const data = { custom_id: modal.custom_id, components: [{ type: 18, id: 1, component }] };
    return this.#begin("form", user, channel, data, on);
  }

  /** Fills in the inputs of a form by their labels; what is not named stays as the form has it. */
  fill(
    { user, channel, modal, on }: FakeInteraction,
    inputs: Record<string, string | string[]>,
  ): FakeInteraction {
    if (!modal) throw new Error("The app has opened no form.");
    const components = modal.components.map(({ label, component }, index) => {
      const put = inputs[label];
      const { custom_id: id, required = true } = component;
      const base = { type: component.type, id: index * 2 + 2, custom_id: id };
      if (component.type === 4) {
        const value = String(put ?? component.value ?? "");
        if (value === "" && required) throw new Error("Discord sends no form without what it must have.");
        if (value.length > (component.max_length ?? 4_000))
          throw new Error("Discord takes no more characters.");
        return { type: 18, id: index * 2 + 1, component: { ...base, value } };
      }
      const named = put === undefined ? undefined : [put].flat();
      const values = component.options
        .filter((option) => named?.includes(option.label) ?? option.default === true)
        .map(({ value }) => value);
      if (named && values.length !== named.length)
        throw new Error(`The form does not offer ${named.join()}.`);
      if (
        values.length > component.max_values ||
        (values.length > 0 || required ? values.length < component.min_values : false)
      )
        throw new Error("Discord does not let so many be chosen.");
      return { type: 18, id: index * 2 + 1, component: { ...base, values } };
    });
    return this.#begin("form", user, channel, { custom_id: modal.custom_id, components }, on);
  }

  /** The first answer. @returns the id of the message that it has made */
  answer(id: string, token: string, answer: Callback): Record<string, unknown> {
    const interaction = this.all.find((one) => one.id === id && one.token === token);
    if (!interaction || interaction.hasFailed) throw refusals.unknownInteraction();
    if (interaction.answer) throw refusals.acknowledged();
    if (!fits(interaction, answer))
      throw refusals.invalidForm({ type: "not a response to that interaction" });
    interaction.answer = answer;
    switch (answer.type) {
      case 4:
        interaction.reply = this.#reply(interaction, answer.data.content, answer.data.flags ?? 0);
        Object.assign(interaction.reply, componentsIn(answer.data.components));
        break;
      case 5:
        interaction.reply = this.#reply(interaction, "", (answer.data?.flags ?? 0) | MessageFlags.Loading);
        break;
      case 6:
        break;
      case 7:
        if (!interaction.on) throw refusals.unknownMessage();
        this.#world.edit(interaction.on, {
          ...(answer.data.content !== undefined && { content: answer.data.content }),
          ...(answer.data.components && componentsIn(answer.data.components)),
        });
        break;
      case 8:
        interaction.choices = answer.data.choices.map(({ name }) => name);
        break;
      case 9:
        interaction.modal = answer.data;
    }
    this.#onChange();
    const message = interaction.reply && { response_message_id: interaction.reply.id };
    return { interaction: { id, type: interaction.type, ...message } };
  }

  /** For the webhook of an interaction: the message that the first answer has made. */
  original(token: string): FakeMessage {
    const interaction = this.all.find((one) => one.token === token);
    if (!interaction) throw refusals.unknownWebhook();
    if (Date.now() > interaction.expires) throw refusals.invalidWebhookToken();
    if (!interaction.reply) throw refusals.unknownMessage();
    return interaction.reply;
  }

  changed(message: FakeMessage): void {
    message.flags &= ~MessageFlags.Loading;
  }

  #reply({ channel, user, type }: FakeInteraction, content: string, flags: number): FakeMessage {
    const isEphemeral = (flags & MessageFlags.Ephemeral) !== 0;
    return this.#world.post({
      channel,
      author: this.#world.bot,
      askedBy: user,
      content,
      flags,
      type: type === interactionTypes.command ? MessageType.ChatInputCommand : MessageType.Default,
      ...(isEphemeral && { onlyFor: user }),
    });
  }

  #begin(
    kind: keyof typeof interactionTypes,
    user: FakeUser,
    channel: FakeChannel,
    data: Record<string, unknown>,
    on?: FakeMessage,
  ): FakeInteraction {
    const world = this.#world;
    const interaction: FakeInteraction = {
      id: world.snowflake(),
      token: `token-${randomUUID()}`,
      type: interactionTypes[kind],
      user,
      channel,
      hasFailed: false,
      expires: Date.now() + 15 * 60_000,
      ...(on && { on }),
    };
    this.all.push(interaction);
    const { guild } = channel;
    const timer = setTimeout(() => this.lapse(interaction), ackMs).unref();
    this.#timers.add(timer);
    world.tell({
      type: "INTERACTION_CREATE",
      ...(guild && { guild }),
      data: {
        id: interaction.id,
        application_id: world.applicationId,
        type: interaction.type,
        token: interaction.token,
        version: 1,
        channel_id: channel.id,
        channel: wireChannel(channel),
        data,
        ...(on && { message: wireMessage(world, on) }),
        ...(guild
          ? {
              guild_id: guild.id,
              member: { ...wireMember(guild, user), user: wireUser(user), permissions: "0" },
            }
          : { user: wireUser(user) }),
        app_permissions: String(guild ? world.permissions(channel) : PermissionFlagsBits.SendMessages),
        locale: "en-GB",
        entitlements: [],
        attachment_size_limit: 10_485_760,
        authorizing_integration_owners: { 0: guild?.id ?? "0" },
        context: guild ? 0 : 1,
      },
    });
    return interaction;
  }
}

export interface CommandTask {
  options: Record<string, string>;
  file?: FakeFile;
}

function componentsIn(
  rows: Extract<Callback, { type: 4 }>["data"]["components"] = [],
): Required<Pick<FakeMessage, "components" | "menus">> {
  const menus = rows.flatMap(({ components }): FakeMenu[] =>
    components.flatMap((component) => {
      if (component.type !== 3) return [];
      const { type: _select, ...menu } = component;
      return [menu];
    }),
  );
  const buttons = rows.map((row) => ({
    ...row,
    components: row.components.filter(({ type }) => type === 2),
  }));
  return { menus, components: buttons.filter(({ components }) => components.length > 0) };
}

function fits({ type, on }: FakeInteraction, answer: Callback): boolean {
  switch (answer.type) {
    case 4:
    case 5:
      return type !== interactionTypes.autocomplete;
    // Only of a component, or of the form that it has opened.
    // https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object-interaction-callback-type
    case 6:
    case 7:
      return on !== undefined;
    case 8:
      return type === interactionTypes.autocomplete;
    case 9:
      return type === interactionTypes.command || type === interactionTypes.button;
  }
}
