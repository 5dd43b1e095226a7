import { z } from "zod";
import type { Author, InboundEvent } from "../../../chat/inbound.ts";
import type { MessageRef, ThreadRef } from "../../../chat/threads.ts";
import {
  type ChannelInfo,
  type Channels,
  parentChannelOf,
  threadOfMessageIn,
} from "../connection/channels.ts";
import { messageRef, readTime } from "../connection/ids.ts";
import { describePerson, memberSchema, type People, userSchema } from "../connection/people.ts";
import { attachmentHandle } from "../surface/attachments.ts";
import { fetchQuote, readForwarded, readShownWords, readText } from "../surface/quotes.ts";
import {
  type DiscordMessage,
  isProgress,
  isWritten,
  MessageParser,
  readAddressee,
} from "./message-parser.ts";
import { SeenMessages } from "./seen-messages.ts";
import { readEmojiName } from "./text.ts";

/** Who we are, according to the application. */
export interface Identity {
  applicationId: string;
  botId: string;
}

const deletedSchema = z.object({ id: z.string(), channel_id: z.string() });
const deletedBulkSchema = z.object({ ids: z.array(z.string()), channel_id: z.string() });

export const reactionSchema = z.object({
  user_id: z.string(),
  channel_id: z.string(),
  message_id: z.string(),
  guild_id: z.string().optional(),
  member: memberSchema.extend({ user: userSchema }).optional(),
  emoji: z.object({ name: z.string().nullish() }),
});

/** Who has put the reaction there. */
export async function findReactor(
  { user_id, member }: z.infer<typeof reactionSchema>,
  { workspace }: ChannelInfo,
  people: People,
): Promise<Author> {
  return member ? describePerson(member.user, member) : await people(user_id, workspace);
}

/** For so long after a message was written a mention that is added to it starts a turn, ms. */
const addedMentionMs = 900_000;

interface EventReaderOptions {
  identity: Identity;
  channels: Channels;
  people: People;
  /** Whether messages without a mention can be read. */
  messageContent: boolean;
  /** Emoji that stop a turn; of custom ones the name. */
  stopReactions: readonly string[];
  /** Whether messages count in that channel that address nobody. Default: in none. */
  isWatched?(workspace: string, channel: string): boolean;
}

/**
 * Turns what Discord dispatches into inbound events; undefined or empty for what does not concern us. Its methods
 * reject when Discord must be asked about somebody or something and does not answer.
 */
export class EventReader {
  readonly #options: EventReaderOptions;
  readonly #parser: MessageParser;
  readonly #stopReactions: ReadonlySet<string>;
  readonly #seen = new SeenMessages();
  #latest = 0;

  constructor(options: EventReaderOptions) {
    this.#options = options;
    this.#parser = new MessageParser(options.identity.botId);
    this.#stopReactions = new Set(options.stopReactions.map(readEmojiName));
  }

  /** Learns the role of the bot from a server, so that its mention counts as one of the bot. */
  learnRole(guild: unknown): void {
    this.#parser.learnRole(guild);
  }

  /** Whether that emoji stops a turn. */
  isStop(emoji: string): boolean {
    return this.#stopReactions.has(readEmojiName(emoji));
  }

  async readCreated(event: unknown): Promise<InboundEvent | undefined> {
    const { identity, channels, people, isWatched } = this.#options;
    const message = this.#parser.parse(event);
    if (!message || message.author.id === identity.botId || !isWritten(message)) return undefined;
    this.#latest = Math.max(this.#latest, readTime(message.id));
    const channel = await channels.channel(message.channel_id);
    const addressed =
      readAddressee(message, channel, identity.botId) ??
      (isWatched?.(channel.workspace, parentChannelOf(channel)) ? "none" : undefined);
    if (!addressed || isProgress(message)) return undefined;
    const thread = threadOfMessageIn(channel, message.id);
    const author = await this.#findAuthor(message, channel);
    const text = this.#readText(message);
    this.#seen.remember(message.id, { author, thread, text });
    const { workspace } = channel;
    const about =
      readForwarded(message, identity.botId) ??
      (await fetchQuote(message.referenced_message, { ...identity, people, workspace }));
    return {
      kind: "message",
      thread,
      ref: toRef(channel, message.id),
      author,
      text,
      attachments: message.attachments.map(attachmentHandle),
      ...(about && { about }),
      addressed,
      at: readTime(message.id),
    };
  }

  /**
   * An edit; and the message itself, where it mentions the bot only since then, as people do who forgot to. Intake knows
   * whether it has had the message before.
   */
  async readChanged(event: unknown): Promise<InboundEvent[]> {
    const message = this.#parser.parse(event);
    const isKnown = message !== undefined && this.#seen.find(message.id) !== undefined;
    const edit = await this.readUpdated(event);
    if (!message || !edit) return [];
    const isFresh = edit.at - readTime(message.id) < addedMentionMs;
    const mentions = message.mentions.some(({ id }) => id === this.#options.identity.botId);
    const isNew = !isKnown && isFresh && mentions && !message.author.bot;
    const added = isNew ? await this.readCreated(event) : undefined;
    return [edit, ...(added ? [added] : [])];
  }

  /** @param before what the message said when Heddle last saw it; by default when this reader did */
  async readUpdated(event: unknown, before?: string): Promise<InboundEvent | undefined> {
    const { identity, channels, messageContent } = this.#options;
    const message = this.#parser.parse(event);
    if (!message || message.author.id === identity.botId || !message.edited_timestamp) return undefined;
    const known = this.#seen.find(message.id);
    const text = this.#readText(message);
    const isHidden = message.content === "" && message.guild_id !== undefined && !messageContent;
    // Also dispatched when a link gets its preview.
    if (text === (before ?? known?.text) || isHidden) return undefined;
    const channel = await channels.channel(message.channel_id);
    const thread = known?.thread ?? threadOfMessageIn(channel, message.id);
    const author = await this.#findAuthor(message, channel);
    this.#seen.remember(message.id, { author, thread, text });
    const at = Date.parse(message.edited_timestamp);
    return { kind: "edit", thread, ref: toRef(channel, message.id), author, text, at };
  }

  /** The deletion of one message or of many. */
  async readDeleted(event: unknown): Promise<InboundEvent[]> {
    const { data: one } = deletedSchema.safeParse(event);
    const { data: many } = deletedBulkSchema.safeParse(event);
    const ids = one ? [one.id] : (many?.ids ?? []);
    const events = ids.map(async (id): Promise<InboundEvent[]> => {
      const known = this.#seen.find(id);
      if (!known) return [];
      const channel = await this.#options.channels.channel((one ?? many)?.channel_id ?? "");
      const { author, thread } = known;
      return [{ kind: "delete", thread, ref: toRef(channel, id), author, at: this.#now() }];
    });
    return (await Promise.all(events)).flat();
  }

  /** @param at when the reaction was added, where that is known better than by the clock */
  async readReaction(reaction: unknown, at = this.#now()): Promise<InboundEvent | undefined> {
    const { identity, channels, people } = this.#options;
    const { data } = reactionSchema.safeParse(reaction);
    if (!data || data.user_id === identity.botId || !this.isStop(data.emoji.name ?? "")) return undefined;
    const channel = await channels.channel(data.channel_id);
    const author = await findReactor(data, channel, people);
    return {
      kind: "stop",
      target: { thread: threadOfMessageIn(channel, data.message_id) },
      author,
      at: Math.max(at, readTime(data.message_id)),
      dedupeKey: data.message_id,
    };
  }

  /** Remembers a message that was read back, so that its deletion can be reported. */
  async learn(event: unknown, thread: ThreadRef): Promise<void> {
    const message = this.#parser.parse(event);
    if (!message) return;
    const channel = await this.#options.channels.channel(message.channel_id);
    const author = await this.#findAuthor(message, channel);
    this.#seen.remember(message.id, { author, thread, text: this.#readText(message) });
  }

  /** Reactions and deletions come without a time. Never before the latest message: the clocks may differ. */
  #now(): number {
    return Math.max(Date.now(), this.#latest);
  }

  /** What a program says in cards too; those under a message of a person are previews of addresses. */
  #readText(message: DiscordMessage): string {
    const read = isPrograms(message) ? readShownWords : readText;
    return read(message, this.#options.identity.botId);
  }

  async #findAuthor(message: DiscordMessage, channel: ChannelInfo): Promise<Author> {
    const { author, member } = message;
    if (isPrograms(message)) return describePerson({ ...author, bot: true }, member);
    // Without a member where there should be one, the message was fetched.
    if (member || message.guild_id === undefined) return describePerson(author, member);
    return this.#options.people(author.id, channel.workspace);
  }
}

function isPrograms({ author, webhook_id }: DiscordMessage): boolean {
  return author.bot === true || webhook_id !== undefined;
}

function toRef(channel: ChannelInfo, message: string): MessageRef {
  return messageRef(
    { workspace: channel.workspace, channel: parentChannelOf(channel) },
    { where: channel.id, message },
  );
}
