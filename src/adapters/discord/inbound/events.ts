import { MessageType } from "discord.js";
import { z } from "zod";
import type { Author, InboundEvent } from "../../../chat/inbound.ts";
import type { ThreadRef } from "../../../chat/threads.ts";
import {
  type ChannelInfo,
  type Channels,
  parentChannelOf,
  threadOfMessageIn,
} from "../connection/channels.ts";
import { messageRef, readTime } from "../connection/ids.ts";
import { describePerson, memberSchema, type People, userSchema } from "../connection/people.ts";
import { attachmentHandle, attachmentSchema } from "../surface/attachments.ts";
import { readComponentId } from "../surface/buttons.ts";
import { fetchQuote, textOf, writtenSchema } from "../surface/quotes.ts";
import { readEmojiName } from "./text.ts";

/** Who we are, as the application tells. */
export interface Identity {
  applicationId: string;
  botId: string;
}

const rowSchema = z.object({ components: z.array(z.object({ custom_id: z.string().optional() })).catch([]) });

const messageSchema = writtenSchema.extend({
  channel_id: z.string(),
  guild_id: z.string().optional(),
  webhook_id: z.string().optional(),
  member: memberSchema.optional(),
  type: z.number(),
  attachments: z.array(attachmentSchema),
  edited_timestamp: z.string().nullish(),
  mention_roles: z.array(z.string()).default([]),
  components: z.array(rowSchema).catch([]),
  // What it holds is read by `quote`.
  referenced_message: z.unknown().optional(),
});

type Message = z.infer<typeof messageSchema>;

const deletedSchema = z.object({ id: z.string(), channel_id: z.string() });
const deletedBulkSchema = z.object({ ids: z.array(z.string()), channel_id: z.string() });

const reactionSchema = z.object({
  user_id: z.string(),
  channel_id: z.string(),
  message_id: z.string(),
  guild_id: z.string().optional(),
  member: memberSchema.extend({ user: userSchema }).optional(),
  emoji: z.object({ name: z.string().nullish() }),
});

const rolesSchema = z.object({
  roles: z.array(z.object({ id: z.string(), tags: z.object({ bot_id: z.string().optional() }).optional() })),
});

/** Turns what Discord dispatches into what the rest of Heddle knows; empty for what does not concern us. */
export interface EventReader {
  /** Takes the role of the bot from a server: it has the bot's name, so people mention it as well. */
  learnRole(guild: unknown): void;
  created(message: unknown): Promise<InboundEvent | undefined>;
  /** @param before what the message said when Heddle last heard of it; by default when this reader has */
  updated(message: unknown, before?: string): Promise<InboundEvent | undefined>;
  /** The deletion of one message or of many. */
  deleted(deletion: unknown): Promise<InboundEvent[]>;
  /** @param at when it was put there, where that is known better than by the clock */
  reacted(reaction: unknown, at?: number): Promise<InboundEvent | undefined>;
  /** Takes a message that was read back, so that its deletion can be told. */
  learn(message: unknown, thread: ThreadRef): Promise<void>;
  /** Whether that emoji stops a turn. */
  isStop(emoji: string): boolean;
}

/** What people write, among all that is a message: joins, pins, the names of threads. */
const written = new Set<number>([MessageType.Default, MessageType.Reply]);

/** Discord tells of a deletion neither whose message it was nor what it said: that much is remembered. */
interface Seen {
  author: Author;
  thread: ThreadRef;
  text: string;
}
const remembered = 10_000;

/** @param options.stopReactions emoji that stop a turn; of custom ones the name */
export function createEventReader(options: {
  identity: Identity;
  channels: Channels;
  people: People;
  /** Whether messages without a mention can be read. */
  messageContent: boolean;
  stopReactions: readonly string[];
}): EventReader {
  const { identity, channels, people } = options;
  const stopReactions = new Set(options.stopReactions.map(readEmojiName));
  const isStop = (emoji: string) => stopReactions.has(readEmojiName(emoji));
  const seen = new Map<string, Seen>();
  let latest = 0;

  /** Reactions and deletions come without a time. Never before what has been said: the clocks may differ. */
  const now = () => Math.max(Date.now(), latest);

  const ownRoles = new Set<string>();

  /** With mentions of the bot's role as mentions of the bot. Without the right to read, those have no text. */
  const parse = (event: unknown): Message | undefined => {
    const { data } = messageSchema.safeParse(event);
    if (!data?.mention_roles.some((id) => ownRoles.has(id)) || data.content === "") return data;
    const content = data.content.replaceAll(/<@&(\d+)>/g, (mention, id: string) =>
      ownRoles.has(id) ? `<@${identity.botId}>` : mention,
    );
    return { ...data, content, mentions: [{ id: identity.botId, username: "agent" }, ...data.mentions] };
  };

  const authorOf = async (message: Message, channel: ChannelInfo): Promise<Author> => {
    const { author, member, webhook_id } = message;
    if (author.bot || webhook_id) return describePerson({ ...author, bot: true }, member);
    // Without a member where there should be one, the message was fetched.
    if (member || message.guild_id === undefined) return describePerson(author, member);
    return people(author.id, channel.workspace);
  };

  const remember = (message: string, what: Seen) => {
    seen.delete(message);
    seen.set(message, what);
    const [oldest] = seen.keys();
    if (seen.size > remembered && oldest !== undefined) seen.delete(oldest);
  };

  const refOf = (channel: ChannelInfo, message: string) =>
    messageRef(
      { workspace: channel.workspace, channel: parentChannelOf(channel) },
      { where: channel.id, message },
    );

  return {
    learnRole(guild) {
      for (const { id, tags } of rolesSchema.safeParse(guild).data?.roles ?? []) {
        if (tags?.bot_id === identity.botId) ownRoles.add(id);
      }
    },

    async created(event) {
      const message = parse(event);
      if (!message || message.author.id === identity.botId) return undefined;
      if (!written.has(message.type)) return undefined;
      latest = Math.max(latest, readTime(message.id));
      const isMention = message.mentions.some(({ id }) => id === identity.botId);
      const channel = await channels.channel(message.channel_id);
      const addressed = addressee(message, channel, isMention);
      if (!addressed || isProgress(message)) return undefined;
      const thread = threadOfMessageIn(channel, message.id);
      const author = await authorOf(message, channel);
      const text = textOf(message, identity.botId);
      remember(message.id, { author, thread, text });
      const about = await fetchQuote(message.referenced_message, {
        ...identity,
        people,
        workspace: channel.workspace,
      });
      return {
        kind: "message",
        thread,
        ref: refOf(channel, message.id),
        author,
        text,
        attachments: message.attachments.map(attachmentHandle),
        ...(about && { about }),
        addressed,
        at: readTime(message.id),
      };
    },

    async updated(event, before) {
      const message = parse(event);
      if (!message || message.author.id === identity.botId || !message.edited_timestamp) return undefined;
      const known = seen.get(message.id);
      const text = textOf(message, identity.botId);
      const isHidden = message.content === "" && message.guild_id !== undefined && !options.messageContent;
      // Also told when a link gets its preview.
      if (text === (before ?? known?.text) || isHidden) return undefined;
      const channel = await channels.channel(message.channel_id);
      const thread = known?.thread ?? threadOfMessageIn(channel, message.id);
      const author = await authorOf(message, channel);
      remember(message.id, { author, thread, text });
      const at = Date.parse(message.edited_timestamp);
      return { kind: "edit", thread, ref: refOf(channel, message.id), author, text, at };
    },

    async deleted(event) {
      const { data: one } = deletedSchema.safeParse(event);
      const { data: many } = deletedBulkSchema.safeParse(event);
      const ids = one ? [one.id] : (many?.ids ?? []);
      const events = ids.map(async (id): Promise<InboundEvent[]> => {
        const known = seen.get(id);
        if (!known) return [];
        const channel = await channels.channel((one ?? many)?.channel_id ?? "");
        const { author, thread } = known;
        return [{ kind: "delete", thread, ref: refOf(channel, id), author, at: now() }];
      });
      return (await Promise.all(events)).flat();
    },

    isStop,

    async learn(event, thread) {
      const message = parse(event);
      if (!message) return;
      const author = await authorOf(message, await channels.channel(message.channel_id));
      remember(message.id, { author, thread, text: textOf(message, identity.botId) });
    },

    async reacted(event, at = now()) {
      const { data } = reactionSchema.safeParse(event);
      if (!data || data.user_id === identity.botId || !isStop(data.emoji.name ?? "")) return undefined;
      const channel = await channels.channel(data.channel_id);
      const author = data.member
        ? describePerson(data.member.user, data.member)
        : await people(data.user_id, channel.workspace);
      return {
        kind: "stop",
        target: { thread: threadOfMessageIn(channel, data.message_id) },
        author,
        at: Math.max(at, readTime(data.message_id)),
        dedupeKey: data.message_id,
      };
    },
  };
}

/** Whether another Heddle shows in it what it does: that is not yet what it has to say. */
function isProgress({ author, components: rows }: Message): boolean {
  const ids = rows.flatMap(({ components }) => components.map(({ custom_id = "" }) => custom_id));
  return author.bot === true && ids.some((id) => readComponentId(id)?.kind === "stop");
}

function addressee(message: Message, channel: ChannelInfo, isMention: boolean) {
  if (message.guild_id === undefined) return "direct";
  if (isMention) return "mention";
  return channel.kind.is === "thread" ? "follow-up" : undefined;
}
