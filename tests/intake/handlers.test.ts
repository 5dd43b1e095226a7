import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { App } from "@slack/bolt";
import { Client, Events, GatewayDispatchEvents } from "discord.js";
import { describe, expect, test, vi } from "vitest";
import { routes } from "../../src/adapters/console/api/api.ts";
import type { ComponentAction } from "../../src/adapters/discord/surface/buttons.ts";
import type { Author, InboundEvent } from "../../src/chat/inbound.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import { createAccess } from "../../src/intake/access.ts";
import { adapterFor as discordAdapter } from "../adapters/discord/connected-adapter.ts";
import {
  adapterFor as slackAdapter,
  nobodyWasHere,
  recordingIntake,
} from "../adapters/slack/connected-adapter.ts";
import { startFakeDiscord } from "../fakes/discord/fake-discord.ts";
import { startFakeSlack } from "../fakes/slack/fake-slack.ts";

/** The kinds of events that a handler brings to the intake, or why it brings none. */
type Policy = InboundEvent["kind"][] | { none: string };

const named = (begin: string, some: Record<string, Policy>): Record<string, Policy> =>
  Object.fromEntries(Object.entries(some).map(([name, policy]) => [`${begin} ${name}`, policy]));
const itself = (what: string): Policy => ({ none: `the platform itself tells it; ${what}` });
const reads: Policy = { none: "shows something to whoever has the console's token" };
const operator: Policy = { none: "whoever has this machine's shell and the secrets runs Heddle" };

/** What the ids of Discord's buttons and forms mean; a new meaning does not compile without an entry. */
const discordPresses: Record<ComponentAction["kind"], Policy> = {
  stop: ["stop"],
  act: ["action"],
  choose: ["action"],
  ask: { none: "opens a form; what is written there is the press" },
  said: ["action"],
  filled: ["action"],
  more: ["action"],
  rest: ["action"],
  about: ["message"],
};

const connects: Policy = {
  none: "an operator's set-up of .env and settings: it brings nothing to the agent",
};
const manages = { none: "an operator's act on a stored thread: it brings nothing to the agent" };

/**
 * Every way in, against the one table of permissions. Whoever adds a handler has to say here which kinds of events
 * it brings, or why none: until then this test fails.
 */
const policies: Record<string, Policy> = {
  "slack event app_mention": ["message"],
  "slack event message": ["message", "edit", "delete"],
  "slack event reaction_added": ["stop"],
  "slack event agent_session_stopped": ["stop"],
  "slack event app_uninstalled": itself("the token of the workspace is forgotten"),
  "slack event tokens_revoked": itself("the token of the workspace is forgotten"),
  "slack event app_home_opened": { none: "shows people the threads that they have begun themselves" },
  "slack action heddle_stop": ["stop"],
  "slack action /^heddle_act:/": ["action"],
  "slack action heddle_rate": ["action"],
  "slack action /^heddle_ask:/": { none: "opens a form; what is written there is the press" },
  "slack view heddle_sentence": ["action"],
  "slack view heddle_form": ["action"],
  "slack command /agent": ["message"],
  'slack shortcut {"type":"message_action","callback_id":"heddle_about"}': {
    none: "opens a form; what is written there is the message",
  },
  "slack view heddle_about": ["message"],
  "slack use nameTeam": { none: "names the workspace that each event is about, for all handlers" },
  "discord event MESSAGE_CREATE": ["message"],
  "discord event MESSAGE_UPDATE": ["edit", "message"],
  "discord event MESSAGE_DELETE": ["delete"],
  "discord event MESSAGE_DELETE_BULK": ["delete"],
  "discord event MESSAGE_REACTION_ADD": ["stop"],
  "discord event INTERACTION_CREATE": ["message", "stop", "action"],
  "discord event GUILD_CREATE": itself("notes which channel a thread is in"),
  "discord event THREAD_CREATE": itself("notes which channel a thread is in"),
  "discord event THREAD_UPDATE": itself("what was kept while it was locked is sent"),
  "discord event THREAD_DELETE": ["stop"],
  "discord event CHANNEL_DELETE": ["stop"],
  "discord event CHANNEL_UPDATE": ["stop"],
  "discord event GUILD_DELETE": ["stop"],
  "discord InteractionType ApplicationCommand": ["message"],
  "discord InteractionType ApplicationCommandAutocomplete": {
    none: "suggests names, none to people whose tasks are not taken",
  },
  "discord InteractionType MessageComponent": ["stop", "action"],
  "discord InteractionType ModalSubmit": ["message", "action"],
  "discord ApplicationCommandType ChatInput": ["message"],
  "discord ApplicationCommandType Message": ["message"],
  "discord command agent": ["message"],
  "discord command stop": ["message", "stop"],
  "discord command status": ["message"],
  "discord command notify": ["message"],
  "discord command queue": ["message"],
  "discord command model": ["message"],
  "discord command skill": ["message"],
  "discord command Ask the agent about this": ["message"],
  ...named("discord press", discordPresses),
  ...named("console GET", {
    "/api/v1/status": reads,
    "/api/v1/events": reads,
    "/api/v1/threads": reads,
    "/api/v1/threads/:thread/files": reads,
    "/api/v1/threads/:thread/file": reads,
    "/api/v1/threads/:thread/uploads/:message": reads,
    "/api/v1/sessions": reads,
    "/api/v1/openapi.json": reads,
    "/api/v1/threads/:thread": reads,
    "/api/v1/threads/:thread/events": reads,
    "/api/v1/threads/:thread/thumbnails/:upload": reads,
    "/api/v1/sessions/events": reads,
    "/api/v1/sessions/:thread/timeline": reads,
    "/api/v1/sessions/:thread/events": reads,
    "/api/v1/sessions/:thread/calls": reads,
    "/api/v1/sessions/:thread/calls/:call": reads,
    "/api/v1/usage": reads,
    "/api/v1/audit": reads,
    "/api/v1/system": reads,
    "/api/v1/settings": reads,
    "/api/v1/questions": reads,
    "/api/v1/sessions/:thread/queue": reads,
    "/api/v1/needs": reads,
    "/api/v1/search": reads,
    "/api/v1/sessions/:thread/export": reads,
    "/api/v1/sessions/:thread/outline": reads,
    "/api/v1/sessions/:thread/search": reads,
    "/api/v1/sessions/:thread/spans": reads,
    "/api/v1/setup": connects,
    "/api/v1/github-app": connects,
    "/api/v1/setup/events": connects,
  }),
  ...named("console POST", {
    "/api/v1/session": { none: "the console's token is asked for; it only makes a cookie of it" },
    "/api/v1/session/end": { none: "ends the cookie that it comes with" },
    "/api/v1/threads": ["message"],
    "/api/v1/threads/:thread/messages": ["message"],
    "/api/v1/threads/:thread/questions/:question": ["action"],
    "/api/v1/threads/:thread/messages/:message/actions": ["action"],
    "/api/v1/threads/:thread/attachments": {
      none: "keeps bytes that mean nothing until a message names them",
    },
    "/api/v1/threads/:thread/attachments/:upload/thumbnail": { none: "keeps a picture of such a file" },
    "/api/v1/threads/:thread/stop": ["stop"],
    "/api/v1/sessions/:thread/stop": ["stop"],
    "/api/v1/sessions/:thread/continue": ["action"],
    "/api/v1/sessions/:thread/title": manages,
    "/api/v1/sessions/:thread/archive": manages,
    "/api/v1/sessions/:thread/delete": manages,
    "/api/v1/sessions/:thread/queue": ["action"],
    "/api/v1/sessions/:thread/questions/:question": ["action"],
    "/api/v1/github-app/look": connects,
    "/api/v1/github-app/begin": connects,
    "/api/v1/github-app/finish": connects,
    "/api/v1/github-app/forget": connects,
    "/api/v1/setup": connects,
    "/api/v1/setup/answers": connects,
    "/api/v1/setup/end": connects,
  }),
  ...named("terminal", {
    run: ["message", "stop", "action"],
    stop: ["stop"],
    start: operator,
    doctor: operator,
    health: operator,
    manifest: operator,
    threads: operator,
    workspaces: operator,
    audit: operator,
    schedules: operator,
    config: operator,
    reload: operator,
    usage: operator,
    mcp: operator,
    setup: operator,
    tokens: operator,
    people: operator,
    questions: ["action"],
  }),
};

const source = resolve(import.meta.dirname, "../../src");

function nameOf(what: unknown): string {
  if (typeof what === "function") return what.name;
  return typeof what === "string" || what instanceof RegExp ? String(what) : JSON.stringify(what);
}

/** What of a Bolt app listens to nobody. */
const lifecycle = /^(?:constructor|start|stop|error|processEvent|handleError|webClientOptions|init\w*)$/;

/** Whatever is registered with Bolt apps while `work` runs, by the method and what it is for. */
async function registeredWithBolt(work: () => Promise<void> | void): Promise<string[]> {
  const methods = Object.getOwnPropertyNames(App.prototype).filter((name) => !lifecycle.test(name));
  // The names are those of methods, all of which take what they listen to first.
  const spies = methods.map((name) => [name, vi.spyOn(App.prototype, name as "event")] as const);
  await work();
  return spies.flatMap(([name, spy]) => {
    const found = spy.mock.calls.map(([what]) => `slack ${name} ${nameOf(what)}`);
    spy.mockRestore();
    return found;
  });
}

/** Events that a connection has about itself. */
const ofTheConnection = new Set<unknown>([
  ...[GatewayDispatchEvents.Ready, GatewayDispatchEvents.Resumed, Events.Error],
  ...[Events.ShardReconnecting, Events.ShardDisconnect, Events.ShardError],
]);

/** Whatever listens at a Discord client. */
function registeredWithDiscord(client: Client): string[] {
  const names = [...client.ws.eventNames(), ...client.eventNames()];
  return names.filter((name) => !ofTheConnection.has(name)).map((name) => `discord event ${String(name)}`);
}

/** Kinds of interactions that a text can read: each is parsed by a schema of its own. */
function interactionsIn(text: string): string[] {
  const literal = /z\.literal\((InteractionType|ApplicationCommandType)\.(\w+)\)/g;
  return [...text.matchAll(literal)].map(([, type, name]) => `discord ${type} ${name}`);
}

function commandsIn(text: string): string[] {
  const names = [...text.matchAll(/import\("\.\.\/([\w-]+)\.ts"\)/g)].map(([, name]) => `terminal ${name}`);
  return [...new Set(names)];
}

const routeName = ({ method, path }: { method: string; path: string }) => `console ${method} ${path}`;

async function slackHandlers(): Promise<string[]> {
  const slack = await startFakeSlack();
  const adapter = slackAdapter(slack, nobodyWasHere);
  const found = await registeredWithBolt(() => adapter.start(recordingIntake()));
  await adapter.stop();
  await slack.close();
  return found;
}

async function discordHandlers(): Promise<string[]> {
  const discord = await startFakeDiscord();
  const login = vi.spyOn(Client.prototype, "login");
  const adapter = discordAdapter(discord);
  await adapter.start(recordingIntake());
  // Whose method it is.
  const clients = login.mock.contexts as Client[];
  login.mockRestore();
  const found = [
    ...clients.flatMap(registeredWithDiscord),
    ...discord.commands.map(({ name }) => `discord command ${String(name)}`),
  ];
  await adapter.stop();
  await discord.close();
  const folder = resolve(source, "adapters/discord");
  const texts = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => readFileSync(resolve(folder, path), "utf8"));
  return [...found, ...texts.flatMap(interactionsIn)];
}

const found = await Promise.all([slackHandlers(), discordHandlers()]);
const handlers = [
  ...new Set(found.flat()),
  ...Object.keys(discordPresses).map((kind) => `discord press ${kind}`),
  ...routes.map(routeName),
  ...readdirSync(resolve(source, "commands/command-line")).flatMap((file) =>
    commandsIn(readFileSync(resolve(source, "commands/command-line", file), "utf8")),
  ),
];

/** Every kind of event; a new one does not compile without an entry. */
const kinds = Object.keys({
  message: 0,
  edit: 0,
  delete: 0,
  stop: 0,
  action: 0,
} satisfies Record<InboundEvent["kind"], 0>) as InboundEvent["kind"][];

function eventOf(kind: InboundEvent["kind"], platform: string, author: Author): InboundEvent {
  const thread = { platform, workspace: "W", channel: "C", thread: "T" };
  const about = { thread, ref: { platform, workspace: "W", channel: "C", message: "M" }, author, at: 1 };
  switch (kind) {
    case "message":
      return { kind, ...about, text: "x", attachments: [], addressed: "follow-up" };
    case "edit":
      return { kind, ...about, text: "x" };
    case "delete":
      return { kind, ...about };
    case "stop":
      return { kind, target: { thread }, author, at: 1 };
    case "action":
      return { kind, ...about, action: "x" };
  }
}

describe("The handlers of the adapters", () => {
  test.each(handlers)("%s has a policy", (handler) => {
    expect(policies, `${handler} brings something in: enter it in the policies of this test.`).toHaveProperty(
      [handler],
    );
  });

  test("with a policy exist", () => {
    expect(Object.keys(policies).filter((name) => !handlers.includes(name))).toEqual([]);
  });

  const nothing = async () => undefined;
  const app = () => new App({ token: "xoxb-1", signingSecret: "x", deferInitialization: true });
  const client = () => new Client({ intents: [] });
  test.each<[string, () => Promise<string[]> | string[]]>([
    ["an event of Slack", () => registeredWithBolt(() => app().event("file_shared", nothing))],
    ["a word of Slack", () => registeredWithBolt(() => app().message("hello", nothing))],
    ["a reaction of Slack", () => registeredWithBolt(() => app().event("reaction_removed", nothing))],
    ["a command of Slack", () => registeredWithBolt(() => app().command("/other", nothing))],
    ["a button of Slack", () => registeredWithBolt(() => app().action(/^other/, nothing))],
    ["a shortcut of Slack", () => registeredWithBolt(() => app().shortcut("other", nothing))],
    ["a modal of Slack", () => registeredWithBolt(() => app().view("other", nothing))],
    ["suggestions of Slack", () => registeredWithBolt(() => app().options("other", nothing))],
    ["a middleware of Slack", () => registeredWithBolt(() => void app().use(nothing))],
    [
      "an event of Discord",
      () => {
        const other = client();
        other.ws.on(GatewayDispatchEvents.MessagePollVoteAdd, () => undefined);
        return registeredWithDiscord(other);
      },
    ],
    [
      "an event of discord.js",
      () => registeredWithDiscord(client().on(Events.MessageCreate, () => undefined)),
    ],
    ["a context menu of Discord", () => interactionsIn("type: z.literal(ApplicationCommandType.User),")],
    ["an interaction of Discord", () => interactionsIn("type: z.literal(InteractionType.Ping),")],
    ["a request to the console", () => [routeName({ method: "GET", path: "/api/v1/secrets" })]],
    [
      "a command of the terminal",
      () => commandsIn('run(async () => (await import("../other.ts")).command())'),
    ],
  ])("would not go unseen if somebody added %s", async (_what, register) => {
    const registered = await register();
    expect(registered).not.toEqual([]);
    expect(Object.keys(policies)).not.toEqual(expect.arrayContaining(registered));
  });
});

describe("Every kind of event", () => {
  const { permission } = createAccess(settingsSchema.parse({}).access);
  const strangers: [string, Author["standing"]][] = [
    ...(["guest", "external", "bot"] as const).map((standing): [string, Author["standing"]] => [
      "slack",
      standing,
    ]),
    ...(["member", "guest", "external", "bot"] as const).map((standing): [string, Author["standing"]] => {
      return ["discord", standing];
    }),
    ...(["guest", "external", "bot"] as const).map((standing): [string, Author["standing"]] => [
      "local",
      standing,
    ]),
  ];

  test.each(
    kinds.flatMap((kind) => strangers.map(([platform, standing]) => [kind, platform, standing] as const)),
  )("%s on %s is denied to a %s", (kind, platform, standing) => {
    const author = { id: "U1", name: "Eve", standing, roles: ["admin", "owner"] };
    expect(permission(eventOf(kind, platform, author)).allowed).toBe(false);
  });
});
