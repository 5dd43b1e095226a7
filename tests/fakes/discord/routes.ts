import { ChannelType, MessageFlags } from "discord.js";
import type { z } from "zod";
import type { Interactions } from "./interactions.ts";
import type { Limits } from "./limits.ts";
import { refusals } from "./refusal.ts";
import type { UploadedFile } from "./rest-api.ts";
import {
  applicationChange,
  callbackBody,
  channelChange,
  commandsBody,
  directBody,
  forumPostBody,
  messageBody,
  messageChange,
  refreshBody,
  threadBody,
} from "./schemas.ts";
import {
  type FakeChannel,
  type FakeGuild,
  type FakeMessage,
  wireChannel,
  wireMember,
  wireMessage,
  wireRoles,
  wireUser,
  withoutContent,
  type FakeUser,
  type World,
} from "./world.ts";

export interface RouteContext {
  world: World;
  interactions: Interactions;
  limits: Limits;
  /** What is registered. */
  commands: { id: string; [field: string]: unknown }[];
  messageContent: boolean;
  shards: number;
  maxFileBytes: number;
  nonceMs: number;
  gatewayUrl(): string;
}

interface Input {
  params: string[];
  query: URLSearchParams;
  body: unknown;
  files: UploadedFile[];
}

interface Route {
  method: string;
  path: RegExp;
  body?: z.ZodType;
  /** Whether it takes no token: the address holds one. */
  isOpen?: boolean;
  run(input: Input, context: RouteContext): unknown;
}

/** `:` stands for one part of the path. */
function route(
  method: string,
  path: string,
  run: (parts: string[], context: RouteContext, input: Input) => unknown,
  isOpen = false,
): Route {
  const pattern = new RegExp(`^${path.replaceAll(":", "([^/]+)")}$`);
  return { method, path: pattern, isOpen, run: (input, context) => run(input.params, context, input) };
}

function routeWith<Body>(
  method: string,
  path: string,
  body: z.ZodType<Body>,
  run: (body: Body, parts: string[], context: RouteContext, input: Input) => unknown,
  isOpen = false,
): Route {
  // The body was parsed with the schema.
  return {
    ...route(method, path, (parts, context, input) => run(input.body as Body, parts, context, input), isOpen),
    body,
  };
}

function channelOf(id: string | undefined, { world }: RouteContext): FakeChannel {
  const channel = world.channels.get(id ?? "");
  if (!channel) throw refusals.unknownChannel();
  if (!world.may(channel, "ViewChannel")) throw refusals.missingAccess();
  return channel;
}

function messageOf(channel: FakeChannel, id: string | undefined, { world }: RouteContext): FakeMessage {
  const message = world.message(channel, id ?? "");
  if (!message || message.onlyFor) throw refusals.unknownMessage();
  return message;
}

function guildOf(id: string | undefined, { world }: RouteContext): FakeGuild {
  const guild = world.guilds.get(id ?? "");
  if (!guild) throw refusals.unknownGuild();
  return guild;
}

function readable(message: FakeMessage, { world, messageContent }: RouteContext): Record<string, unknown> {
  // Given back only to whoever posts with it, and lost where the message is read again, as discord.js says of it.
  const { nonce: _, ...data } = wireMessage(world, message);
  return messageContent ? data : withoutContent(world, message, data);
}

function applyTags(channel: FakeChannel, wanted: string[], { world }: RouteContext): void {
  const { tags = [], requiresTag } = channel.forum ?? {};
  const applied = wanted.map((tag) => tags.find((one) => one.id === tag));
  if (applied.includes(undefined)) throw refusals.invalidForm({ applied_tags: "Unknown tag" });
  const mayModerate = world.may(channel, "ManageThreads");
  if (!mayModerate && applied.some((tag) => tag?.moderated)) throw refusals.missingPermissions();
  if (requiresTag && applied.length === 0) throw refusals.needsTag();
}

function mustBeOpen(channel: FakeChannel): void {
  if (channel.isArchived) throw refusals.archived();
}

const snowflakeAge = (id: string) => Date.now() - (Number(BigInt(id) >> 22n) + 1_420_070_400_000);
const hourMs = 3_600_000;
const forumTypes = [ChannelType.GuildForum, ChannelType.GuildMedia];
/** Of one request. */
const requestBytes = 25 * 1024 * 1024;

export const routes: Route[] = [
  route("GET", "/gateway/bot", (_parts, { shards, gatewayUrl }) => ({
    url: gatewayUrl(),
    shards,
    session_start_limit: { total: 1_000, remaining: 999, reset_after: 0, max_concurrency: 16 },
  })),
  route("GET", "/applications/@me", (_parts, { world, messageContent }) => ({
    id: world.applicationId,
    name: "Heddle",
    flags: messageContent ? 1 << 19 : 0,
    bot: wireUser(world.bot),
  })),
  // Only the limited flags can be set. https://docs.discord.com/developers/resources/application#edit-current-application
  routeWith("PATCH", "/applications/@me", applicationChange, (body, _parts, context) => {
    context.messageContent = (body.flags & (1 << 19)) !== 0;
    return { id: context.world.applicationId, flags: body.flags };
  }),
  route("GET", "/users/@me", (_parts, { world }) => wireUser(world.bot)),
  route("GET", "/users/@me/guilds", (_parts, { world }) =>
    [...world.guilds.values()].map((guild) => {
      const roles = [guild.roles.get(guild.id), guild.roles.get(guild.botRole)];
      const permissions = roles.reduce((bits, role) => bits | (role?.permissions ?? 0n), 0n);
      return { id: guild.id, name: guild.name, permissions: String(permissions) };
    }),
  ),
  // Whoever takes nothing of the bot is found out with the first message. https://docs.discord.com/developers/resources/user#create-dm
  routeWith("POST", "/users/@me/channels", directBody, (body, _parts, { world }) => {
    const user = world.users.get(body.recipient_id);
    if (!user) throw refusals.unknownUser();
    if (user.isBot) throw refusals.notToUser();
    return wireChannel(world.direct(user));
  }),
  route("GET", "/users/:", ([id = ""], { world }) => {
    const user = world.users.get(id);
    if (!user) throw refusals.unknownUser();
    return wireUser(user);
  }),

  route("GET", "/applications/:/commands", (_parts, { commands }) => commands),
  routeWith("PUT", "/applications/:/commands", commandsBody, (body, _parts, { commands, world }) => {
    const made = body.map((command) => ({
      id: world.snowflake(),
      application_id: world.applicationId,
      version: world.snowflake(),
      default_member_permissions: null,
      nsfw: false,
      ...command,
    }));
    commands.splice(0, commands.length, ...made);
    return commands;
  }),
  routeWith(
    "POST",
    "/interactions/:/:/callback",
    callbackBody,
    (body, [id = "", token = ""], { interactions }, { query }) => {
      const answer = interactions.answer(id, token, body);
      return query.get("with_response") === "true" ? answer : undefined;
    },
    true,
  ),
  routeWith(
    "PATCH",
    "/webhooks/:/:/messages/@original",
    messageChange,
    (body, [, token = ""], { world, interactions }) => {
      const message = interactions.original(token);
      interactions.changed(message);
      world.edit(message, { content: body.content ?? message.content });
      return wireMessage(world, message);
    },
    true,
  ),

  route("GET", "/channels/:", ([id], context) => wireChannel(channelOf(id, context))),
  routeWith("PATCH", "/channels/:", channelChange, (body, [id], context) => {
    const channel = channelOf(id, context);
    if (!context.world.isThread(channel)) throw refusals.wrongChannel();
    if (channel.isLocked) throw refusals.missingPermissions();
    if ("applied_tags" in body) {
      const isOwn = channel.messages[0]?.author === context.world.bot;
      if (!isOwn && !context.world.may(channel, "ManageThreads")) throw refusals.missingPermissions();
      applyTags(channel.parent ?? channel, body.applied_tags, context);
      channel.tags = body.applied_tags;
    } else channel.isArchived = body.archived;
    return wireChannel(channel);
  }),
  route("GET", "/channels/:/messages", ([id], context, { query }) => {
    const channel = channelOf(id, context);
    // Without this permission Discord gives an empty list.
    if (!context.world.may(channel, "ReadMessageHistory")) return [];
    const limit = Number(query.get("limit") ?? 50);
    if (!(limit >= 1 && limit <= 100)) throw refusals.invalidForm({ limit: "1 to 100" });
    const [before, after] = [query.get("before"), query.get("after")];
    const seen = channel.messages.filter(({ onlyFor }) => !onlyFor);
    const found =
      after === null
        ? seen.filter((message) => before === null || BigInt(message.id) < BigInt(before)).slice(-limit)
        : seen.filter((message) => BigInt(message.id) > BigInt(after)).slice(0, limit);
    return found.toReversed().map((message) => readable(message, context));
  }),
  route("GET", "/channels/:/messages/:", ([id, message], context) => {
    const channel = channelOf(id, context);
    if (!context.world.may(channel, "ReadMessageHistory")) throw refusals.missingPermissions();
    return readable(messageOf(channel, message, context), context);
  }),
  routeWith("POST", "/channels/:/messages", messageBody, (body, [id], context, { files }) => {
    const { world } = context;
    const channel = channelOf(id, context);
    if (channel.recipient?.isClosed) throw refusals.notToUser();
    if (forumTypes.includes(channel.type)) throw refusals.noMessages();
    if (channel.isLocked) throw refusals.locked();
    const permission = world.isThread(channel) ? "SendMessagesInThreads" : "SendMessages";
    if (!world.may(channel, permission)) throw refusals.missingPermissions();
    if (files.length > 0 && !world.may(channel, "AttachFiles")) throw refusals.missingPermissions();
    if (files.length > 10) throw refusals.invalidForm({ files: "10 at most" });
    const bytes = files.map(({ content }) => content.length);
    if (bytes.some((size) => size > context.maxFileBytes)) throw refusals.tooLarge();
    if (bytes.reduce((sum, size) => sum + size, 0) > requestBytes) throw refusals.tooLarge();
    if (body.content.trim() === "" && files.length === 0) throw refusals.empty();
    if (body.nonce !== undefined && body.enforce_nonce) {
      const same = channel.messages.find(({ nonce }) => nonce === body.nonce);
      if (same && snowflakeAge(same.id) < context.nonceMs) return wireMessage(world, same);
    }
    const reference = body.message_reference;
    const replyTo = reference && world.message(channel, reference.message_id);
    if (reference && !world.may(channel, "ReadMessageHistory")) throw refusals.cannotReply();
    if (reference && !replyTo && reference.fail_if_not_exists !== false)
      throw refusals.invalidForm({ message_reference: "Unknown message" });
    const posted = world.post({
      channel,
      author: world.bot,
      content: body.content,
      flags: body.flags,
      components: body.components,
      files: files.map((file) => {
        const kept = { ...file, id: world.snowflake(), expires: Date.now() + 24 * hourMs };
        world.files.set(kept.id, kept);
        return kept;
      }),
      // Whoever is not to be notified is not mentioned.
      // https://docs.discord.com/developers/resources/message#allowed-mentions-object
      ...(body.allowed_mentions && {
        mentions: notified(body, body.allowed_mentions, replyTo?.author, world),
      }),
      ...(replyTo && { replyTo }),
      ...(body.nonce !== undefined && { nonce: body.nonce }),
    });
    return wireMessage(world, posted);
  }),
  route("POST", "/channels/:/typing", ([id], context) => {
    const { world } = context;
    const channel = channelOf(id, context);
    if (channel.recipient?.isClosed) throw refusals.notToUser();
    const permission = world.isThread(channel) ? "SendMessagesInThreads" : "SendMessages";
    if (!world.may(channel, permission)) throw refusals.missingPermissions();
  }),
  routeWith("PATCH", "/channels/:/messages/:", messageChange, (body, [id, message], context) => {
    const channel = channelOf(id, context);
    const found = messageOf(channel, message, context);
    if (found.author !== context.world.bot) throw refusals.otherAuthor();
    mustBeOpen(channel);
    if (body.content?.trim() === "" && found.files.length === 0) throw refusals.empty();
    if (snowflakeAge(found.id) + (found.olderMs ?? 0) > hourMs) {
      const tooSoonMs = context.limits.takeOldEdit(channel.id);
      if (tooSoonMs > 0) throw refusals.oldEdits(tooSoonMs / 1_000);
    }
    const settable = MessageFlags.SuppressEmbeds;
    context.world.edit(found, {
      content: body.content ?? found.content,
      components: body.components ?? found.components,
      flags: body.flags === undefined ? found.flags : (found.flags & ~settable) | body.flags,
    });
    return wireMessage(context.world, found);
  }),
  route("DELETE", "/channels/:/messages/:", ([id, message], context) => {
    const found = messageOf(channelOf(id, context), message, context);
    if (found.author !== context.world.bot) throw refusals.missingPermissions();
    context.world.remove(found);
  }),
  route("GET", "/channels/:/messages/:/reactions/:", ([id, message, emoji = ""], context) => {
    const channel = channelOf(id, context);
    if (!context.world.may(channel, "ReadMessageHistory")) throw refusals.missingPermissions();
    const users = messageOf(channel, message, context).reactions.get(emoji);
    if (!users) throw refusals.unknownEmoji();
    return [...users].flatMap((user) => context.world.users.get(user) ?? []).map(wireUser);
  }),
  route("PUT", "/channels/:/messages/:/reactions/:/@me", ([id, message, emoji = ""], context) => {
    const { world } = context;
    const channel = channelOf(id, context);
    const found = messageOf(channel, message, context);
    mustBeOpen(channel);
    const isNew = !found.reactions.has(emoji);
    if (isNew && !world.may(channel, "AddReactions")) throw refusals.missingPermissions();
    if (isNew && found.reactions.size >= 20) throw refusals.tooManyReactions();
    world.react(world.bot, emoji, found);
  }),
  route("DELETE", "/channels/:/messages/:/reactions/:/@me", ([id, message, emoji = ""], context) => {
    const channel = channelOf(id, context);
    mustBeOpen(channel);
    context.world.unreact(context.world.bot, emoji, messageOf(channel, message, context));
  }),
  routeWith("POST", "/channels/:/messages/:/threads", threadBody, (body, [id, message], context) => {
    const { world } = context;
    const channel = channelOf(id, context);
    if (![ChannelType.GuildText, ChannelType.GuildAnnouncement].includes(channel.type))
      throw refusals.wrongChannel();
    const found = messageOf(channel, message, context);
    if (!world.may(channel, "CreatePublicThreads")) throw refusals.missingPermissions();
    if ((found.flags & MessageFlags.HasThread) !== 0) throw refusals.hasThread();
    return wireChannel(world.startThread(found, body.name));
  }),
  routeWith("POST", "/channels/:/threads", forumPostBody, (body, [id], context) => {
    const { world } = context;
    const channel = channelOf(id, context);
    if (!forumTypes.includes(channel.type)) throw refusals.wrongChannel();
    // What creates a post is the right to send messages there.
    if (!world.may(channel, "SendMessages")) throw refusals.missingPermissions();
    applyTags(channel, body.applied_tags, context);
    const { content, flags, components } = body.message;
    const post = world.startPost(channel, body.name, body.applied_tags, { content, flags, components });
    const [first] = post.messages;
    return { ...wireChannel(post), ...(first && { message: wireMessage(world, first) }) };
  }),
  route("PUT", "/channels/:/thread-members/:", ([id, user = ""], context) => {
    const { world } = context;
    const channel = channelOf(id, context);
    if (!world.isThread(channel)) throw refusals.wrongChannel();
    mustBeOpen(channel);
    if (!world.may(channel, "SendMessagesInThreads")) throw refusals.missingPermissions();
    const member = world.users.get(user);
    if (!member) throw refusals.unknownUser();
    channel.members.add(member);
  }),
  routeWith("POST", "/attachments/refresh-urls", refreshBody, ({ attachment_urls }, _parts, { world }) => ({
    refreshed_urls: attachment_urls.map((original) => {
      const url = new URL(original);
      const file = world.files.get(url.pathname.split("/")[3] ?? "");
      if (file) file.expires = Date.now() + 24 * hourMs;
      url.searchParams.set("ex", Math.floor((file?.expires ?? 0) / 1_000).toString(16));
      return { original, refreshed: url.toString() };
    }),
  })),

  route("GET", "/guilds/:/channels", ([id], context) => {
    const guild = guildOf(id, context);
    const all = [...context.world.channels.values()];
    return all.filter((channel) => channel.guild === guild && !channel.parent).map(wireChannel);
  }),
  route("GET", "/guilds/:/threads/active", ([id], context) => {
    const threads = context.world.threads(guildOf(id, context));
    return { threads: threads.filter(({ isArchived }) => !isArchived).map(wireChannel), members: [] };
  }),
  route("GET", "/guilds/:/roles", ([id], context) => wireRoles(guildOf(id, context), context.world)),
  route("GET", "/guilds/:/members/:", ([id, member = ""], context) => {
    const guild = guildOf(id, context);
    const user = context.world.users.get(member);
    if (!user || !guild.members.has(member)) throw refusals.unknownMember();
    return { ...wireMember(guild, user), user: wireUser(user) };
  }),
];

/** Of those whom a message mentions or replies to, those whom it may notify; by their ids, as we send no others. */
function notified(
  { content }: { content: string },
  allowed: { users?: string[] | undefined; replied_user?: boolean | undefined },
  replied: FakeUser | undefined,
  world: World,
): FakeUser[] {
  const named = (allowed.users ?? []).filter((id) => content.includes(`<@${id}>`));
  return [
    ...named.flatMap((id) => world.users.get(id) ?? []),
    ...(allowed.replied_user && replied ? [replied] : []),
  ];
}
