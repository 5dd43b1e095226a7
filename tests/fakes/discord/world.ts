import { ChannelFlags, ChannelType, MessageFlags, PermissionFlagsBits } from "discord.js";

export interface FakeUser {
  id: string;
  username: string;
  isBot: boolean;
  /** Takes no direct messages of the bot. */
  isClosed: boolean;
}

export interface FakeGuild {
  id: string;
  name: string;
  /** By user. The role of everybody is in no list. */
  members: Map<string, { roles: string[]; nick?: string; pending: boolean }>;
  roles: Map<string, { id: string; name: string; permissions: bigint }>;
  /** The role that came with the bot. */
  botRole: string;
}

export interface FakeChannel {
  id: string;
  type: ChannelType;
  name: string;
  guild?: FakeGuild;
  /** Of a thread: the channel that it is in. */
  parent?: FakeChannel;
  /** Of a direct conversation. */
  recipient?: FakeUser;
  /** What the bot's role is denied there. */
  denied: bigint;
  isArchived: boolean;
  isLocked: boolean;
  /** Of a forum: its tags, and whether each post must have one. */
  forum?: { tags: { id: string; name: string; moderated: boolean }[]; requiresTag: boolean };
  /** Of a post in one. */
  tags?: string[];
  /** Of a thread: who is told of what comes in it. */
  members: Set<FakeUser>;
  /** In the order of their time; deleted ones are gone. */
  messages: FakeMessage[];
}

export interface FakeFile {
  id: string;
  name: string;
  mediaType: string;
  content: Buffer;
  /** Until when its address is good, ms. */
  expires: number;
}

export interface FakeMessage {
  id: string;
  channel: FakeChannel;
  author: FakeUser;
  content: string;
  type: number;
  flags: number;
  components: FakeRow[];
  menus?: FakeMenu[];
  files: FakeFile[];
  embeds: FakeEmbed[];
  /** Emoji to ids of users. */
  reactions: Map<string, Set<string>>;
  mentions: FakeUser[];
  replyTo?: FakeMessage;
  /** What it forwards; then it says nothing itself. */
  forwards?: FakeMessage;
  editedAt?: number;
  /** By how much it is older than its id tells, ms. */
  olderMs?: number;
  nonce?: string;
  /** Of an answer to an interaction: whose it was. */
  askedBy?: FakeUser;
  /** Seen by that person alone. */
  onlyFor?: FakeUser;
  edits: number;
}

export interface FakeEmbed {
  title?: string;
  description?: string;
  fields?: { name: string; value: string }[];
}

export interface FakeRow {
  components: FakeButton[];
}

/** A string select. */
export interface FakeMenu {
  custom_id: string;
  placeholder?: string | undefined;
  options: { value: string; label: string; description?: string | undefined }[];
}

export interface FakeButton {
  custom_id: string;
  label?: string;
}

/** Something that Discord would dispatch, before it is decided who is told. */
export interface FakeDispatch {
  type: string;
  data: Record<string, unknown>;
  guild?: FakeGuild;
  channel?: FakeChannel;
  /** Whether the data is a message whose content only some may read. */
  message?: FakeMessage;
}

const epochMs = 1_420_070_400_000;

const threadTypes = [ChannelType.PublicThread, ChannelType.PrivateThread];

/** The state of a small Discord with one bot in it. Every change is told as the dispatch that Discord would send. */
export class World {
  readonly applicationId: string;
  readonly bot: FakeUser;
  readonly users = new Map<string, FakeUser>();
  readonly guilds = new Map<string, FakeGuild>();
  readonly channels = new Map<string, FakeChannel>();
  readonly files = new Map<string, FakeFile>();
  readonly tell: (dispatch: FakeDispatch) => void;
  /** An address on the fake's server. */
  readonly address: (path: string) => string;
  #lastId = 0n;

  constructor(address: (path: string) => string, tell: (dispatch: FakeDispatch) => void) {
    this.address = address;
    this.tell = tell;
    this.applicationId = this.snowflake();
    this.bot = { id: this.applicationId, username: "heddle", isBot: true, isClosed: false };
    this.users.set(this.bot.id, this.bot);
  }

  /** An id as Discord makes them: it counts the real time, and is never the same twice. */
  snowflake(at = Date.now()): string {
    const id = BigInt(at - epochMs) << 22n;
    if (at < Date.now() - 1_000) return String(id);
    this.#lastId = id > this.#lastId ? id : this.#lastId + 1n;
    return String(this.#lastId);
  }

  message(channel: FakeChannel, id: string): FakeMessage | undefined {
    return channel.messages.find((message) => message.id === id);
  }

  /** The conversation of the bot with that person alone, opened if there is none. */
  direct(user: FakeUser): FakeChannel {
    const known = [...this.channels.values()].find(({ recipient }) => recipient === user);
    if (known) return known;
    const channel: FakeChannel = {
      ...{ id: this.snowflake(), type: ChannelType.DM, name: `@${user.username}`, recipient: user },
      ...{ denied: 0n, isArchived: false, isLocked: false, messages: [], members: new Set() },
    };
    this.channels.set(channel.id, channel);
    return channel;
  }

  isThread({ type }: FakeChannel): boolean {
    return threadTypes.includes(type);
  }

  threads(guild: FakeGuild): FakeChannel[] {
    return [...this.channels.values()].filter((channel) => channel.guild === guild && this.isThread(channel));
  }

  /** What the bot may do there. */
  permissions(channel: FakeChannel): bigint {
    const { guild } = channel;
    if (!guild) return ~0n;
    const roles = [guild.roles.get(guild.id), guild.roles.get(guild.botRole)];
    const base = roles.reduce((bits, role) => bits | (role?.permissions ?? 0n), 0n);
    return base & ~(channel.parent ?? channel).denied;
  }

  may(channel: FakeChannel, permission: keyof typeof PermissionFlagsBits): boolean {
    return (this.permissions(channel) & PermissionFlagsBits[permission]) !== 0n;
  }

  post(message: Pick<FakeMessage, "channel" | "author" | "content"> & Partial<FakeMessage>): FakeMessage {
    const mentioned = this.#mentionedIn(message.content);
    const posted: FakeMessage = {
      id: this.snowflake(),
      type: message.replyTo ? 19 : 0,
      flags: 0,
      components: [],
      files: [],
      embeds: [],
      reactions: new Map(),
      mentions: [...new Set([...mentioned, ...(message.replyTo ? [message.replyTo.author] : [])])],
      edits: 0,
      ...message,
    };
    const { channel } = posted;
    channel.messages.push(posted);
    if (channel.isArchived) {
      channel.isArchived = false;
      this.tellChanged(channel);
    }
    if (!posted.onlyFor) this.#tellMessage("MESSAGE_CREATE", posted);
    return posted;
  }

  edit(
    message: FakeMessage,
    change: Partial<Pick<FakeMessage, "content" | "components" | "menus" | "flags">>,
  ): void {
    Object.assign(message, change, { editedAt: Date.now(), edits: message.edits + 1 });
    // What the bot writes mentions nobody whom it does not name.
    if (message.author !== this.bot && change.content !== undefined)
      message.mentions = this.#mentionedIn(message.content);
    if (!message.onlyFor) this.#tellMessage("MESSAGE_UPDATE", message);
  }

  #mentionedIn(content: string): FakeUser[] {
    return [...content.matchAll(/<@!?(\d+)>/g)].flatMap(([, id]) => this.users.get(id ?? "") ?? []);
  }

  /** A link got its preview: the message is told anew although nobody has changed it. */
  unfurl(message: FakeMessage): void {
    this.#tellMessage("MESSAGE_UPDATE", message);
  }

  remove(message: FakeMessage): void {
    const { channel } = message;
    channel.messages.splice(channel.messages.indexOf(message), 1);
    const data = { id: message.id, channel_id: channel.id, ...guildId(channel) };
    this.tell({ type: "MESSAGE_DELETE", data, channel, ...inGuild(channel) });
  }

  react(user: FakeUser, emoji: string, message: FakeMessage): void {
    message.reactions.set(emoji, (message.reactions.get(emoji) ?? new Set()).add(user.id));
    this.#tellReaction("MESSAGE_REACTION_ADD", user, emoji, message);
  }

  unreact(user: FakeUser, emoji: string, message: FakeMessage): void {
    const users = message.reactions.get(emoji);
    users?.delete(user.id);
    if (users?.size === 0) message.reactions.delete(emoji);
    this.#tellReaction("MESSAGE_REACTION_REMOVE", user, emoji, message);
  }

  startThread(message: FakeMessage, name: string): FakeChannel {
    const parent = message.channel;
    const thread: FakeChannel = {
      ...parent,
      id: message.id,
      type: ChannelType.PublicThread,
      name,
      parent,
      messages: [],
      members: new Set(),
    };
    this.channels.set(thread.id, thread);
    message.flags |= MessageFlags.HasThread;
    this.tell({ type: "THREAD_CREATE", data: wireChannel(thread), channel: thread, ...inGuild(thread) });
    return thread;
  }

  /** A post in a forum: a thread whose first message has its id. */
  startPost(forum: FakeChannel, name: string, tags: string[], message: Partial<FakeMessage>): FakeChannel {
    const { forum: _, ...parent } = forum;
    const thread: FakeChannel = {
      ...{ ...parent, id: this.snowflake(), type: ChannelType.PublicThread, name, parent: forum, tags },
      ...{ messages: [], members: new Set() },
    };
    this.channels.set(thread.id, thread);
    this.tell({ type: "THREAD_CREATE", data: wireChannel(thread), channel: thread, ...inGuild(thread) });
    this.post({ channel: thread, author: this.bot, content: "", ...message, id: thread.id });
    return thread;
  }

  /** https://docs.discord.com/developers/events/gateway-events#thread-update */
  tellChanged(channel: FakeChannel): void {
    this.tell({ type: "THREAD_UPDATE", data: wireChannel(channel), channel, ...inGuild(channel) });
  }

  deleteThread(thread: FakeChannel): void {
    this.channels.delete(thread.id);
    const start = thread.parent && this.message(thread.parent, thread.id);
    if (start) start.flags &= ~MessageFlags.HasThread;
    const { id, type, guild, parent } = thread;
    const data = { id, type, guild_id: guild?.id, parent_id: parent?.id };
    this.tell({ type: "THREAD_DELETE", data, channel: thread, ...inGuild(thread) });
  }

  /** Discord tells of the channel alone, not of its threads. https://docs.discord.com/developers/events/gateway-events#channel-delete */
  deleteChannel(channel: FakeChannel): void {
    for (const other of this.channels.values()) if (other.parent === channel) this.channels.delete(other.id);
    this.channels.delete(channel.id);
    const data = wireChannel(channel);
    this.tell({ type: "CHANNEL_DELETE", data, channel, ...inGuild(channel) });
  }

  /** @param isOutage the server is only out of reach. https://docs.discord.com/developers/events/gateway-events#guild-delete */
  removeBot(guild: FakeGuild, isOutage: boolean): void {
    if (!isOutage) this.guilds.delete(guild.id);
    this.tell({
      type: "GUILD_DELETE",
      data: { id: guild.id, ...(isOutage && { unavailable: true }) },
      guild,
    });
  }

  changeChannel(channel: FakeChannel): void {
    const data = wireChannel(channel);
    this.tell({ type: "CHANNEL_UPDATE", data, channel, ...inGuild(channel) });
  }

  #tellMessage(type: string, message: FakeMessage): void {
    const { channel } = message;
    const data = {
      ...wireMessage(this, message),
      ...guildId(channel),
      ...(channel.guild && { member: wireMember(channel.guild, message.author) }),
    };
    this.tell({ type, data, channel, message, ...inGuild(channel) });
  }

  #tellReaction(type: string, user: FakeUser, emoji: string, message: FakeMessage): void {
    const { channel, author } = message;
    const { guild } = channel;
    const data = {
      user_id: user.id,
      channel_id: channel.id,
      message_id: message.id,
      ...guildId(channel),
      ...(guild &&
        type === "MESSAGE_REACTION_ADD" && { member: { ...wireMember(guild, user), user: wireUser(user) } }),
      message_author_id: author.id,
      emoji: { id: null, name: emoji },
      burst: false,
      type: 0,
    };
    this.tell({ type, data, channel, ...inGuild(channel) });
  }
}

function inGuild({ guild }: FakeChannel): { guild?: FakeGuild } {
  return guild ? { guild } : {};
}

function guildId({ guild }: FakeChannel): { guild_id?: string } {
  return guild ? { guild_id: guild.id } : {};
}

export function wireUser(user: FakeUser): Record<string, unknown> {
  return {
    id: user.id,
    username: user.username,
    discriminator: "0",
    global_name: null,
    avatar: null,
    ...(user.isBot && { bot: true }),
  };
}

/** Without its user, as in a message. */
export function wireMember(guild: FakeGuild, user: FakeUser): Record<string, unknown> {
  const member = guild.members.get(user.id);
  return {
    roles: member?.roles ?? [],
    nick: member?.nick ?? null,
    pending: member?.pending ?? false,
    joined_at: "2026-01-01T00:00:00Z",
    deaf: false,
    mute: false,
    flags: 0,
  };
}

export function wireChannel(channel: FakeChannel): Record<string, unknown> {
  const { id, type, name, guild, parent, recipient } = channel;
  const last = channel.messages.at(-1)?.id ?? null;
  const shared = { id, type, last_message_id: last, flags: 0 };
  if (recipient) return { ...shared, recipients: [wireUser(recipient)] };
  const inServer = { ...shared, name, guild_id: guild?.id, parent_id: parent?.id ?? null };
  if (parent) {
    return {
      ...inServer,
      owner_id: parent.id,
      ...(channel.tags && { applied_tags: channel.tags }),
      message_count: channel.messages.length,
      member_count: 1,
      thread_metadata: {
        archived: channel.isArchived,
        locked: channel.isLocked,
        auto_archive_duration: 1440,
        archive_timestamp: "2026-01-01T00:00:00Z",
      },
    };
  }
  const deny = String(channel.denied);
  const overwrites = channel.denied === 0n ? [] : [{ id: guild?.botRole, type: 0, allow: "0", deny }];
  const forum = channel.forum && {
    available_tags: channel.forum.tags.map((tag) => ({ ...tag, emoji_id: null, emoji_name: null })),
    flags: channel.forum.requiresTag ? ChannelFlags.RequireTag : 0,
  };
  return { ...inServer, position: 0, permission_overwrites: overwrites, ...forum };
}

export function wireRoles(guild: FakeGuild, { bot }: World): Record<string, unknown>[] {
  return [...guild.roles.values()].map(({ id, name, permissions }, position) => ({
    id,
    name,
    permissions: String(permissions),
    color: 0,
    colors: { primary_color: 0, secondary_color: null, tertiary_color: null },
    hoist: false,
    position,
    managed: id === guild.botRole,
    ...(id === guild.botRole && { tags: { bot_id: bot.id } }),
    mentionable: false,
    flags: 0,
  }));
}

export function wireFile(world: World, file: FakeFile, channel: FakeChannel): Record<string, unknown> {
  return {
    id: file.id,
    filename: file.name,
    size: file.content.length,
    content_type: file.mediaType,
    url: fileAddress(world, file, channel),
    proxy_url: fileAddress(world, file, channel),
  };
}

function fileAddress(world: World, file: FakeFile, channel: FakeChannel): string {
  const path = `/attachments/${channel.id}/${file.id}/${encodeURIComponent(file.name)}`;
  return `${world.address(path)}?ex=${Math.floor(file.expires / 1_000).toString(16)}&is=1&hm=1`;
}

/** A message as the API shows it. */
export function wireMessage(world: World, message: FakeMessage): Record<string, unknown> {
  const { id, channel, author, content, type, flags, replyTo, editedAt } = message;
  return {
    id,
    channel_id: channel.id,
    author: wireUser(author),
    content,
    timestamp: new Date().toISOString(),
    edited_timestamp: editedAt === undefined ? null : new Date(editedAt).toISOString(),
    tts: false,
    mention_everyone: false,
    mentions: message.mentions.map(wireUser),
    mention_roles: [...content.matchAll(/<@&(\d+)>/g)].map(([, role]) => role),
    attachments: message.files.map((file) => wireFile(world, file, channel)),
    embeds: message.embeds,
    pinned: false,
    type,
    flags,
    components: [
      ...message.components,
      ...(message.menus ?? []).map((menu) => ({ type: 1, components: [{ type: 3, ...menu }] })),
    ],
    ...(message.reactions.size > 0 && {
      reactions: [...message.reactions].map(([name, users]) => ({
        emoji: { id: null, name },
        count: users.size,
        count_details: { burst: 0, normal: users.size },
        burst_colors: [],
        me_burst: false,
        me: users.has(world.bot.id),
      })),
    }),
    ...(message.askedBy && {
      interaction_metadata: {
        id,
        type: 2,
        user: wireUser(message.askedBy),
        authorizing_integration_owners: {},
      },
    }),
    ...(message.nonce !== undefined && { nonce: message.nonce }),
    // https://docs.discord.com/developers/resources/message#message-reference-types
    ...(message.forwards && {
      message_reference: {
        type: 1,
        message_id: message.forwards.id,
        channel_id: message.forwards.channel.id,
      },
      message_snapshots: [{ message: snapshotOf(world, message.forwards) }],
    }),
    ...(replyTo && {
      message_reference: { type: 0, message_id: replyTo.id, channel_id: channel.id },
      referenced_message: wireMessage(world, replyTo),
    }),
  };
}

/** What is left of a message for an app that may not read it. */
export function withoutContent(world: World, message: FakeMessage, data: Record<string, unknown>) {
  const isReadable =
    !message.channel.guild || message.author === world.bot || message.mentions.includes(world.bot);
  return isReadable ? data : { ...data, content: "", attachments: [], embeds: [], components: [] };
}

/** Neither author nor id. https://docs.discord.com/developers/resources/message#message-snapshot-object */
function snapshotOf(world: World, message: FakeMessage): Record<string, unknown> {
  const { content, mentions, attachments, embeds, type, flags, timestamp } = wireMessage(world, message);
  return { content, mentions, attachments, embeds, type, flags, timestamp };
}
