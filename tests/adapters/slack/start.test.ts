import { Writable } from "node:stream";
import { pino } from "pino";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { createSlackAdapter } from "../../../src/adapters/slack/adapter.ts";
import { checkSlack } from "../../../src/adapters/slack/installation/check.ts";
import { botScopes, slackManifest } from "../../../src/adapters/slack/installation/manifest.ts";
import { resolveTransport, resolveTeams } from "../../../src/adapters/slack/installation/resolve-teams.ts";
import { PlatformRefused, PlatformUnreachable } from "../../../src/chat/adapter.ts";
import type { Intake } from "../../../src/chat/inbound.ts";
import { type FakeSlack, type FakeSlackOptions, startFakeSlack } from "../../fakes/slack/fake-slack.ts";
import { nobodyWasHere } from "./connected-adapter.ts";

const intake: Intake = { receive: async () => ({ kind: "duplicate" }) };

async function slackWith(options: FakeSlackOptions = {}): Promise<FakeSlack> {
  const slack = await startFakeSlack(options);
  onTestFinished(() => slack.close());
  return slack;
}

interface Tokens {
  botToken?: string;
  appToken?: string;
}

/** Starts an adapter; gives its log, or throws what start() throws. */
async function start(slack: FakeSlack, tokens: Tokens = {}): Promise<string> {
  let written = "";
  const sink = new Writable({
    write(chunk, _encoding, done) {
      written += String(chunk);
      done();
    },
  });
  const { botToken, appToken } = { ...slack, ...tokens };
  const adapter = createSlackAdapter({
    teams: { botToken },
    events: { kind: "socket", appToken },
    apiUrl: slack.url,
    stopReactions: [],
    downtime: {
      ...nobodyWasHere,
      lastConnectedAt: async () => undefined,
      markConnected: async () => undefined,
      threads: async () => [],
      open: async () => [],
    },
    recentThreads: { of: async () => [] },
    dayBudgets: { of: async () => [] },
    mayAsk: () => true,
    choices: async () => ({ models: [], skills: [], prompts: [] }),
    log: pino(sink),
  });
  await adapter.start(intake);
  await adapter.stop();
  return written;
}

describe("start", () => {
  test("works with the tokens and the app of our own manifest, and has nothing to warn about", async () => {
    expect(await start(await slackWith())).not.toMatch(/scopes/);
  });

  test.each<[string, (slack: FakeSlack) => Tokens, RegExp]>([
    ["swapped tokens", ({ botToken, appToken }) => ({ botToken: appToken, appToken: botToken }), /swapped/],
    ["a missing app token", () => ({ appToken: "" }), /^SLACK_APP_TOKEN is not set: make an app-level token/],
    ["a user token", () => ({ botToken: "xoxp-1" }), /^SLACK_BOT_TOKEN is not an xoxb- token: copy/],
    [
      "an unknown bot token",
      () => ({ botToken: "xoxb-1" }),
      /^SLACK_BOT_TOKEN is not a token that Slack knows/,
    ],
    [
      "an unknown app token",
      () => ({ appToken: "xapp-1" }),
      /^SLACK_APP_TOKEN is not a token that Slack knows/,
    ],
  ])("names the variable, the cause and the way out for %s", async (_case, tokens, message) => {
    const slack = await slackWith();
    const failure = start(slack, tokens(slack));
    await expect(failure).rejects.toThrow(message);
    await expect(failure).rejects.toBeInstanceOf(PlatformRefused);
    await expect(failure).rejects.not.toThrow(/xoxb-1|xapp-1/);
  });

  test("says that the app token lacks connections:write", async () => {
    const slack = await slackWith({ appScopes: [] });
    await expect(start(slack)).rejects.toThrow(/^SLACK_APP_TOKEN lacks the scope connections:write: make/);
  });

  test("says that a token is of the wrong kind or was revoked", async () => {
    const slack = await slackWith();
    slack.fail("apps.connections.open", { kind: "refuse", error: "not_allowed_token_type" });
    await expect(start(slack)).rejects.toThrow(/^SLACK_APP_TOKEN is a token of the wrong kind/);
    slack.fail("auth.test", { kind: "refuse", error: "token_revoked" });
    await expect(start(slack)).rejects.toThrow(/^SLACK_BOT_TOKEN is no longer valid \(token_revoked\)/);
  });

  test.each(["ratelimited", "team_added_to_org"])(
    "is tried again where Slack says %s, which passes",
    async (error) => {
      const slack = await slackWith();
      slack.fail("auth.test", { kind: "refuse", error });
      const failure = start(slack);
      await expect(failure).rejects.toThrow(`Slack does not serve at the moment (${error})`);
      await expect(failure).rejects.toBeInstanceOf(PlatformUnreachable);
    },
  );

  test("says that Slack was not reached", async () => {
    const slack = await startFakeSlack();
    await slack.close();
    await expect(start(slack)).rejects.toThrow(
      /^SLACK_BOT_TOKEN could not be checked .*ECONNREFUSED.*SLACK_API_URL/,
    );
  });

  test("says that Slack was not reached where a page comes in place of its answer", async () => {
    const slack = await slackWith();
    slack.fail("auth.test", { kind: "page" }, 3);
    const error: unknown = await start(slack).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(PlatformUnreachable);
    expect(String(error)).toMatch(/SLACK_BOT_TOKEN could not be checked .*SLACK_API_URL/);
  });

  test("says that Slack hung up", async () => {
    const slack = await slackWith();
    slack.hangUp();
    await expect(start(slack)).rejects.toThrow(
      /^SLACK_APP_TOKEN could not be checked .*closed the new connection/,
    );
  });

  test("warns about scopes that the app was not granted", async () => {
    const slack = await slackWith({ withoutScopes: ["files:write", "users:read"] });
    expect(await start(slack)).toMatch(/lacks the scopes files:write, users:read/);
  });
});

describe("checkSlack", () => {
  const check = (slack: FakeSlack, tokens: Tokens = {}) => {
    const { botToken, appToken } = { ...slack, ...tokens };
    return checkSlack({ teams: { botToken }, events: { kind: "socket", appToken }, apiUrl: slack.url });
  };

  test("tells who the bot is, that a socket is offered, and what cannot be seen, without connecting", async () => {
    const slack = await slackWith();
    expect(await check(slack)).toEqual([
      { level: "ok", text: `heddle in Fake team, with all ${botScopes.length} scopes` },
      { level: "ok", text: expect.stringContaining("Socket Mode") },
      { level: "note", text: expect.stringMatching(/mention the bot.*Event Subscriptions/) },
    ]);
    expect(slack.connections).toBe(0);
  });

  test("tells what is wrong with each token, and which scopes are missing", async () => {
    const slack = await slackWith({ withoutScopes: ["files:write"] });
    expect(await check(slack, { appToken: "xapp-1" })).toEqual([
      { level: "ok", text: "heddle in Fake team" },
      { level: "warning", text: expect.stringContaining("lacks the scopes files:write") },
      { level: "error", text: expect.stringContaining("SLACK_APP_TOKEN is not a token that Slack knows") },
    ]);
  });

  test("says where requests come in and how to try whether they do", async () => {
    const slack = await slackWith();
    const findings = await checkSlack({
      teams: { botToken: slack.botToken },
      events: { kind: "http", signingSecret: "s", host: "127.0.0.1", port: 3000 },
      apiUrl: slack.url,
    });
    expect(findings.map(({ level }) => level)).toEqual(["ok", "note", "note"]);
    expect(findings[1]?.text).toContain("http://127.0.0.1:3000/slack/events");
  });
});

describe("the manifest", () => {
  test("asks for exactly the scopes that start() looks for", () => {
    const manifest = parse(slackManifest({ name: "Loom" }));
    expect(manifest.oauth_config.scopes.bot).toEqual([...botScopes]);
    expect(manifest.display_information.name).toBe("Loom");
    // https://docs.slack.dev/reference/app-manifest: Slack's form shows an error for a shorter one.
    expect(manifest.display_information.long_description.length).toBeGreaterThanOrEqual(174);
    expect(manifest.display_information.background_color).toMatch(/^#[0-9a-f]{6}$/);
    expect(manifest.settings.socket_mode_enabled).toBe(true);
  });

  test("with an address has Slack send requests there instead of Socket Mode", () => {
    const manifest = parse(slackManifest({ url: "https://bot.example.com/" }));
    const events = "https://bot.example.com/slack/events";
    expect(manifest.settings).toMatchObject({
      socket_mode_enabled: false,
      event_subscriptions: { request_url: events },
      interactivity: { request_url: events },
    });
    expect(manifest.features.slash_commands).toMatchObject([{ url: events }]);
    expect(manifest.oauth_config.redirect_urls).toEqual(["https://bot.example.com/slack/oauth_redirect"]);
  });
});

describe("the choice of workspaces and events", () => {
  const oauth = { SLACK_CLIENT_ID: "1.2", SLACK_CLIENT_SECRET: "s", SLACK_STATE_SECRET: "t" };
  const address = { host: "127.0.0.1", port: 3000 };

  test("takes Socket Mode where there is a token for it, and requests otherwise", () => {
    expect(resolveTransport({ SLACK_APP_TOKEN: "xapp-1", SLACK_SIGNING_SECRET: "s" }, address).kind).toBe(
      "socket",
    );
    expect(resolveTransport({ SLACK_SIGNING_SECRET: "s" }, address)).toEqual({
      kind: "http",
      signingSecret: "s",
      ...address,
    });
    expect(resolveTransport({ ...oauth, SLACK_SIGNING_SECRET: "s" }, address).kind).toBe("http");
  });

  test.each<[string, () => unknown, RegExp]>([
    ["a token beside OAuth", () => resolveTeams({ ...oauth, SLACK_BOT_TOKEN: "xoxb-1" }, []), /exclude/],
    ["half of OAuth", () => resolveTeams({ SLACK_CLIENT_ID: "1.2" }, []), /SLACK_STATE_SECRET/],
    ["OAuth for nobody", () => resolveTeams(oauth, []), /slack\.workspaces/],
    ["OAuth without requests", () => resolveTransport(oauth, address), /SLACK_SIGNING_SECRET/],
  ])("refuses %s and says what to set", (_what, choose, message) => {
    expect(choose).toThrow(message);
  });
});
