import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createSealedBox } from "../../../src/agent/secrets/sealed-box.ts";
import { createInstallations } from "../../../src/adapters/slack/installation/installations.ts";
import type { OAuthClient } from "../../../src/adapters/slack/installation/oauth-client.ts";
import { createTeamsSurface } from "../../../src/adapters/slack/surface/teams-surface.ts";
import type { Downtime } from "../../../src/chat/downtime.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { type FakeSlack, type FakeSlackOptions, startFakeSlack } from "../../fakes/slack/fake-slack.ts";
import { openFront } from "../../fakes/slack/front.ts";
import { startHttpAdapter, nobodyWasHere, untilAcknowledged, signingSecret } from "./connected-adapter.ts";

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(() => redis.client().flushall());

const log = pino({ level: "silent" });

/** @param options of the first workspace */
async function scene(options: FakeSlackOptions = {}) {
  const [one, two] = await Promise.all([
    startFakeSlack({ ...options, teamId: "T0ONE", botToken: "xoxb-token-of-one" }),
    startFakeSlack({ teamId: "T0TWO", botToken: "xoxb-token-of-two" }),
  ]);
  onTestFinished(() => Promise.all([one.close(), two.close()]).then(() => undefined));
  const { url: apiUrl, close } = await openFront([one, two]);
  onTestFinished(close);
  const client: OAuthClient = {
    ...one.oauth,
    stateSecret: "a secret that is long enough for it",
    allowed: ["T0ONE", "T0TWO"],
  };
  const installations = createInstallations(redis.client(), client, { apiUrl, log });
  const { url, intake } = await startHttpAdapter({ client, installations }, apiUrl);
  one.sendTo(url, signingSecret);
  two.sendTo(url, signingSecret);
  const surface = createTeamsSurface(installations, { apiUrl, log });

  /** What somebody does in a browser; gives the status of the last page. */
  const install = async (slack: FakeSlack) => {
    const begun = await fetch(new URL("/slack/install", url), { redirect: "manual" });
    const asked = new URL(begun.headers.get("location") ?? "");
    const code = `code-for-${slack.teamId}`;
    slack.oauth.codes.add(code);
    const [cookie = ""] = begun.headers.getSetCookie();
    const back = new URL("/slack/oauth_redirect", url);
    back.searchParams.set("code", code);
    back.searchParams.set("state", asked.searchParams.get("state") ?? "");
    const ended = await fetch(back, { headers: { cookie: cookie.split(";")[0] ?? "" } });
    const page = await ended.text();
    return { status: ended.status, page, scopes: asked.searchParams.get("scope") ?? "", back };
  };
  return { one, two, url, apiUrl, intake, client, installations, surface, install };
}

describe("workspaces that install the app", () => {
  test("are listened to and written to, each with its own token", async () => {
    const { one, two, intake, surface, install } = await scene();
    expect(await install(one)).toMatchObject({ status: 200, scopes: expect.stringContaining("chat:write") });
    expect((await install(two)).status).toBe(200);
    for (const slack of [one, two]) {
      const general = slack.channel("general");
      const root = await slack.user("ada").says(general, "<@BOT> hello");
      await untilAcknowledged(slack);
      const thread = { platform: "slack", workspace: slack.teamId, channel: general.id, thread: root.ts };
      expect(intake.events.splice(0)).toMatchObject([{ thread }, { thread }]);
      await surface.post(thread, { kind: "answer", markdown: `hello ${slack.teamId}` }, "k");
      expect(slack.transcript(general)).toContain(`heddle: hello ${slack.teamId}`);
    }
  });

  test("get threads that begin with a message of the bot's, as a trigger opens them", async () => {
    const { two, surface, install } = await scene();
    await install(two);
    const general = two.channel("general");
    const channel = { platform: "slack", workspace: "T0TWO", channel: general.id };
    const opened = await surface.openThread?.(channel, "🔔 Trigger deploys", "hook:1");
    expect(two.transcript(general)).toContain("heddle: 🔔 Trigger deploys");
    expect(opened?.thread).toEqual({ ...channel, thread: opened?.ref.message });
  });

  test("have their tokens sealed in Redis, for this secret and this workspace only", async () => {
    const { one, two, install, client, installations } = await scene();
    await Promise.all([install(one), install(two)]);
    const stored = await redis.client().hgetall("heddle:slack:installations");
    expect(Object.keys(stored).toSorted()).toEqual(["T0ONE", "T0TWO"]);
    expect(JSON.stringify(stored)).not.toContain("xoxb");
    expect(await installations.find("T0ONE")).toMatchObject({ botToken: one.botToken });

    const other = createInstallations(redis.client(), { ...client, stateSecret: "another" }, { log });
    await expect(other.find("T0ONE")).rejects.toThrow(/SLACK_STATE_SECRET/);
    await redis.client().hset("heddle:slack:installations", "T0ONE", stored["T0TWO"] ?? "");
    await expect(installations.find("T0ONE")).rejects.toThrow(/T0ONE cannot be read/);
  });

  test("of another version are kept, and said to be unreadable", async () => {
    const { one, install, client, installations } = await scene();
    await install(one);
    const box = createSealedBox(client.stateSecret, "heddle slack installations");
    const later = box.seal(JSON.stringify({ v: 2, tokens: ["x"] }), "T0ONE");
    await redis.client().hset("heddle:slack:installations", "T0ONE", later);
    await expect(installations.find("T0ONE")).rejects.toThrow(
      /T0ONE cannot be read \(it is of a version that this Heddle does not know\); it is kept/,
    );
    expect(await redis.client().hget("heddle:slack:installations", "T0ONE")).toBe(later);
  });

  test("are caught up with although the installation of another cannot be read, which is told once", async () => {
    const { apiUrl, two, install, client, installations } = await scene();
    await install(two);
    await redis.client().hset("heddle:slack:installations", "T0ONE", "sealed with another secret");
    const connectedTeam = Promise.withResolvers<string>();
    const downtime: Downtime = {
      ...nobodyWasHere,
      markConnected: async (_platform, team) => connectedTeam.resolve(team),
    };
    const { logged } = await startHttpAdapter({ client, installations }, apiUrl, downtime);
    expect(await connectedTeam.promise).toBe("T0TWO");
    expect(logged().match(/The Slack installation of T0ONE cannot be read/g)).toHaveLength(1);
  });

  test("are not let in when they are not listed, neither at the installation nor later", async () => {
    const { one, two, install, client, surface } = await scene();
    await install(one);
    const fewer = createInstallations(redis.client(), { ...client, allowed: ["T0TWO"] }, { log });
    expect(await fewer.find("T0ONE")).toBeUndefined();
    expect(await fewer.all()).toEqual([]);
    const stranger = createInstallations(redis.client(), { ...client, allowed: ["T0ONE"] }, { log });
    const { url } = await startHttpAdapter({ client, installations: stranger }, two.url);
    const begun = await fetch(new URL("/slack/install", url), { redirect: "manual" });
    const state = new URL(begun.headers.get("location") ?? "").searchParams.get("state");
    two.oauth.codes.add("c");
    const back = new URL(`/slack/oauth_redirect?code=c&state=${state}`, url);
    const cookie = begun.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    const refused = await fetch(back, { headers: { cookie } });
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringMatching(
        /^The workspace T0TWO may not install this app: ask whoever runs it to add T0TWO/,
      ),
    ]);
    expect(await redis.client().hkeys("heddle:slack:installations")).toEqual(["T0ONE"]);
    const thread = { platform: "slack", workspace: "T0TWO", channel: "C1", thread: "1.000000" };
    const impossible = { kind: "forbidden" };
    const post = surface.post(thread, { kind: "answer", markdown: "hi" }, "k");
    await expect(post).rejects.toMatchObject(impossible);
    await expect(surface.status?.(thread, "is thinking…")).rejects.toMatchObject(impossible);
  });

  describe("with token rotation", () => {
    const hour = 3_600_000;

    /** A workspace whose token ends in twelve hours, and two gateways that know it. */
    async function rotating() {
      const { one, install, client, apiUrl, surface } = await scene();
      one.oauth.kind = "rotating";
      await install(one);
      let now = Date.now();
      const warned: string[] = [];
      const warn = pino({}, { write: (line) => void warned.push(String(JSON.parse(line).msg)) });
      const gateways = [0, 1].map(() =>
        createInstallations(redis.client(), client, { apiUrl, log: warn }, () => now),
      );
      return {
        ...{ one, gateways, surface, warned },
        tokens: () => [...one.oauth.tokens.keys()],
        pass: (ms: number) => (now += ms),
        find: async () =>
          (await Promise.all(gateways.map((gateway) => gateway.find("T0ONE")))).map(
            (found) => found?.botToken,
          ),
      };
    }

    test("get the next token two hours before the end, once for all gateways, and the old one serves meanwhile", async () => {
      const { one, tokens, pass, find, surface } = await rotating();
      const [first] = tokens();
      pass(9 * hour);
      expect(await find()).toEqual([first, first]);
      pass(1.5 * hour);
      const found = await find();
      expect(tokens()).toHaveLength(2);
      for (const token of found) expect(tokens()).toContain(token);
      expect(await find()).toEqual([tokens()[1], tokens()[1]]);

      one.oauth.tokens.set(first ?? "", "expired");
      const general = one.channel("general");
      const root = await one.user("ada").says(general, "<@BOT> hello");
      const thread = { platform: "slack", workspace: "T0ONE", channel: general.id, thread: root.ts };
      await surface.post(thread, { kind: "answer", markdown: "still here" }, "k");
      expect(one.transcript(general)).toContain("heddle: still here");
      expect(JSON.stringify(await redis.client().hgetall("heddle:slack:installations"))).not.toContain(
        "xoxe",
      );
    });

    test("go on with the old token when Slack gives no other, and the log says what to do", async () => {
      const { one, tokens, pass, find, warned } = await rotating();
      one.fail("oauth.v2.access", { kind: "refuse", error: "invalid_refresh_token" });
      pass(11 * hour);
      expect(await find()).toEqual([tokens()[0], tokens()[0]]);
      expect(await find()).toEqual([tokens()[0], tokens()[0]]);
      expect(warned).toEqual([
        expect.stringMatching(
          /^The Slack token of T0ONE could not be renewed and ends at .+: if this goes on, install the app there again at \/slack\/install\.$/,
        ),
      ]);
      await redis.client().del("heddle:slack:renewing:T0ONE");
      await find();
      expect(tokens()).toHaveLength(2);
    });

    test("go on with the old token while Redis has no room for another, and get it later", async ({
      skip,
    }) => {
      if (redis.server.kind === "embedded") skip("the embedded server has no limit of memory");
      const { tokens, pass, find } = await rotating();
      pass(11 * hour);
      await redis.client().config("SET", "maxmemory", "1");
      try {
        expect(await find()).toEqual([tokens()[0], tokens()[0]]);
      } finally {
        await redis.client().config("SET", "maxmemory", "0");
      }
      expect(tokens()).toHaveLength(1);
      await find();
      expect(tokens()).toHaveLength(2);
    });
  });

  test("are told apart at the start by the scopes that they have not granted", async () => {
    const { one, two, apiUrl, install, client, installations } = await scene({
      withoutScopes: ["files:write"],
    });
    await install(one);
    await install(two);
    const { logged } = await startHttpAdapter({ client, installations }, apiUrl);
    await expect
      .poll(logged)
      .toContain(
        "In the workspace T0ONE the Slack app lacks the scopes files:write: install it there again at /slack/install.",
      );
    expect(logged()).not.toContain("T0TWO");
  });

  test("cannot be installed with the state of another browser", async () => {
    const { one, install } = await scene();
    const { back } = await install(one);
    one.oauth.codes.add("again");
    back.searchParams.set("code", "again");
    expect((await fetch(back)).status).toBe(400);
    expect(one.oauth.codes).toContain("again");
  });

  test.each([
    ["removes the app", { type: "app_uninstalled" }],
    ["revokes its token", { type: "tokens_revoked", tokens: { bot: ["U0HEDDLE"] } }],
  ])("are forgotten when one %s", async (_what, event) => {
    const { one, two, intake, install, installations } = await scene();
    await install(one);
    await install(two);
    one.fail("auth.test", { kind: "refuse", error: "account_inactive" });
    one.tellAlways(event);
    await untilAcknowledged(one);
    expect(await installations.all()).toEqual(["T0TWO"]);

    await one.user("ada").says(one.channel("general"), "<@BOT> anybody?");
    await untilAcknowledged(one);
    expect(intake.events).toEqual([]);
  });

  test("keep their installation when they hear late of an earlier one", async () => {
    const { one, install, installations } = await scene();
    await install(one);
    one.tellAlways({ type: "app_uninstalled" });
    one.tellAlways({ type: "tokens_revoked", tokens: { bot: ["U0HEDDLE"] } });
    await untilAcknowledged(one);
    expect(await installations.all()).toEqual(["T0ONE"]);
  });

  test("keep their installation when only a user's token is revoked", async () => {
    const { one, install, installations } = await scene();
    await install(one);
    one.tellAlways({ type: "tokens_revoked", tokens: { oauth: ["U1"], bot: [] } });
    await untilAcknowledged(one);
    expect(await installations.all()).toEqual(["T0ONE"]);
  });
});
