import { MessageType } from "discord.js";
import { z } from "zod";
import type { Author, InboundEvent, ThreadRef } from "../adapter.ts";
import { attachmentHandle, attachmentSchema } from "./attachments.ts";
import { emojiName } from "./inbound-text.ts";
import { describePerson, memberSchema, type People, userSchema } from "./people.ts";
import { messageRef, timeOf } from "./places.ts";
import { quote, quotedSchema, textOf } from "./quotes.ts";
import { channelOf, type Room, type Rooms, threadAt } from "./rooms.ts";

/** Who we are, as the application tells. */
export interface Identity {
  applicationId: string;
  botId: string;
}

const messageSchema = quotedSchema.extend({
  channel_id: z.string(),
  guild_id: z.string().optional(),
  webhook_id: z.string().optional(),
  member: memberSchema.optional(),
  type: z.number(),
  attachments: z.array(attachmentSchema),
  edited_timestamp: z.string().nullish(),
  referenced_message: quotedSchema.nullish(),
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

/** Turns what Discord dispatches into what the rest of Heddle knows; empty for what does not concern us. */
export interface EventReader {
  created(message: unknown): Promise<InboundEvent | undefined>;
  updated(message: unknown): Promise<InboundEvent | undefined>;
  /** The deletion of one message or of many. */
  deleted(deletion: unknown): Promise<InboundEvent[]>;
  reacted(reaction: unknown): Promise<InboundEvent | undefined>;
}

/** What people write, among all that is a message: joins, pins, the names of threads. */
const written = new Set<number>([MessageType.Default, MessageType.Reply]);

/** Discord tells of a deletion neither whose message it was nor what it said: that much is remembered. */
const remembered = 10_000;

/** @param options.stopReactions emoji that stop a turn; of custom ones the name */
export function createEventReader(options: {
  identity: Identity;
  rooms: Rooms;
  people: People;
  stopReactions: readonly string[];
}): EventReader {
  const { identity, rooms, people } = options;
  const stopReactions = new Set(options.stopReactions.map(emojiName));
  const seen = new Map<string, { author: Author; thread: ThreadRef; text: string }>();
  let latest = 0;

  /** Reactions and deletions come without a time. Never before what has been said: the clocks may differ. */
  const now = () => Math.max(Date.now(), latest);

  const authorOf = async (message: Message, room: Room): Promise<Author> => {
    const { author, member, webhook_id } = message;
    if (author.bot || webhook_id) return describePerson({ ...author, bot: true }, member);
    // Without a member where there should be one, the message was fetched.
    if (member || message.guild_id === undefined) return describePerson(author, member);
    return people(author.id, room.workspace);
  };

  const refOf = (room: Room, message: string) =>
    messageRef({ workspace: room.workspace, channel: channelOf(room) }, { where: room.id, message });

  return {
    async created(event) {
      const { data: message } = messageSchema.safeParse(event);
      if (!message || message.author.id === identity.botId) return undefined;
      if (!written.has(message.type)) return undefined;
      latest = Math.max(latest, timeOf(message.id));
      const isMention = message.mentions.some(({ id }) => id === identity.botId);
      const room = await rooms.room(message.channel_id);
      const addressed = addressee(message, room, isMention);
      if (!addressed) return undefined;
      const thread = threadAt(room, message.id);
      const author = await authorOf(message, room);
      const text = textOf(message, identity.botId);
      seen.set(message.id, { author, thread, text });
      const [oldest] = seen.keys();
      if (seen.size > remembered && oldest !== undefined) seen.delete(oldest);
      const about = await quote(message.referenced_message, {
        ...identity,
        people,
        workspace: room.workspace,
      });
      return {
        kind: "message",
        thread,
        ref: refOf(room, message.id),
        author,
        text,
        attachments: message.attachments.map(attachmentHandle),
        ...(about && { about }),
        addressed,
        at: timeOf(message.id),
      };
    },

    async updated(event) {
      const { data: message } = messageSchema.safeParse(event);
      if (!message || message.author.id === identity.botId || !message.edited_timestamp) return undefined;
      const known = seen.get(message.id);
      const text = textOf(message, identity.botId);
      // Also told when a link gets its preview; and without the right to read, the text is empty.
      if (text === known?.text || message.content === "") return undefined;
      const room = await rooms.room(message.channel_id);
      const thread = known?.thread ?? threadAt(room, message.id);
      const author = await authorOf(message, room);
      seen.set(message.id, { author, thread, text });
      const at = Date.parse(message.edited_timestamp);
      return { kind: "edit", thread, ref: refOf(room, message.id), author, text, at };
    },

    async deleted(event) {
      const { data: one } = deletedSchema.safeParse(event);
      const { data: many } = deletedBulkSchema.safeParse(event);
      const ids = one ? [one.id] : (many?.ids ?? []);
      const events = ids.map(async (id): Promise<InboundEvent[]> => {
        const known = seen.get(id);
        if (!known) return [];
        const room = await rooms.room((one ?? many)?.channel_id ?? "");
        const { author, thread } = known;
        return [{ kind: "delete", thread, ref: refOf(room, id), author, at: now() }];
      });
      return (await Promise.all(events)).flat();
    },

    async reacted(event) {
      const { data } = reactionSchema.safeParse(event);
      if (!data || data.user_id === identity.botId) return undefined;
      if (!stopReactions.has(emojiName(data.emoji.name ?? ""))) return undefined;
      const room = await rooms.room(data.channel_id);
      const author = data.member
        ? describePerson(data.member.user, data.member)
        : await people(data.user_id, room.workspace);
      const at = Math.max(now(), timeOf(data.message_id));
      return { kind: "stop", target: { thread: threadAt(room, data.message_id) }, author, at };
    },
  };
}

function addressee(message: Message, room: Room, isMention: boolean) {
  if (message.guild_id === undefined) return "direct";
  if (isMention) return "mention";
  return room.kind.is === "thread" ? "follow-up" : undefined;
}
