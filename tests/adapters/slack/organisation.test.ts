import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createInstallations } from "../../../src/adapters/slack/installation/installations.ts";
import { slackManifest } from "../../../src/adapters/slack/installation/manifest.ts";
import type { OAuthClient } from "../../../src/adapters/slack/installation/oauth-client.ts";
import { createTeamsSurface } from "../../../src/adapters/slack/surface/teams-surface.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { buttonsOf } from "../../fakes/slack/blocks.ts";
import { type FakeSlack, startFakeSlack } from "../../fakes/slack/fake-slack.ts";
import { openFront } from "../../fakes/slack/front.ts";
import {
  adapterFor,
  nobodyWasHere,
  signingSecret,
  startHttpAdapter,
  untilAcknowledged,
} from "./connected-adapter.ts";

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(() => redis.client().flushall());

const log = pino({ level: "silent" });

/** Two workspaces of one organisation, which has installed the app as a whole. @param allowed in slack.workspaces */
async function scene(allowed: readonly string[] = ["E0ORG"], now = { ms: Date.now() }) {
  const organisation = { id: "E0ORG", teams: new Set(["T0ONE", "T0TWO"]), lastId: 0 };
  const start = (teamId: string) => startFakeSlack({ teamId, botToken: "xoxb-token-of-org", organisation });
  const [one, two] = [await start("T0ONE"), await start("T0TWO")];
  onTestFinished(() => Promise.all([one.close(), two.close()]).then(() => undefined));
  const { url: apiUrl, close } = await openFront([one, two]);
  onTestFinished(close);
  one.oauth.kind = "organisation";
  const client: OAuthClient = { ...one.oauth, stateSecret: "a secret that is long enough for it", allowed };
  const installations = createInstallations(redis.client(), client, { apiUrl, log }, () => now.ms);
  const listen = (downtime = nobodyWasHere) => startHttpAdapter({ client, installations }, apiUrl, downtime);
  const { url, intake } = await listen();
  for (const slack of [one, two]) slack.sendTo(url, signingSecret);
  /** What an administrator of the organisation does in a browser. */
  const install = async () => {
    const begun = await fetch(new URL("/slack/install", url), { redirect: "manual" });
    const state = new URL(begun.headers.get("location") ?? "").searchParams.get("state");
    one.oauth.codes.add("code-of-org");
    const cookie = begun.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    const back = new URL(`/slack/oauth_redirect?code=code-of-org&state=${state}`, url);
    const ended = await fetch(back, { headers: { cookie } });
    return { status: ended.status, page: await ended.text() };
  };
  const surface = createTeamsSurface(installations, { apiUrl, log });
  const pass = (ms: number) => (now.ms += ms);
  return { one, two, organisation, install, listen, installations, intake, surface, pass, apiUrl };
}

async function startThread(slack: FakeSlack) {
  const general = slack.channel("general");
  const root = await slack.user("ada").says(general, "<@BOT> hello");
  await untilAcknowledged(slack);
  return {
    general,
    thread: { platform: "slack", workspace: slack.teamId, channel: general.id, thread: root.ts },
  };
}

describe("An organisation that installs the app as a whole", () => {
  test("has each of its workspaces served as one of its own, by the one token", async () => {
    const { one, two, install, intake, surface, installations } = await scene();
    expect(await install()).toMatchObject({ status: 200 });
    expect(await redis.client().hkeys("heddle:slack:installations")).toEqual(["E0ORG"]);
    expect(await installations.all()).toEqual(["T0ONE", "T0TWO"]);
    for (const slack of [one, two]) {
      const { general, thread } = await startThread(slack);
      // Slack tells of each mention twice, and names the first workspace in the authorizations of both.
      expect(intake.events.splice(0)).toMatchObject([{ thread, author: { standing: "member" } }, { thread }]);
      await surface.post(thread, { kind: "answer", markdown: `hello ${slack.teamId}` }, "k");
      expect(slack.transcript(general)).toContain(`heddle: hello ${slack.teamId}`);
    }
    expect(one.transcript(one.channel("general"))).not.toContain("T0TWO");
  });

  test("has buttons and commands of a workspace counted there, although Slack leaves out the team", async () => {
    const { two, install, intake, surface } = await scene();
    await install();
    const { general, thread } = await startThread(two);
    const actions = [{ id: "retry", label: "Retry", style: "plain" } as const];
    await surface.post(thread, { kind: "notice", markdown: "Shall I?", actions }, "k");
    const asked = await two.message(({ text }) => text.includes("Shall I?"));
    intake.events.splice(0);
    const [button] = buttonsOf(asked);
    await two.user("ada").presses(button?.action_id ?? "", asked);
    two.user("ada").commands(general, "/agent count to three");
    await untilAcknowledged(two);
    expect(intake.events).toMatchObject([
      { kind: "action", action: "retry", thread },
      { kind: "message", thread: { workspace: "T0TWO" }, text: "count to three" },
    ]);
  });

  test("has each workspace caught up with by itself, with its id where Slack wants one", async () => {
    const { one, two, install, listen } = await scene();
    await install();
    const roots = [];
    for (const slack of [one, two]) {
      slack.sendTo("http://127.0.0.1:9/", signingSecret);
      const root = await slack.user("ada").says(slack.channel("general"), `<@BOT> hello ${slack.teamId}`);
      roots.push({ workspace: slack.teamId, message: root.ts });
    }
    const { intake } = await listen({ ...nobodyWasHere, lastConnectedAt: async () => Date.now() - 60_000 });
    await expect.poll(() => intake.events.length).toBe(2);
    expect(intake.events).toMatchObject(roots.map((ref) => ({ kind: "message", ref })));
    const asked = [...one.calls, ...two.calls].filter(({ method }) => method === "users.conversations");
    expect(asked.map(({ args }) => args["team_id"])).toEqual(["T0ONE", "T0TWO"]);
  });

  test("is served no more where it has taken the app away, and at once where it has added it", async () => {
    const { two, install, installations, organisation, surface, pass } = await scene();
    await install();
    organisation.teams.delete("T0TWO");
    expect(await installations.all()).toEqual(["T0ONE"]);
    expect(await installations.find("T0TWO")).toBeUndefined();
    const thread = { platform: "slack", workspace: "T0TWO", channel: "C1", thread: "1.000000" };
    const post = surface.post(thread, { kind: "answer", markdown: "hi" }, "k");
    await expect(post).rejects.toMatchObject({ kind: "forbidden" });

    organisation.teams.add("T0TWO");
    pass(10_000);
    expect(await installations.find("T0TWO")).toMatchObject({ identity: { teamId: "T0TWO" } });
    organisation.teams.delete("T0TWO");
    pass(60_000);
    expect(await installations.find("T0TWO")).toBeUndefined();
    expect(two.calls.filter(({ method }) => method === "chat.postMessage")).toEqual([]);
  });

  test("keeps being served while Slack does not say which workspaces it has", async () => {
    const { one, two, install, installations, surface, pass } = await scene();
    await install();
    for (const slack of [one, two])
      slack.fail("auth.teams.list", { kind: "rate-limit", retryAfterSeconds: 7 });
    const thread = { platform: "slack", workspace: "T0TWO", channel: "C1", thread: "1.000000" };
    // Nothing was written: the caller tries again.
    await expect(surface.post(thread, { kind: "answer", markdown: "hi" }, "k")).rejects.toMatchObject({
      ...{ kind: "rate-limited", retryAfterMs: 7_000 },
    });
    for (const slack of [one, two]) slack.recover();
    expect(await installations.find("T0TWO")).toBeDefined();
    for (const slack of [one, two]) slack.fail("auth.teams.list", { kind: "http", status: 503 });
    pass(3_600_000);
    expect(await installations.find("T0TWO")).toBeDefined();
  });

  test("is forgotten with all its workspaces when it removes the app", async () => {
    const { one, two, install, installations } = await scene();
    await install();
    for (const slack of [one, two]) slack.fail("auth.test", { kind: "refuse", error: "account_inactive" });
    one.tellAlways({ type: "app_uninstalled" });
    await untilAcknowledged(one);
    expect(await redis.client().hkeys("heddle:slack:installations")).toEqual([]);
    expect(await installations.all()).toEqual([]);
  });

  test("is refused unless it is listed itself, and says so", async () => {
    const { install, installations } = await scene(["T0ONE"]);
    expect(await install()).toEqual({
      status: 403,
      page: expect.stringMatching(
        /^The organisation E0ORG may not install this app: .* add E0ORG to slack\.workspaces/,
      ),
    });
    expect(await installations.all()).toEqual([]);
  });

  test("leaves a workspace its own installation", async () => {
    const { install, installations } = await scene(["E0ORG", "T0TWO"]);
    await install();
    await installations.store.storeInstallation({
      ...{ team: { id: "T0TWO" }, enterprise: undefined, isEnterpriseInstall: false },
      ...{ user: { id: "U0", token: undefined, scopes: undefined } },
      bot: { token: "xoxb-token-of-two", id: "B2", userId: "U2", scopes: [] },
    });
    expect(await installations.find("T0TWO")).toMatchObject({ botToken: "xoxb-token-of-two" });
    expect(await installations.find("T0ONE")).toMatchObject({ botToken: "xoxb-token-of-org" });
    expect((await installations.all()).toSorted()).toEqual(["T0ONE", "T0TWO"]);
  });
});

test("The token of an organisation is no SLACK_BOT_TOKEN, and the refusal says what to do", async () => {
  const { one } = await scene();
  const adapter = adapterFor(one, nobodyWasHere);
  await expect(adapter.start({ receive: async () => ({ kind: "duplicate" }) })).rejects.toThrow(
    /SLACK_BOT_TOKEN is the token of an organisation-wide installation: .*SLACK_CLIENT_ID/,
  );
});

test("An app with a public address may be installed for a whole organisation", () => {
  expect(slackManifest({ url: "https://bot.example.com" })).toContain("org_deploy_enabled: true");
  expect(slackManifest()).toContain("org_deploy_enabled: false");
});
