import { WebAPIPlatformError } from "@slack/web-api";
import { pino } from "pino";
import { describe, expect, onTestFinished, test } from "vitest";
import { askAbout } from "../../../src/adapters/slack/inbound/modals.ts";
import { createWebClient } from "../../../src/adapters/slack/connection/web.ts";
import { type FakeSlack, type FakeSlackOptions, startFakeSlack } from "../../fakes/slack/fake-slack.ts";
import type { FakeChannel, FakeMessage } from "../../fakes/slack/workspace.ts";

/** The fake refuses what Slack refuses; the tests of the adapter lean on that. */

interface Scene {
  slack: FakeSlack;
  /** Calls any method, and gives the code of the refusal, or "ok". */
  call(method: string, args: Record<string, unknown>): Promise<string>;
  general: FakeChannel;
  root: FakeMessage;
}

async function scene(options: FakeSlackOptions = {}): Promise<Scene> {
  const slack = await startFakeSlack(options);
  onTestFinished(() => slack.close());
  const log = pino({ level: "silent" });
  const client = createWebClient({ botToken: slack.botToken, apiUrl: slack.url, log }, { timeoutMs: 5_000 });
  const general = slack.channel("general");
  const root = await slack.user("ada").says(general, "hello");
  const call = async (method: string, args: Record<string, unknown>) => {
    try {
      await client.apiCall(method, args);
      return "ok";
    } catch (error) {
      if (error instanceof WebAPIPlatformError) return error.data.error;
      throw error;
    }
  };
  return { slack, call, general, root };
}

const markdown = (length: number) => ({ type: "markdown", text: "x".repeat(length) });

describe("the fake Slack refuses", () => {
  test.each<[string, Record<string, unknown>]>([
    ["no_text", {}],
    ["msg_too_long", { text: "x".repeat(40_001) }],
    ["ok", { text: "x".repeat(40_000) }],
    ["invalid_blocks", { text: "x", blocks: Array.from({ length: 51 }, () => ({ type: "divider" })) }],
    ["ok", { text: "x", blocks: Array.from({ length: 50 }, () => ({ type: "divider" })) }],
    ["invalid_blocks", { text: "x", blocks: [markdown(12_001)] }],
    ["invalid_blocks", { text: "x", blocks: [markdown(7_000), markdown(7_000)] }],
    ["ok", { text: "x", blocks: [markdown(12_000)] }],
    ["invalid_blocks", { text: "x", blocks: [markdown(0)] }],
    ["invalid_blocks", { text: "x", blocks: [{ type: "no_such_block" }] }],
    ["invalid_blocks", { text: "x", blocks: [{ type: "divider", colour: "red" }] }],
    ["invalid_arguments", { text: "x", thread: "1.000000" }],
    ["thread_not_found", { text: "x", thread_ts: "1.000000" }],
    ["invalid_thread_ts", { text: "x", thread_ts: "1" }],
  ])("or takes a post: %s", async (code, args) => {
    const { call, general } = await scene();
    expect(await call("chat.postMessage", { channel: general.id, ...args })).toBe(code);
  });

  test("what is not there, not ours or already so", async () => {
    const { slack, call, general, root } = await scene();
    const place = { channel: general.id, timestamp: root.ts };
    const hidden = slack.channel("secret", { kind: "private", withoutBot: true });
    const elsewhere = slack.channel("elsewhere", { withoutBot: true });
    expect(await call("chat.postMessage", { text: "x" })).toBe("invalid_arguments");
    expect(await call("chat.postMessage", { channel: hidden.id, text: "x" })).toBe("channel_not_found");
    expect(await call("chat.postMessage", { channel: elsewhere.id, text: "x" })).toBe("not_in_channel");
    expect(await call("chat.update", { channel: general.id, ts: root.ts, text: "x" })).toBe(
      "cant_update_message",
    );
    expect(await call("chat.delete", { channel: general.id, ts: root.ts })).toBe("cant_delete_message");
    expect(await call("chat.update", { channel: general.id, ts: "1.000000", text: "x" })).toBe(
      "message_not_found",
    );
    expect(await call("reactions.remove", { ...place, name: "eyes" })).toBe("no_reaction");
    expect(await call("reactions.add", { ...place, name: "eyes" })).toBe("ok");
    expect(await call("reactions.add", { ...place, name: "eyes" })).toBe("already_reacted");
    expect(await call("reactions.add", { ...place, name: "No Emoji" })).toBe("invalid_name");
    expect(await call("users.info", { user: "U404" })).toBe("user_not_found");
    expect(await call("files.getUploadURLExternal", { filename: "a", length: 0 })).toBe("invalid_arguments");
    expect(await call("no.such.method", {})).toBe("unknown_method");
  });

  test("what the app may not do", async () => {
    const { call, general, root } = await scene({ withoutScopes: ["reactions:write", "channels:read"] });
    expect(await call("reactions.add", { channel: general.id, timestamp: root.ts, name: "eyes" })).toBe(
      "missing_scope",
    );
    expect(await call("conversations.info", { channel: general.id })).toBe("missing_scope");
    expect(await call("conversations.history", { channel: general.id })).toBe("ok");
  });

  test("a modal without a fresh trigger, or that is none", async () => {
    const { slack, call, general, root } = await scene();
    const view = askAbout({ channel: general.id, message: root.ts });
    const pressed = slack.user("ada").chooses("heddle_about", root);
    const trigger_id = pressed.payload["trigger_id"];
    expect(await call("views.open", { trigger_id: "1", view })).toBe("invalid_trigger_id");
    const long = { ...view, private_metadata: "x".repeat(3_001) };
    expect(await call("views.open", { trigger_id, view: long })).toBe("invalid_arguments");
    expect(await call("views.open", { trigger_id, view })).toBe("ok");
    expect(await call("views.open", { trigger_id, view })).toBe("exchanged_trigger_id");
  });

  test("a home tab with what only messages may hold, and a link to nothing", async () => {
    const { slack, call, general, root } = await scene();
    const publish = (blocks: object[]) =>
      call("views.publish", { user_id: slack.user("ada").id, view: { type: "home", blocks } });
    expect(await publish([{ type: "divider" }])).toBe("ok");
    expect(await publish([markdown(1)])).toBe("invalid_arguments");
    const link = (message_ts: string) => call("chat.getPermalink", { channel: general.id, message_ts });
    expect([await link(root.ts), await link("1.000000")]).toEqual(["ok", "message_not_found"]);
  });

  test("a code that is not good, or good no more", async () => {
    const { slack, call } = await scene();
    const { clientId: client_id, clientSecret: client_secret, codes } = slack.oauth;
    codes.add("c");
    const exchange = (args: object) =>
      call("oauth.v2.access", { client_id, client_secret, code: "c", ...args });
    expect(await exchange({ client_secret: "guess" })).toBe("bad_client_secret");
    expect(await exchange({ code: "guess" })).toBe("invalid_code");
    expect([await exchange({}), await exchange({})]).toEqual(["ok", "invalid_code"]);
  });

  test("to post an ephemeral message to somebody who is not there", async () => {
    const { slack, call, general } = await scene();
    const say = (user: string) => call("chat.postEphemeral", { channel: general.id, user, text: "psst" });
    expect(await say(slack.user("ada").id)).toBe("ok");
    expect(await say(slack.user("stranger").id)).toBe("user_not_in_channel");
  });

  test("to show an ephemeral message in a thread without replies", async () => {
    const { slack, call, general, root } = await scene();
    const ada = slack.user("ada");
    const place = { channel: general.id, thread_ts: root.ts };
    const say = (text: string) => call("chat.postEphemeral", { ...place, user: ada.id, text });
    expect([await say("unseen"), ada.ephemerals()]).toEqual(["ok", []]);
    await ada.says(general, "and hurry", { thread: root.ts });
    expect([await say("seen"), ada.ephemerals()]).toEqual(["ok", ["seen"]]);
  });

  test("the wrong token, for each method", async () => {
    const { slack } = await scene();
    const ask = async (method: string, token?: string) => {
      const headers = { ...(token !== undefined && { authorization: `Bearer ${token}` }) };
      const response = await fetch(`${slack.url}${method}`, { method: "POST", headers });
      return response.json();
    };
    expect(await ask("auth.test")).toMatchObject({ ok: false, error: "not_authed" });
    expect(await ask("auth.test", "xoxb-1")).toMatchObject({ error: "invalid_auth" });
    expect(await ask("auth.test", slack.appToken)).toMatchObject({ error: "not_allowed_token_type" });
    expect(await ask("apps.connections.open", slack.botToken)).toMatchObject({
      error: "not_allowed_token_type",
    });
    expect(await ask("apps.connections.open", slack.appToken)).toMatchObject({ ok: true });
  });

  test("a download without the token, with a page and status 200", async () => {
    const { slack, general } = await scene();
    const files = [{ name: "a.txt", content: "secret" }];
    const message = await slack.user("ada").says(general, "file", { files });
    const url = new URL(`../files-pri/${message.files[0]?.id}/a.txt`, slack.url);
    const response = await fetch(url);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/html"]);
  });
});

test("events are told only where the bot is, and only those that the manifest subscribes to", async () => {
  const { slack, root } = await scene({
    manifest: `
      features: { agent_view: {} }
      oauth_config: { scopes: { bot: [] } }
      settings: { event_subscriptions: { bot_events: [message.groups, reaction_added] } }`,
  });
  const ada = slack.user("ada");
  await ada.says(slack.channel("general"), "<@BOT> not subscribed");
  await ada.says(slack.channel("elsewhere", { kind: "private", withoutBot: true }), "not there");
  await ada.says(slack.channel("secret", { kind: "private" }), "told");
  await ada.reacts("eyes", root);
  expect(slack.deliveries.map(({ type }) => type)).toEqual(["message", "reaction_added"]);
});
