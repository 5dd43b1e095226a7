import { once, setMaxListeners } from "node:events";
import { createServer } from "node:http";
import { parse } from "yaml";
import { z } from "zod";
import { slackManifest } from "../../../src/adapters/slack/installation/manifest.ts";
import { type InteractivePerson, interactions } from "./interactions.ts";
import type { FakeOAuth } from "./method.ts";
import { Requests } from "./requests.ts";
import { type Delivery, type NewDelivery, SocketMode } from "./socket-mode.ts";
import { transcript } from "./transcript.ts";
import { type Call, type Fault, WebApi } from "./web-api.ts";
import {
  type ChannelKind,
  type FakeBlock,
  type FakeChannel,
  type FakeEvent,
  type FakeMessage,
  type FakeOrganisation,
  type FakeUser,
  Workspace,
} from "./workspace.ts";
import { closeServer, listen } from "../listen.ts";

export interface FakeSlackOptions {
  /** What is installed decides about scopes and events. Default: the manifest that Heddle ships. */
  manifest?: string;
  /** Scopes that were not granted although the manifest asks for them. */
  withoutScopes?: readonly string[];
  /** Scopes of the app-level token. Default: `connections:write`. */
  appScopes?: readonly string[];
  /**
   * Milliseconds without an acknowledgement after which an event is sent again. Slack's are 3,000; by default ten times
   * that, for a busy machine holds up the program or the fake for seconds.
   */
  ackTimeoutMs?: number;
  teamId?: string;
  botToken?: string;
  appToken?: string;
  /** The name by which the app knows this server. Default: 127.0.0.1. */
  host?: string;
  /** Of the bot's user. */
  botUserId?: string;
  /** It has installed the app for all of its workspaces, of which this is one: they have the same token. */
  organisation?: FakeOrganisation;
  /** For how long `until` waits. Default 20,000 ms. */
  patienceMs?: number;
}

/** A person who writes, reacts and presses buttons. */
export interface Person extends InteractivePerson {
  readonly user: FakeUser;
  readonly id: string;
  /**
   * Writes a message; `<@BOT>` becomes the mention of the bot. `thread` is the `ts` of a thread's first
   * message.
   */
  says(channel: FakeChannel, text: string, options?: SayOptions): Promise<FakeMessage>;
  edits(message: FakeMessage, text: string): Promise<void>;
  deletes(message: FakeMessage): Promise<void>;
  /** With the name of the emoji, without colons. */
  reacts(name: string, message: FakeMessage): Promise<void>;
  /** Presses Slack's own Stop, which is there only while the session of the thread is processing. */
  stops(channel: FakeChannel, thread: string): Promise<void>;
}

interface SayOptions {
  thread?: string;
  /** Whether a reply is shown in the channel as well. */
  broadcast?: boolean;
  /** Of a bot. */
  blocks?: FakeBlock[];
  attachments?: readonly object[];
  /** `isForeign`: shared by another organisation through Slack Connect. */
  files?: { name: string; content: string; mediaType?: string; isForeign?: boolean }[];
}

interface UserOptions {
  guest?: boolean;
  admin?: boolean;
  /** Of another organisation, through Slack Connect. */
  external?: boolean;
  bot?: boolean;
  /** The account was closed. */
  deactivated?: boolean;
}

/** What a condition gives as long as it does not hold. */
type Nothing = false | null | undefined;

/** A workspace with one installed app, behind Slack's real protocols on a loopback port. */
export interface FakeSlack {
  /** For `SLACK_API_URL`. */
  readonly url: string;
  readonly botToken: string;
  readonly appToken: string;
  readonly teamId: string;
  readonly bot: FakeUser;
  /** What the app's messages suggest to write. */
  readonly suggestions: readonly { title: string; message: string }[];
  /** Every call of the Web API, in the order of arrival. */
  readonly calls: readonly Call[];
  /** Everything that was to be told to the app. */
  readonly deliveries: readonly Delivery[];
  readonly oauth: FakeOAuth;
  /** From now on the app is told by signed requests instead of Socket Mode. */
  sendTo(url: string, signingSecret: string): Requests;
  /** Tells what concerns the app itself, wherever the bot is. */
  tellAlways(event: FakeEvent): Delivery;
  /** Open Socket Mode connections. */
  readonly connections: number;
  /** The person of that name; made when it is the first time. */
  user(name: string, options?: UserOptions): Person;
  /** The channel of that name; made when it is the first time, with the bot in it. */
  channel(name: string, options?: { kind?: ChannelKind; withoutBot?: boolean }): FakeChannel;
  /** The conversation of a person with the bot. */
  direct(person: Person): FakeChannel;
  archive(channel: FakeChannel): void;
  /**
   * Accepts the invitation of another workspace to share its channel, with the bot of this one in it (Slack Connect).
   *
   * Slack triggers no event twice because a channel is shared (https://docs.slack.dev/apis/slack-connect). It names one
   * installation in `authorizations`, of which "it's best not to rely on the single party listed […] to be any
   * particular one" (https://docs.slack.dev/apis/events-api#authorizations). Seen was the team that joined last, whoever
   * wrote and whichever bot was mentioned (slackapi/bolt-js#2008): so it is here. A press of a button names the team of
   * whoever presses, and with its message the team whose bot has posted that.
   */
  shares(channel: FakeChannel, of: FakeSlack): void;
  /** Its state, for another fake. */
  readonly workspace: Workspace;
  /** The status of the agent session of a thread. */
  session(channel: FakeChannel, thread: string): string | undefined;
  /** What stands under a thread: "is thinking…". */
  status(channel: FakeChannel, thread: string): string | undefined;
  /** The first message, now or later, that fits. */
  message(fits: (message: FakeMessage) => boolean): Promise<FakeMessage>;
  /** Waits until the condition gives something, and returns that. It is looked at after every change in Slack. */
  until<T>(condition: () => T | Nothing, timeoutMs?: number): Promise<T>;
  /** A channel as people read it. */
  transcript(channel: FakeChannel): string;
  /** Lets the next calls of a method fail (default 1). */
  fail(method: string, fault: Fault, times?: number): void;
  /** How many of the next calls of a method will fail so. */
  countFaults(method: string): number;
  /** From now on calls fail no more that way. */
  recover(): void;
  /** From now on refuses every call of a method for which this gives a code. */
  refuse(method: string, code: (args: Record<string, unknown>) => string | undefined): void;
  /** Answers downloads with a redirect to that address. */
  redirectFiles(address: string): void;
  /** Asks the app to open new connections, as Slack does every few hours. */
  refresh(): void;
  /** Gives up every event that was not acknowledged, as Slack does after its retries. */
  forget(): void;
  /** Cuts every connection without a word. */
  cut(): void;
  /** Closes the next connections (default 1) before it has said hello. */
  hangUp(times?: number): void;
  /** Says no hello on the next connection. */
  mute(): void;
  /** Reads and answers nothing more on the open connections, not even pings, as when a network drops packets. */
  freeze(): void;
  close(): Promise<void>;
}

/** With the limits of https://docs.slack.dev/reference/app-manifest */
const manifestSchema = z.object({
  display_information: z.object({ name: z.string().min(1).max(35) }).optional(),
  features: z.object({
    agent_view: z
      .object({
        agent_description: z.string().max(300).optional(),
        suggested_prompts: z
          .array(z.strictObject({ title: z.string().min(1), message: z.string().min(1) }))
          .max(4)
          .default([]),
      })
      .optional(),
    slash_commands: z
      .array(z.looseObject({ command: z.string().startsWith("/") }))
      .max(50)
      .optional(),
    shortcuts: z
      .array(z.looseObject({ name: z.string().max(24) }))
      .max(10)
      .optional(),
  }),
  oauth_config: z.object({ scopes: z.object({ bot: z.array(z.string()) }) }),
  settings: z.object({ event_subscriptions: z.object({ bot_events: z.array(z.string()) }) }),
});

/** The kinds of `message` events that an app subscribes to. */
const messageEvents: Record<ChannelKind, string> = {
  public: "message.channels",
  private: "message.groups",
  im: "message.im",
  mpim: "message.mpim",
};

/** Starts a Slack on a free port of 127.0.0.1. */
export async function startFakeSlack(options: FakeSlackOptions = {}): Promise<FakeSlack> {
  const manifest = manifestSchema.parse(parse(options.manifest ?? slackManifest()));
  const { bot_events: subscriptions } = manifest.settings.event_subscriptions;
  const botToken = options.botToken ?? "xoxb-fake-bot-token";
  const appToken = options.appToken ?? "xapp-fake-app-token";
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
  const { host: named = "127.0.0.1" } = options;
  const address = (path: string, scheme = "http") => `${scheme}://${named}:${port}${path}`;

  const tell = (event: FakeEvent, channel: FakeChannel) => {
    const subscription = event.type === "message" ? messageEvents[channel.kind] : event.type;
    const bots = (channel.sharedBy ?? [workspace]).map(({ bot }) => bot.id);
    if (bots.some((id) => channel.members.has(id)) && subscriptions.includes(subscription)) {
      tellAlways(event, channel);
    }
    changed();
  };
  const tellAlways = (event: FakeEvent, channel?: FakeChannel) => {
    if (event.type !== "message" && !subscriptions.includes(event.type))
      throw new Error(`The manifest does not subscribe to ${event.type}.`);
    return deliver({ kind: "events_api", type: event.type, payload: eventBody(workspace, event, channel) });
  };
  const workspace = new Workspace(
    options.teamId ?? "T0TEAM",
    address,
    tell,
    options.botUserId,
    options.organisation,
  );
  const patience = { ackTimeoutMs: options.ackTimeoutMs ?? 30_000, maxRetries: 3, onChange: changed };
  const socket = new SocketMode(server, { ...patience, appId: workspace.appId });
  let requests: Requests | undefined;
  const deliver = (delivery: NewDelivery) => (requests ?? socket).deliver(delivery);
  const oauth: FakeOAuth = {
    clientId: "1.2",
    clientSecret: "fake-client-secret",
    codes: new Set(),
    kind: "workspace",
    tokens: new Map(),
  };
  const api = new WebApi({
    workspace,
    botToken,
    appToken,
    scopes: manifest.oauth_config.scopes.bot.filter((scope) => !options.withoutScopes?.includes(scope)),
    appScopes: options.appScopes ?? ["connections:write"],
    isAgent: manifest.features.agent_view !== undefined,
    address,
    issueTicket: () => socket.issueTicket(),
    oauth,
    onCall: changed,
  });

  const until = async <T>(
    condition: () => T | Nothing,
    timeoutMs = options.patienceMs ?? 20_000,
  ): Promise<T> => {
    const deadline = AbortSignal.timeout(timeoutMs);
    for (;;) {
      const found = condition();
      if (found !== false && found !== null && found !== undefined) return found;
      await once(changes, "change", { signal: deadline }).catch(() => {
        const all = [...workspace.channels.values()].map(
          (channel) => `#${channel.name}\n${transcript(workspace, channel)}`,
        );
        throw new Error(`It did not happen in ${timeoutMs} ms. What people see:\n${all.join("\n\n")}`);
      });
    }
  };

  return {
    url: address("/api/"),
    botToken,
    appToken,
    teamId: workspace.teamId,
    bot: workspace.bot,
    suggestions: manifest.features.agent_view?.suggested_prompts ?? [],
    calls: api.calls,
    get deliveries() {
      return (requests ?? socket).deliveries;
    },
    oauth,
    sendTo(url, signingSecret) {
      requests = new Requests({ ...patience, url, signingSecret });
      return requests;
    },
    tellAlways: (event) => tellAlways(event),
    get connections() {
      return socket.connections;
    },
    user: (name, userOptions = {}) =>
      personOf(workspace, deliver, tellAlways, userNamed(workspace, name, userOptions)),
    channel: (name, { kind = "public", withoutBot = false } = {}) => {
      const members = withoutBot ? [] : [workspace.bot.id];
      return channelNamed(workspace, name, kind, members);
    },
    direct: ({ user }) => channelNamed(workspace, `@${user.name}`, "im", [user.id, workspace.bot.id]),
    archive: (channel) => {
      channel.isArchived = true;
    },
    shares(channel, { workspace: host }) {
      channel.sharedBy = [...(channel.sharedBy ?? [host]), workspace];
      channel.members.add(workspace.bot.id);
      workspace.channels.set(channel.id, channel);
      for (const { users } of channel.sharedBy)
        for (const one of users.values())
          for (const sharer of channel.sharedBy) if (!sharer.users.has(one.id)) sharer.users.set(one.id, one);
    },
    workspace,
    session: (channel, thread) => workspace.sessions.get(`${channel.id}:${thread}`),
    status: (channel, thread) => workspace.statuses.get(`${channel.id}:${thread}`),
    message: (fits) =>
      until(() => [...workspace.channels.values()].flatMap(({ messages }) => messages).find(fits)),
    until,
    transcript: (channel) => transcript(workspace, channel),
    fail: (method, fault, times = 1) => api.fail(method, fault, times),
    countFaults: (method) => api.countFaults(method),
    recover: () => api.recover(),
    refuse: (method, code) => api.refuse(method, code),
    redirectFiles: (to) => {
      api.redirectFiles = to;
    },
    refresh: () => socket.refresh(),
    forget: () => socket.forget(),
    cut: () => socket.cut(),
    hangUp: (times = 1) => socket.hangUp(times),
    mute: () => socket.mute(1),
    freeze: () => socket.freeze(),
    async close() {
      if (!server.listening) return;
      await socket.close();
      await closeServer(server);
    },
  };
}

function eventBody(workspace: Workspace, event: FakeEvent, channel?: FakeChannel): Record<string, unknown> {
  const { teamId, bot } = channel?.sharedBy?.at(-1) ?? workspace;
  const authorization = { team_id: teamId, user_id: bot.id, is_bot: true };
  return {
    type: "event_callback",
    team_id: workspace.teamId,
    context_team_id: teamId,
    is_ext_shared_channel: channel?.sharedBy !== undefined && channel.organisation === undefined,
    api_app_id: workspace.appId,
    event_id: workspace.id("Ev"),
    event_time: Math.floor(Date.now() / 1_000),
    authorizations: [
      { ...authorization, enterprise_id: channel?.organisation ?? null, is_enterprise_install: false },
    ],
    ...(workspace.organisation && organisationWide(workspace.organisation, bot.id)),
    event,
  };
}

/**
 * Slack names one authorization, of which "it's best not to rely on the single party listed": here one workspace of the
 * organisation for whatever happens in any. https://docs.slack.dev/apis/events-api#authorizations
 */
function organisationWide({ id, teams }: FakeOrganisation, user: string): Record<string, unknown> {
  const [any] = teams;
  const authorization = { team_id: any, user_id: user, is_bot: true };
  return {
    enterprise_id: id,
    authorizations: [{ ...authorization, enterprise_id: id, is_enterprise_install: true }],
  };
}

function userNamed(workspace: Workspace, name: string, options: UserOptions): FakeUser {
  const known = [...workspace.users.values()].find((user) => user.name === name);
  if (known) return known;
  const user: FakeUser = {
    // Slack's own, which posts what people have told it to.
    id: name === "slackbot" ? "USLACKBOT" : workspace.id("U"),
    name,
    teamId: options.external ? "T0OTHER" : workspace.teamId,
    isBot: options.bot ?? false,
    isGuest: options.guest ?? false,
    isAdmin: options.admin ?? false,
    isDeactivated: options.deactivated ?? false,
    ...(options.bot && { botId: workspace.id("B") }),
  };
  workspace.users.set(user.id, user);
  return user;
}

function channelNamed(workspace: Workspace, name: string, kind: ChannelKind, members: string[]): FakeChannel {
  const known = [...workspace.channels.values()].find((channel) => channel.name === name);
  if (known) return known;
  const id = workspace.id(kind === "im" ? "D" : kind === "public" ? "C" : "G");
  const channel: FakeChannel = { id, name, kind, members: new Set(members), isArchived: false, messages: [] };
  workspace.channels.set(id, channel);
  return channel;
}

function personOf(
  workspace: Workspace,
  deliver: (delivery: NewDelivery) => Delivery,
  tell: (event: FakeEvent) => Delivery,
  user: FakeUser,
): Person {
  return {
    user,
    id: user.id,

    async says(channel, text, { thread, broadcast = false, blocks = [], attachments, files = [] } = {}) {
      channel.members.add(user.id);
      const uploaded = files.map(({ name, content, mediaType = "text/plain", isForeign = false }) => {
        const id = workspace.id("F");
        const file = { id, name, mediaType, isForeign, user: user.id, content: Buffer.from(content) };
        workspace.files.set(file.id, file);
        return file;
      });
      return workspace.post({
        channel,
        user,
        text: typed(text.replaceAll("<@BOT>", `<@${workspace.bot.id}>`)),
        files: uploaded,
        blocks,
        ...(attachments && { attachments }),
        ...(thread !== undefined && { threadTs: thread }),
        ...(files.length > 0 && { subtype: "file_share" }),
        ...(broadcast && { subtype: "thread_broadcast" }),
      });
    },

    async edits(message, text) {
      workspace.edit(message, { text: typed(text), blocks: [] });
    },

    async deletes(message) {
      workspace.remove(message);
    },

    async reacts(name, message) {
      workspace.react(user, name, message);
    },

    ...interactions(workspace, user, deliver, tell),

    async stops(channel, thread) {
      const status = workspace.sessions.get(`${channel.id}:${thread}`);
      if (status !== "processing")
        throw new Error(`Slack shows no Stop: the session is ${status ?? "unknown"}.`);
      workspace.stopSession(user, channel, thread);
    },
  };
}

/** What somebody typed in Slack's markup: mentions and links stay, the rest is escaped. */
function typed(text: string): string {
  return text.replaceAll(/<(?:[@#!]|https?:|mailto:)[^<>\s][^<>]*>|[&<>]/g, (found) => {
    return { "&": "&amp;", "<": "&lt;", ">": "&gt;" }[found] ?? found;
  });
}
