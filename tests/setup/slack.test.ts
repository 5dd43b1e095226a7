import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { setUpSlack } from "../../src/setup/slack.ts";
import { type FakeSlackOptions, startFakeSlack } from "../fakes/slack/fake-slack.ts";
import { configurationToken } from "../fakes/slack/web-api.ts";
import { newFolder, sitDown } from "./at-terminal.ts";

async function slackWith(options: FakeSlackOptions = {}) {
  const slack = await startFakeSlack({
    botToken: "xoxb-1-2-bot-secret-1234",
    appToken: "xapp-1-A0HEDDLE-3-app-secret-5678",
    ...options,
  });
  onTestFinished(() => slack.close());
  const cwd = newFolder();
  const file = join(cwd, ".env");
  const env = { SLACK_API_URL: slack.url };
  const stored = () => (existsSync(file) ? parseEnv(readFileSync(file, "utf8")) : {});
  return { slack, place: { cwd, env }, file, stored };
}

const secrets = /secret/;

describe("the tokens of an app", () => {
  test("are tried as they are pasted and stored for the owner alone; nothing of them is shown but their ends", async () => {
    const { slack, file, stored, place } = await slackWith();
    const person = sitDown(setUpSlack, place);
    await person.sees("Number [1]: ");
    person.types("3");
    await person.sees("Bot token");
    person.types(` "${slack.botToken}" `);
    await person.sees("heddle in Fake team (bot token …1234)");
    await person.sees("App-level token");
    person.types(`SLACK_APP_TOKEN=${slack.appToken}`);
    expect(await person.result).toEqual({ state: "ready", text: "Slack: heddle in Fake team." });
    expect(stored()).toEqual({ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(person.transcript()).not.toMatch(secrets);
  });

  test("are put right when they are swapped", async () => {
    const { slack, stored, place } = await slackWith();
    const person = sitDown(setUpSlack, place);
    await person.sees("Number [1]: ");
    person.types("3");
    await person.sees("Bot token");
    person.types(slack.appToken);
    await person.sees("That is the app-level token");
    await person.sees("Bot token");
    person.types(slack.botToken);
    expect(await person.result).toMatchObject({ state: "ready" });
    expect(stored()).toEqual({ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken });
  });

  test("of two apps are not taken", async () => {
    const { slack, stored, place } = await slackWith({ appToken: "xapp-1-A0OTHER-3-app-secret" });
    const person = sitDown(setUpSlack, place);
    await person.sees("Number [1]: ");
    person.types("3");
    await person.sees("Bot token");
    person.types(slack.botToken);
    await person.sees("App-level token");
    person.types(slack.appToken);
    await person.sees("of two apps (A0HEDDLE and A0OTHER)");
    await person.sees("Bot token");
    person.types("");
    expect(await person.result).toMatchObject({ state: "skipped" });
    expect(stored()).toEqual({});
  });

  test.each([
    ["xoxp-1-secret", "That is a user token of Slack"],
    ["8f742231b10e8888abcd99bbbccc85a5", "signing secret"],
    ["xoxb-unknown-secret", "is not a token that Slack knows"],
  ])("such as %s are named and asked for again", async (pasted, named) => {
    const { stored, place } = await slackWith();
    const person = sitDown(setUpSlack, place);
    await person.sees("Number [1]: ");
    person.types("3");
    await person.sees("Bot token");
    person.types(pasted);
    await person.sees(named);
    await person.sees("Bot token");
    person.types("");
    expect(await person.result).toMatchObject({ state: "failed" });
    expect(stored()).toEqual({});
    expect(person.transcript()).not.toContain(pasted);
  });

  test("with a missing scope are told so, and can be tried again after the app was installed again", async () => {
    const { slack, stored, place } = await slackWith({ withoutScopes: ["files:write"] });
    const person = sitDown(setUpSlack, place);
    await person.sees("Number [1]: ");
    person.types("3");
    await person.sees("Bot token");
    person.types(slack.botToken);
    await person.sees("lacks the scopes files:write");
    await person.sees("Number [1]: ");
    person.types("1");
    await person.sees("lacks the scopes files:write");
    await person.sees("Number [1]: ");
    person.types("2");
    await person.sees("App-level token");
    person.types(slack.appToken);
    expect(await person.result).toMatchObject({ state: "ready" });
    expect(Object.keys(stored())).toHaveLength(2);
  });

  test("are not saved when one waits for somebody's approval, because half a connection does not start", async () => {
    const { slack, stored, place } = await slackWith();
    const person = sitDown(setUpSlack, place);
    await person.sees("Number [1]: ");
    person.types("3");
    await person.sees("Bot token");
    person.types(slack.appToken);
    await person.sees("Bot token");
    person.types("");
    expect(await person.result).toMatchObject({ state: "waiting" });
    expect(stored()).toEqual({});
  });

  test("are kept unasked in a second run, and removed when somebody wants that", async () => {
    const { slack, stored, place } = await slackWith();
    const env = { ...place.env };
    const first = sitDown(setUpSlack, { ...place, env });
    await first.sees("Number [1]: ");
    first.types("3");
    await first.sees("Bot token");
    first.types(slack.botToken);
    await first.sees("App-level token");
    first.types(slack.appToken);
    await first.result;
    const second = sitDown(setUpSlack, { ...place, env });
    await second.sees("Slack is set up.");
    await second.sees("Number [1]: ");
    second.types("");
    expect(await second.result).toEqual({ state: "ready", text: "Slack: heddle in Fake team." });
    const third = sitDown(setUpSlack, { ...place, env });
    await third.sees("Number [1]: ");
    third.types("remove");
    expect(await third.result).toMatchObject({ state: "skipped" });
    expect(stored()).toEqual({});
  });

  test("that were revoked are found in a second run", async () => {
    const { slack, place } = await slackWith();
    const env = { ...place.env, SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken };
    slack.fail("auth.test", { kind: "refuse", error: "token_revoked" });
    const person = sitDown(setUpSlack, { ...place, env });
    await person.sees("is no longer valid (token_revoked)");
    await person.sees("Number [1]: ");
    person.types("skip");
    expect(await person.result).toMatchObject({ state: "skipped" });
  });
});

describe("a Slack that cannot be used", () => {
  test("because it is silent is given up in time, and can be tried again", async () => {
    const { slack, place } = await slackWith();
    slack.fail("auth.test", { kind: "stall" });
    const person = sitDown(setUpSlack, { ...place, patienceMs: 200 });
    await person.sees("Number [1]: ");
    person.types("3");
    await person.sees("Bot token");
    person.types(slack.botToken);
    await person.sees("Slack was not reached");
    await person.sees("Number [1]: ");
    person.types("");
    await person.sees("heddle in Fake team");
    await person.sees("App-level token");
    person.types(slack.appToken);
    expect(await person.result).toMatchObject({ state: "ready" });
  });

  test("because it is not there is told apart from a wrong token", async () => {
    const { slack, place } = await slackWith();
    await slack.close();
    const person = sitDown(setUpSlack, place);
    await person.sees("Number [1]: ");
    person.types("3");
    await person.sees("Bot token");
    person.types(slack.botToken);
    await person.sees("ECONNREFUSED");
    await person.sees("Number [1]: ");
    person.types("2");
    await person.sees("Bot token");
    person.types("");
    expect(await person.result).toMatchObject({ state: "failed" });
  });
});

test("the form's address, the manifest's file and the clipboard hold the whole manifest", async () => {
  const { slack, place } = await slackWith();
  const person = sitDown(setUpSlack, place);
  await person.sees("Number [1]: ");
  person.types("");
  await person.sees("Bot token");
  person.types("");
  await person.result;
  const manifest = readFileSync(join(place.cwd, "data", "slack-manifest.yaml"), "utf8").trimEnd();
  const transcript = person.transcript();
  const [, copied = ""] = /\]52;c;([\w+/=]+)/.exec(transcript) ?? [];
  expect(Buffer.from(copied, "base64").toString()).toBe(manifest);
  const [link = ""] = /https:\/\/api\.slack\.com\/apps\?\S+/.exec(transcript) ?? [];
  const asked = JSON.parse(new URL(link).searchParams.get("manifest_json") ?? "") as { settings: object };
  expect(asked.settings).toMatchObject({ socket_mode_enabled: true });
  expect(slack.calls).toEqual([]);
});

describe("an app made with a configuration token", () => {
  test("is made from the manifest, and the token is used and not stored", async () => {
    const { slack, stored, place } = await slackWith();
    const person = sitDown(setUpSlack, place);
    await person.sees("Number [1]: ");
    person.types("create");
    await person.sees("Configuration token");
    person.types("xoxb-1");
    await person.sees("copy the Access Token");
    await person.sees("Configuration token");
    person.types(configurationToken);
    await person.sees("Slack has made the app A0HEDDLE");
    await person.sees("/oauth/v2/authorize?client_id=");
    expect(slack.calls.map(({ method }) => method)).toContain("apps.icon.set");
    await person.sees("Bot token");
    person.types(slack.botToken);
    await person.sees("App-level token");
    person.types(slack.appToken);
    expect(await person.result).toMatchObject({ state: "ready" });
    expect(person.transcript()).not.toContain("icon.png");
    expect(Object.values(stored())).not.toContain(configurationToken);
    expect(person.transcript()).not.toContain(configurationToken);
  });

  test("is made also when Slack refuses its icon, and it is said where that can be uploaded", async () => {
    const { slack, place } = await slackWith();
    slack.fail("apps.icon.set", { kind: "refuse", error: "ratelimited" });
    const person = sitDown(setUpSlack, place);
    await person.sees("Number [1]: ");
    person.types("create");
    await person.sees("Configuration token");
    person.types(configurationToken);
    await person.sees("Slack has made the app A0HEDDLE");
    await person.sees("docs/images/icon.png");
    await person.sees("Bot token");
    person.types("");
    expect(await person.result).toMatchObject({ state: "skipped" });
  });

  test("is not made when Slack refuses the manifest or the token, and the reason is shown", async () => {
    const { slack, place } = await slackWith();
    const details = { errors: [{ message: "must be shorter", pointer: "/display_information/name" }] };
    slack.fail("apps.manifest.validate", { kind: "refuse", error: "invalid_manifest", details });
    const person = sitDown(setUpSlack, place);
    await person.sees("Number [1]: ");
    person.types("create");
    await person.sees("Configuration token");
    person.types(configurationToken);
    await person.sees("/display_information/name: must be shorter");
    await person.sees("Configuration token");
    person.types("xoxe.xoxp-1-expired");
    await person.sees("it is good for 12 hours");
    await person.sees("Configuration token");
    person.types("");
    expect(await person.result).toMatchObject({ state: "failed" });
  });
});
