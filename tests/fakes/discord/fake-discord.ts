import { once, setMaxListeners } from "node:events";
import { createServer } from "node:http";
import { ChannelType, PermissionFlagsBits } from "discord.js";
import { neededBits } from "../../../src/adapters/discord/installation/permissions.ts";
import { Gateway } from "./gateway.ts";
import { type FakeInteraction, Interactions } from "./interactions.ts";
import { Limits } from "./limits.ts";
import { type Call, type Fault, RestApi } from "./rest-api.ts";
import type { RouteContext } from "./routes.ts";
import { transcript } from "./transcript.ts";
import {
  type FakeButton,
  type FakeChannel,
  type FakeEmbed,
  type FakeGuild,
  type FakeMessage,
  type FakeRow,
  type FakeUser,
  World,
} from "./world.ts";
import { closeServer, listen } from "../listen.ts";

export interface FakeDiscordOptions {
  /** Whether the app has switched the privileged intent on. Default true. */
  messageContent?: boolean;
  /** The name by which it is reached, through a proxy. Default: 127.0.0.1. */
  host?: string;
  /** How many shards Discord recommends. Default 1. */
  shards?: number;
  /** Permissions of the bot in the server. Default: those of our invite link. */
  permissions?: bigint;
  /** For how long a nonce is compared, ms. Default: three minutes. */
  nonceMs?: number;
  /** How many times sooner than Discord's own its rate limits pass. Default 1. */
  hurry?: number;
  /** Default 10 MiB. */
  maxFileBytes?: number;
  /** For how long `until` waits. Default 20,000 ms. */
  patienceMs?: number;
}

interface UserOptions {
  roles?: string[];
  nick?: string;
  bot?: boolean;
  /** Has not yet accepted the rules of the server. */
  pending?: boolean;
}

interface SayOptions {
  replyTo?: FakeMessage;
  /** Forwards that message, with no words of its own. */
  forwards?: FakeMessage;
  files?: { name: string; content: string; mediaType?: string }[];
  embeds?: FakeEmbed[];
  /** Of a bot. */
  components?: FakeRow[];
}

/** A person who writes, reacts, uses commands and presses buttons. */
export interface Person {
  readonly user: FakeUser;
  readonly id: string;
  /** `<@BOT>` becomes the mention of the bot. */
  says(channel: FakeChannel, text: string, options?: SayOptions): FakeMessage;
  edits(message: FakeMessage, text: string): void;
  deletes(message: FakeMessage): void;
  reacts(emoji: string, message: FakeMessage): void;
  /** Uses `/agent`. */
  asks(
    channel: FakeChannel,
    options: Record<string, string>,
    file?: { name: string; content: string },
  ): FakeInteraction;
  /** Uses another command, one without options. */
  uses(command: string, channel: FakeChannel, options?: Record<string, string>): FakeInteraction;
  /** Types into an option of `/agent`, and gets what is suggested. */
  types(channel: FakeChannel, option: string, text: string): Promise<string[]>;
  /** Uses a command of the menu of a message. */
  picks(command: string, message: FakeMessage): FakeInteraction;
  /** Presses the button with that label; fails when the message does not show one. */
  presses(label: string, message: FakeMessage): FakeInteraction;
  /** Chooses the first option of the menu with that placeholder whose label has these words; fails when there is none. */
  chooses(placeholder: string, words: string, message: FakeMessage): FakeInteraction;
  /** Fills in the form that an interaction has opened, and sends it. */
  fills(form: FakeInteraction, text: string): FakeInteraction;
  /** Fills in the inputs of an open form by their labels, and sends it. */
  fillsIn(form: FakeInteraction, inputs: Record<string, string | string[]>): FakeInteraction;
}

/** What a condition gives as long as it does not hold. */
type Nothing = false | null | undefined;

/** A small Discord behind its real protocols, on a loopback port, with one bot in one server. */
export interface FakeDiscord {
  /** For `DISCORD_API_URL`. */
  readonly url: string;
  /** For `DISCORD_CDN_URL`. */
  readonly cdnUrl: string;
  readonly token: string;
  readonly applicationId: string;
  readonly bot: FakeUser;
  readonly guild: FakeGuild;
  readonly gateway: Pick<
    Gateway,
    | "connections"
    | "identified"
    | "presences"
    | "resumed"
    | "reconnect"
    | "cut"
    | "forget"
    | "freeze"
    | "heartbeatMs"
  >;
  readonly commands: readonly Record<string, unknown>[];
  /** Every call, in the order of arrival. */
  readonly calls: readonly Call[];
  /** Calls that were answered with a refusal, and that refusal. */
  readonly refused: readonly string[];
  /** Another server with the bot in it. */
  addGuild(name: string): FakeGuild;
  /** The person of that name, who is in every server; made when it is the first time. */
  user(name: string, options?: UserOptions): Person;
  /** The channel of that name; made when it is the first time. */
  channel(name: string, options?: { type?: ChannelType; guild?: FakeGuild }): FakeChannel;
  /** The conversation of a person with the bot. */
  direct(person: Person): FakeChannel;
  /** The threads of a channel, or the posts of a forum. */
  threadsOf(channel: FakeChannel): FakeChannel[];
  /** The thread of a message; undefined while there is none. */
  threadOf(message: FakeMessage): FakeChannel | undefined;
  /** Starts a thread at a message, as a person would. */
  startThread(message: FakeMessage, name: string): FakeChannel;
  /** Deletes a thread, as a moderator would; the message that it started from stays. */
  deleteThread(thread: FakeChannel): void;
  /** As a moderator does. */
  setLocked(thread: FakeChannel, isLocked: boolean): void;
  /** Deletes a channel and its threads, as a moderator would. */
  deleteChannel(channel: FakeChannel): void;
  /** Removes the bot from a server, or only tells that the server is out of reach. */
  removeBot(guild: FakeGuild, isOutage?: boolean): void;
  /** Takes a permission from the bot in a channel. */
  deny(channel: FakeChannel, permission: keyof typeof PermissionFlagsBits): void;
  /** A link in the message gets its preview. */
  unfurl(message: FakeMessage): void;
  /** The three seconds of an interaction are over at once. */
  lapse(interaction: FakeInteraction): void;
  /** The addresses of its files expire. */
  expireFiles(message: FakeMessage): void;
  /** The first message, now or later, that fits. */
  message(fits: (message: FakeMessage) => boolean): Promise<FakeMessage>;
  /** Waits until the condition gives something, and returns that. It is looked at after every change. */
  until<T>(condition: () => T | Nothing, timeoutMs?: number): Promise<T>;
  /** What people see in all channels and threads. */
  transcript(): string;
  /** Lets the next calls that match `POST /channels/…` fail (default 1). */
  fail(pattern: RegExp, fault: Fault, times?: number): void;
  close(): Promise<void>;
}

/** Starts a Discord on a free port of 127.0.0.1. */
export async function startFakeDiscord(options: FakeDiscordOptions = {}): Promise<FakeDiscord> {
  const changes = new EventTarget();
  // Many may wait at once.
  setMaxListeners(0, changes);
  const changed = () => changes.dispatchEvent(new Event("change"));

  const server = createServer((request, response) => {
    api.handle(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  const port = await listen(server);
  const { host = "127.0.0.1" } = options;
  const address = (path: string, scheme = "http") => `${scheme}://${host}:${port}${path}`;

  const world = new World(address, (dispatch) => gateway.dispatch(dispatch));
  const token = `${Buffer.from(world.applicationId).toString("base64url")}.fakefk.a-token-of-the-fake-discord`;
  const messageContent = options.messageContent ?? true;
  const gateway = new Gateway(server, {
    token,
    world: () => world,
    address,
    // An app may change it.
    get messageContent() {
      return context.messageContent;
    },
    onChange: changed,
  });
  const interactions = new Interactions(world, changed);
  const context: RouteContext = {
    world,
    interactions,
    limits: new Limits(options.hurry ?? 1),
    commands: [],
    messageContent,
    shards: options.shards ?? 1,
    maxFileBytes: options.maxFileBytes ?? 10 * 1024 * 1024,
    nonceMs: options.nonceMs ?? 180_000,
    gatewayUrl: () => address("/gateway", "ws"),
  };
  const api = new RestApi(context, { token, onCall: changed });
  const guild = guildNamed(world, "Weavers", options.permissions ?? neededBits);

  const until = async <T>(
    condition: () => T | Nothing,
    timeoutMs = options.patienceMs ?? 20_000,
  ): Promise<T> => {
    const deadline = AbortSignal.timeout(timeoutMs);
    for (;;) {
      const found = condition();
      if (found !== false && found !== null && found !== undefined) return found;
      await once(changes, "change", { signal: deadline }).catch(() => {
        throw new Error(`It did not happen in ${timeoutMs} ms. What people see:\n${transcript(world)}`);
      });
    }
  };
  const allMessages = () => [...world.channels.values()].flatMap(({ messages }) => messages);

  return {
    url: address("/api"),
    cdnUrl: address(""),
    token,
    applicationId: world.applicationId,
    bot: world.bot,
    guild,
    gateway,
    commands: context.commands,
    calls: api.calls,
    refused: api.refused,
    addGuild: (name) => guildNamed(world, name, options.permissions ?? neededBits),
    user: (name, userOptions = {}) =>
      personOf(world, { interactions, context, until }, userNamed(world, name, userOptions)),
    channel: (name, { type = ChannelType.GuildText, guild: inGuild = guild } = {}) =>
      channelNamed(world, { name, type, guild: inGuild }),
    direct: ({ user }) => world.direct(user),
    threadsOf: (channel) => [...world.channels.values()].filter(({ parent }) => parent === channel),
    threadOf: (message) => world.channels.get(message.id),
    startThread: (message, name) => world.startThread(message, name),
    deleteThread: (thread) => world.deleteThread(thread),
    setLocked(thread, isLocked) {
      thread.isLocked = isLocked;
      world.tellChanged(thread);
    },
    deleteChannel: (channel) => world.deleteChannel(channel),
    removeBot: (from, isOutage = false) => world.removeBot(from, isOutage),
    deny: (channel, permission) => {
      channel.denied |= PermissionFlagsBits[permission];
      world.changeChannel(channel);
    },
    unfurl: (message) => world.unfurl(message),
    lapse: (interaction) => interactions.lapse(interaction),
    expireFiles: ({ files }) => {
      for (const file of files) file.expires = Date.now() - 60_000;
    },
    message: (fits) => until(() => allMessages().find(fits)),
    until,
    transcript: () => transcript(world),
    fail: (pattern, fault, times = 1) => api.fail(pattern, fault, times),
    async close() {
      if (!server.listening) return;
      interactions.close();
      await gateway.close();
      await closeServer(server);
    },
  };
}

function guildNamed(world: World, name: string, permissions: bigint): FakeGuild {
  const id = world.snowflake();
  const botRole = world.snowflake();
  const guild: FakeGuild = {
    id,
    name,
    botRole,
    members: new Map([...world.users.keys()].map((user) => [user, { roles: [], pending: false }])),
    roles: new Map([
      [id, { id, name: "@everyone", permissions: 0n }],
      [botRole, { id: botRole, name: "heddle", permissions }],
    ]),
  };
  guild.members.set(world.bot.id, { roles: [botRole], pending: false });
  world.guilds.set(id, guild);
  return guild;
}

function userNamed(world: World, username: string, options: UserOptions): FakeUser {
  const known = [...world.users.values()].find((user) => user.username === username);
  if (known) return known;
  const user: FakeUser = { id: world.snowflake(), username, isBot: options.bot ?? false, isClosed: false };
  world.users.set(user.id, user);
  const { roles = [], pending = false, nick } = options;
  for (const guild of world.guilds.values())
    guild.members.set(user.id, { roles, pending, ...(nick && { nick }) });
  return user;
}

function channelNamed(
  world: World,
  place: Pick<FakeChannel, "name" | "type"> & Partial<Pick<FakeChannel, "guild">>,
): FakeChannel {
  const known = [...world.channels.values()].find(
    ({ name, guild }) => name === place.name && guild === place.guild,
  );
  if (known) return known;
  const id = world.snowflake();
  const channel: FakeChannel = {
    id,
    denied: 0n,
    isArchived: false,
    isLocked: false,
    messages: [],
    members: new Set(),
    ...place,
  };
  world.channels.set(id, channel);
  return channel;
}

interface PersonDeps {
  interactions: Interactions;
  context: RouteContext;
  until<T>(condition: () => T | Nothing): Promise<T>;
}

function personOf(world: World, { interactions, context, until }: PersonDeps, user: FakeUser): Person {
  const keep = ({
    name,
    content,
    mediaType = "text/plain",
  }: {
    name: string;
    content: string;
    mediaType?: string;
  }) => {
    const expires = Date.now() + 24 * 3_600_000;
    const file = { id: world.snowflake(), name, mediaType, content: Buffer.from(content), expires };
    world.files.set(file.id, file);
    return file;
  };
  const registered = (name: string) => {
    const command = context.commands.find((one) => one["name"] === name);
    if (!command) throw new Error(`No command "${name}" is registered.`);
    return { id: command.id, name };
  };
  return {
    user,
    id: user.id,
    says(channel, text, { replyTo, forwards, files = [], embeds = [], components = [] } = {}) {
      const content = text.replaceAll("<@BOT>", `<@${world.bot.id}>`);
      return world.post({
        channel,
        author: user,
        content,
        files: files.map(keep),
        embeds,
        components,
        ...(replyTo && { replyTo }),
        ...(forwards && { forwards }),
      });
    },
    edits: (message, text) =>
      world.edit(message, { content: text.replaceAll("<@BOT>", `<@${world.bot.id}>`) }),
    deletes: (message) => world.remove(message),
    reacts: (emoji, message) => world.react(user, emoji, message),
    asks: (channel, options, file) =>
      interactions.command(user, channel, registered("agent"), {
        options,
        ...(file && { file: keep(file) }),
      }),
    uses: (command, channel, options = {}) =>
      interactions.command(user, channel, registered(command), { options }),
    async types(channel, option, text) {
      const asked = interactions.autocomplete(user, channel, registered("agent"), [option, text]);
      return until(() => asked.choices);
    },
    picks: (command, message) => interactions.menu(user, message, registered(command)),
    presses(label, message) {
      const button = buttonsOf(message).find((one) => one.label === label);
      if (!button) throw new Error(`The message shows no button "${label}".`);
      return interactions.press(user, message, button.custom_id);
    },
    chooses(placeholder, words, message) {
      const menu = message.menus?.find((one) => one.placeholder === placeholder);
      const option = menu?.options.find(({ label }) => label.includes(words));
      if (!menu || !option) throw new Error(`The message offers no "${words}" under "${placeholder}".`);
      return interactions.choose(user, message, menu.custom_id, option.value);
    },
    fills: (form, text) => interactions.submit(form, text),
    fillsIn: (form, inputs) => interactions.fill(form, inputs),
  };
}

function buttonsOf({ components }: FakeMessage): FakeButton[] {
  return components.flatMap((row) => row.components);
}
