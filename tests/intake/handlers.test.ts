import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import type { Author, InboundEvent } from "../../src/adapters/adapter.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import { createAccess } from "../../src/intake/access.ts";

/**
 * Every way in, found in the adapters' own code, against the one table of permissions. Whoever adds a handler has
 * to say here which kinds of events it brings, or why none: until then this test fails.
 */
const policies: Record<string, InboundEvent["kind"][] | { none: string }> = {
  "slack event app_mention": ["message"],
  "slack event message": ["message", "edit", "delete"],
  "slack event reaction_added": ["stop"],
  "slack event agent_session_stopped": ["stop"],
  "slack event app_uninstalled": { none: "Slack itself tells it; the token of the workspace is forgotten" },
  "slack event tokens_revoked": { none: "Slack itself tells it; the token of the workspace is forgotten" },
  "slack event app_home_opened": { none: "shows people the threads that they have begun themselves" },
  "slack action stopAction": ["stop"],
  "slack action actNow": ["action"],
  "slack action askFirst": ["action"],
  "slack view sentenceModal": ["action"],
  "slack command slashCommand": ["message"],
  "slack shortcut { type: message_action, callback_id: aboutShortcut }": ["message"],
  "slack view aboutModal": ["message"],
  "discord dispatch MessageCreate": ["message"],
  "discord dispatch MessageUpdate": ["edit"],
  "discord dispatch MessageDelete": ["delete"],
  "discord dispatch MessageDeleteBulk": ["delete"],
  "discord dispatch MessageReactionAdd": ["stop"],
  "discord dispatch InteractionCreate": ["message", "stop", "action"],
  "discord dispatch GuildCreate": {
    none: "Discord itself tells it; the bot's commands and threads are looked at",
  },
  "discord dispatch ThreadCreate": { none: "notes which channel a thread is in" },
  "local POST /api/session": { none: "the console's token is asked for; it only makes a cookie of it" },
  "local POST /api/threads/ID/messages": ["message"],
  "local POST /api/threads/ID/messages/ID/actions": ["action"],
  "local POST /api/threads/ID/attachments": {
    none: "keeps bytes that mean nothing until a message names them",
  },
  "local POST /api/threads/ID/stop": ["stop"],
  "local POST /api/sessions/ID/stop": ["stop"],
  "local POST /api/sessions/ID/continue": ["action"],
};

const root = resolve(import.meta.dirname, "../../src/adapters");

/** What registers a handler in the SDKs: `app.action("stop", async …)`, `client.on(Events.MessageCreate, …)`. */
const registration =
  /\b(?:app|client|gateway|rest|bot)\s*\.\s*(event|action|command|shortcut|view|options|message|on|once)\(\s*("[^"]*"|\{[^}]*\}|[^,(){}]+),/g;

/** Discord's, in a record by their names. */
const dispatch = /\[GatewayDispatchEvents\.(\w+)\]\s*:/g;

/** Events that a connection has about itself. */
const ofTheConnection =
  /^(?:authenticated|connected|disconnected|connecting|reconnecting|close|error|warn|debug|ready|Events\.(?:Shard\w+|Error|Warn|Debug))$/;

function handlersOf(platform: string): string[] {
  const files = readdirSync(join(root, platform), { recursive: true, encoding: "utf8" });
  return files
    .filter((path) => path.endsWith(".ts"))
    .flatMap((path) => {
      const text = readFileSync(join(root, platform, path), "utf8");
      return [...registered(text), ...routes(text)].map((name) => `${platform} ${name}`);
    });
}

function registered(text: string): string[] {
  const listened = [...text.matchAll(registration)].flatMap(([, method = "", event = ""]) => {
    const name = event.replaceAll('"', "").replaceAll(/\s+/g, " ").trim();
    return ofTheConnection.test(name) ? [] : [`${method} ${name}`];
  });
  const dispatched = [...text.matchAll(dispatch)].map(([, event = ""]) => `dispatch ${event}`);
  return [...listened, ...dispatched];
}

/** The console's requests that change something. */
function routes(text: string): string[] {
  const changing = /method: "(POST|PUT|DELETE|PATCH)",\s*path: "([^"]+)"/g;
  return [...text.matchAll(changing)].map(
    ([, method, path]) => `${method} ${path?.replaceAll(/:\w+/g, "ID")}`,
  );
}

const platforms = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
const handlers = [...new Set(platforms.flatMap(handlersOf))];

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
  test("are found in their code", () => {
    expect(handlers).toEqual(
      expect.arrayContaining(["slack event app_mention", "local POST /api/threads/ID/stop"]),
    );
  });

  test.each(handlers)("%s has a policy", (handler) => {
    expect(policies, `${handler} brings something in: enter it in the policies of this test.`).toHaveProperty(
      [handler],
    );
  });

  test("with a policy exist", () => {
    expect(Object.keys(policies).filter((name) => !handlers.includes(name))).toEqual([]);
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
