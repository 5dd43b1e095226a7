import {
  ApplicationCommandType,
  InteractionResponseType,
  InteractionType,
  type REST,
  Routes,
} from "discord.js";
import type { BaseLogger } from "pino";
import { z } from "zod";
import type { AttachmentHandle, Author, InboundEvent, RoomMessage, Verdict } from "../adapter.ts";
import { attachmentHandle, attachmentSchema } from "./attachments.ts";
import { fieldId, readId, sentenceForm, taskForm } from "./buttons.ts";
import type { Identity } from "./events.ts";
import { describePerson, memberSchema, type People, userSchema } from "./people.ts";
import { missingFrom } from "./permissions.ts";
import { directWorkspace, messageRef, timeOf } from "./places.ts";
import { quote } from "./quotes.ts";
import { changeReply, respond, tellOnly } from "./replies.ts";
import { channelOf, type Rooms, threadAt } from "./rooms.ts";

/** What `/agent` suggests. */
export interface Choices {
  models: readonly string[];
  skills: readonly string[];
}

const baseSchema = z.object({
  id: z.string(),
  token: z.string(),
  application_id: z.string(),
  guild_id: z.string().optional(),
  channel_id: z.string(),
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
  data: z.object({ custom_id: z.string() }),
  message: z.object({ id: z.string() }),
});

const formSchema = baseSchema.extend({
  type: z.literal(InteractionType.ModalSubmit),
  data: z.object({
    custom_id: z.string(),
    components: z.array(
      z.object({ component: z.object({ custom_id: z.string(), value: z.string() }).optional() }),
    ),
  }),
  /** Of a form that a button has opened. */
  message: z.object({ id: z.string() }).optional(),
});

const interactionSchema = z.discriminatedUnion("type", [
  commandSchema,
  autocompleteSchema,
  buttonSchema,
  formSchema,
]);

type Base = z.infer<typeof baseSchema>;
type Interaction = z.infer<typeof interactionSchema>;
type Of<Type extends Interaction["type"]> = Extract<Interaction, { type: Type }>;

interface Task {
  text: string;
  attachments?: AttachmentHandle[];
  options?: { model?: string; skill?: string };
  about?: RoomMessage;
}

/** Discord shows 25 choices of at most 100 characters. */
const mostChoices = 25;
const choiceChars = 100;
/** The task is shown in the message that the thread starts from. */
const shownChars = 1_500;
/** Messages that somebody is being asked about. */
const mostPending = 500;

const notStored = "I cannot take this at the moment, and nothing was done. Please try again in a minute.";

/** Handles slash commands, context menus, suggestions, buttons and forms. */
export function createInteractions(options: {
  rest: REST;
  identity: Identity;
  rooms: Rooms;
  people: People;
  mayAsk(workspace: string, author: Author): boolean;
  choices(workspace: string, author: Author): Promise<Choices>;
  receive(event: InboundEvent): Promise<Verdict>;
  log: BaseLogger;
}): (interaction: unknown) => Promise<void> {
  const { rest, rooms, people, identity, receive, log } = options;
  const pending = new Map<string, RoomMessage>();

  /**
   * Takes a task. The answer that the person sees makes the message from which the thread starts, so it comes
   * first; it promises nothing. What is stored is marked by whoever stored it.
   */
  const take = async (interaction: Base, task: Task): Promise<void> => {
    const room = await rooms.room(interaction.channel_id);
    const missing = interaction.guild_id === undefined ? [] : missingFrom(interaction.app_permissions);
    if (missing.length > 0) {
      const text = `I cannot work in #${room.name}: I lack ${missing.join(", ")}. Ask somebody who manages this server to grant it.`;
      return tellOnly(rest, interaction, text);
    }
    const author = authorOf(interaction);
    const eventAt = (message: string): Extract<InboundEvent, { kind: "message" }> => ({
      kind: "message",
      thread: threadAt(room, message),
      ref: messageRef({ workspace: room.workspace, channel: channelOf(room) }, { where: room.id, message }),
      author,
      attachments: [],
      ...task,
      addressed: interaction.guild_id === undefined ? "direct" : "mention",
      at: timeOf(interaction.id),
    });
    if (!options.mayAsk(room.workspace, author)) {
      // Without a message of its own there is nothing in the channel to answer.
      return settle(interaction, { ...eventAt(interaction.id), tellsRefusal: true });
    }
    const type = InteractionResponseType.DeferredChannelMessageWithSource;
    const reply = await respond(rest, interaction, { type });
    if (!reply) return;
    if (reply.message === undefined)
      throw new Error("Discord did not say which message its answer has made.");
    await changeReply(rest, interaction, announcement(author, task)).catch((error: unknown) =>
      log.warn({ err: error }, "The answer to a command could not be shown."),
    );
    try {
      await receive(eventAt(reply.message));
    } catch (error) {
      await changeReply(rest, interaction, notStored).catch(() => undefined);
      throw error;
    }
  };

  /** Persists what a press means, and only then acknowledges it: a second gateway may do the same. */
  const settle = async (interaction: Base, event: InboundEvent): Promise<void> => {
    let verdict: Verdict;
    try {
      verdict = await receive(event);
    } catch (error) {
      await tellOnly(rest, interaction, notStored).catch(() => undefined);
      throw error;
    }
    if (verdict.kind === "refused") return tellOnly(rest, interaction, verdict.reply);
    if (verdict.kind === "ignored" && event.kind === "stop") {
      return tellOnly(rest, interaction, "There is nothing to stop here, or you may not stop it.");
    }
    await respond(rest, interaction, { type: InteractionResponseType.DeferredMessageUpdate });
  };

  const act = async (
    interaction: Base,
    { action, message, text }: { action: string; message: string; text?: string },
  ) => {
    const room = await rooms.room(interaction.channel_id);
    await settle(interaction, {
      kind: "action",
      thread: threadAt(room, message),
      ref: messageRef({ workspace: room.workspace, channel: channelOf(room) }, { where: room.id, message }),
      author: authorOf(interaction),
      action,
      tellsRefusal: true,
      ...(text !== undefined && { text }),
      at: timeOf(interaction.id),
    });
  };

  const command = async (interaction: Of<InteractionType.ApplicationCommand>): Promise<void> => {
    const { data } = interaction;
    if (data.type === ApplicationCommandType.ChatInput) {
      const value = (name: string) => data.options.find((option) => option.name === name)?.value;
      const [model, skill, file] = [
        value("model"),
        value("skill"),
        data.resolved.attachments[value("file") ?? ""],
      ];
      return take(interaction, {
        text: value("prompt") ?? "",
        ...(file && { attachments: [attachmentHandle(file)] }),
        ...((model || skill) && { options: { ...(model && { model }), ...(skill && { skill }) } }),
      });
    }
    const { workspace } = await rooms.room(interaction.channel_id);
    // What the bot may not read by itself comes with the command, but not with the form.
    const about = await quote(data.resolved.messages[data.target_id], { ...identity, people, workspace });
    if (about) {
      pending.set(`${interaction.channel_id}/${data.target_id}`, about);
      const [oldest] = pending.keys();
      if (pending.size > mostPending && oldest !== undefined) pending.delete(oldest);
    }
    const form = taskForm(data.target_id);
    await respond(rest, interaction, { type: InteractionResponseType.Modal, data: form });
  };

  const suggest = async (interaction: Of<InteractionType.ApplicationCommandAutocomplete>): Promise<void> => {
    const workspace = interaction.guild_id ?? directWorkspace;
    const { models, skills } = await options.choices(workspace, authorOf(interaction));
    const focused = interaction.data.options.find((option) => option.focused);
    const typed = focused?.value.toLowerCase() ?? "";
    const choices = (focused?.name === "skill" ? skills : models)
      .filter((name) => name.length <= choiceChars && name.toLowerCase().includes(typed))
      .slice(0, mostChoices)
      .map((name) => ({ name, value: name }));
    const type = InteractionResponseType.ApplicationCommandAutocompleteResult;
    await respond(rest, interaction, { type, data: { choices } });
  };

  const press = async (interaction: Of<InteractionType.MessageComponent>): Promise<void> => {
    const meaning = readId(interaction.data.custom_id);
    const message = interaction.message.id;
    switch (meaning?.kind) {
      case "stop": {
        const room = await rooms.room(interaction.channel_id);
        const author = authorOf(interaction);
        const at = timeOf(interaction.id);
        return settle(interaction, { kind: "stop", target: { thread: threadAt(room, message) }, author, at });
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
        return tellOnly(rest, interaction, "This button is of an earlier version and does nothing any more.");
    }
  };

  const submit = async (interaction: Of<InteractionType.ModalSubmit>): Promise<void> => {
    const meaning = readId(interaction.data.custom_id);
    const fields = interaction.data.components.map(({ component }) => component);
    const text = fields.find((field) => field?.custom_id === fieldId)?.value ?? "";
    if (meaning?.kind === "said" && interaction.message) {
      return act(interaction, { action: meaning.action, message: interaction.message.id, text });
    }
    if (meaning?.kind !== "about") return;
    const { channel_id: where } = interaction;
    const { message } = meaning;
    const about = pending.get(`${where}/${message}`) ?? (await fetchQuote(where, message));
    return take(interaction, { text, ...(about && { about }) });
  };

  const fetchQuote = async (where: string, message: string): Promise<RoomMessage | undefined> => {
    const { workspace } = await rooms.room(where);
    return quote(await rest.get(Routes.channelMessage(where, message)), { ...identity, people, workspace });
  };

  return async (raw) => {
    const { data: interaction } = interactionSchema.safeParse(raw);
    switch (interaction?.type) {
      case InteractionType.ApplicationCommand:
        return command(interaction);
      case InteractionType.ApplicationCommandAutocomplete:
        return suggest(interaction);
      case InteractionType.MessageComponent:
        return press(interaction);
      case InteractionType.ModalSubmit:
        return submit(interaction);
      case undefined:
        return;
    }
  };
}

function authorOf({ member, user }: Base): Author {
  const who = member?.user ?? user;
  if (!who) throw new Error("Discord did not say who has used a command.");
  return describePerson(who, member);
}

/** What everybody sees of a task that was given with a command. */
function announcement(author: Author, { text, attachments = [], about }: Task): string {
  const short = text.length > shownChars ? `${text.slice(0, shownChars)}…` : text;
  const files = attachments.map(({ name }) => name);
  const small = [
    `asked by <@${author.id}>`,
    ...files,
    ...(about ? [`about a message of ${about.author.name}`] : []),
  ];
  return `${short.replaceAll(/^/gm, "> ")}\n-# ${small.join(" · ")}`;
}
