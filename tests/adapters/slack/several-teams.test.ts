import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createInstallations } from "../../../src/adapters/slack/installation/installations.ts";
import { createSlackSurface } from "../../../src/adapters/slack/surface/surface.ts";
import type { InboundEvent } from "../../../src/chat/inbound.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { type FakeSlack, startFakeSlack } from "../../fakes/slack/fake-slack.ts";
import { openFront } from "../../fakes/slack/front.ts";
import { signingSecret, startHttpAdapter, untilAcknowledged } from "./connected-adapter.ts";

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(() => redis.client().flushall());

const log = pino({ level: "silent" });

/** Workspaces whose ids of people and channels are the same: each fake counts from one. */
async function startSlacks<Name extends string>(
  ...names: Name[]
): Promise<Record<Name, FakeSlack> & { apiUrl: string }> {
  const slacks = await Promise.all(
    names.map((name) =>
      startFakeSlack({
        ...{ teamId: `T0${name}`, botToken: `xoxb-token-of-${name}`, botUserId: `U0HEDDLE${name}` },
      }),
    ),
  );
  const front = await openFront(slacks);
  onTestFinished(async () => {
    await front.close();
    await Promise.all(slacks.map((slack) => slack.close()));
  });
  const byName = Object.fromEntries(names.map((name, index) => [name, slacks[index]]));
  // One for each name.
  return { ...(byName as Record<Name, FakeSlack>), apiUrl: front.url };
}

/** An adapter of an app that these have installed. */
async function installedIn(apiUrl: string, slacks: readonly FakeSlack[]) {
  const client = {
    ...{ clientId: "1.2", clientSecret: "fake-client-secret", stateSecret: "a secret of some length" },
    allowed: slacks.map(({ teamId }) => teamId),
  };
  const installations = createInstallations(redis.client(), client, { apiUrl, log });
  for (const { teamId, botToken, bot } of slacks) {
    await installations.store.storeInstallation({
      ...{ team: { id: teamId }, enterprise: undefined, isEnterpriseInstall: false },
      ...{ user: { id: "U0", token: undefined, scopes: undefined } },
      bot: { token: botToken, id: bot.botId ?? "", userId: bot.id, scopes: [] },
    });
  }
  const started = await startHttpAdapter({ client, installations }, apiUrl);
  for (const slack of slacks) slack.sendTo(started.url, signingSecret);
  return started;
}

/** Where an event is read, and as what. */
function readings(events: readonly InboundEvent[]): string[] {
  return events.map((event) => {
    if (event.kind === "stop")
      return `stop in ${"message" in event.target ? event.target.message.workspace : ""}`;
    const how = event.kind === "message" ? event.addressed : event.kind;
    return `${how} in ${event.thread.workspace} by a ${event.author.standing}`;
  });
}

describe("In a channel that two workspaces share", () => {
  async function scene() {
    const { apiUrl, ONE: one, TWO: two } = await startSlacks("ONE", "TWO");
    const adapter = await installedIn(apiUrl, [one, two]);
    // Made first, so that the ids of the two people differ, as they do in one channel.
    const shared = one.channel("shared");
    const [ada, bob] = [one.user("ada"), two.user("bob")];
    two.shares(shared, one);
    const settled = () => Promise.all([untilAcknowledged(one), untilAcknowledged(two)]);
    return { ...adapter, apiUrl, one, two, ada, bob, shared, settled };
  }

  test("a mention is for the workspace whose bot it names, although Slack tells of it for the other", async () => {
    const { intake, one, two, ada, bob, shared, settled } = await scene();
    await ada.says(shared, "<@BOT> hello");
    await settled();
    // Slack tells of each mention twice.
    const hers = "mention in T0ONE by a member";
    expect(readings(intake.events.splice(0))).toEqual([hers, hers]);

    await bob.says(shared, `<@${two.bot.id}> hello`);
    await settled();
    const his = "mention in T0TWO by a member";
    expect(readings(intake.events.splice(0))).toEqual([his, his]);

    await bob.says(shared, `<@${one.bot.id}> hello`);
    await settled();
    const foreign = "mention in T0ONE by a external";
    expect(readings(intake.events)).toEqual([foreign, foreign]);
  });

  test("a mention is so too where both are of one organisation (Enterprise Grid)", async () => {
    const { intake, ada, shared, settled } = await scene();
    shared.organisation = "E0RG";
    await ada.says(shared, "<@BOT> hello");
    await settled();
    expect(new Set(readings(intake.events))).toEqual(new Set(["mention in T0ONE by a member"]));
  });

  test("a follow-up, an edit and a 🛑 are read by each workspace for its own thread", async () => {
    const { intake, ada, shared, settled } = await scene();
    const root = await ada.says(shared, "<@BOT> hello");
    await settled();
    intake.events.splice(0);
    const reply = await ada.says(shared, "and more", { thread: root.ts });
    await settled();
    const both = (what: string) => [`${what} in T0TWO by a external`, `${what} in T0ONE by a member`];
    expect(readings(intake.events.splice(0))).toEqual(both("follow-up"));
    await ada.edits(reply, "and less");
    await settled();
    expect(readings(intake.events.splice(0))).toEqual(both("edit"));
    await ada.reacts("octagonal_sign", root);
    await settled();
    expect(readings(intake.events)).toEqual(["stop in T0TWO", "stop in T0ONE"]);
  });

  test("a message that Slack tells of for both is the same one both times", async () => {
    const { intake, one, ada, shared, settled } = await scene();
    const root = await ada.says(shared, "<@BOT> hello");
    one.tellAlways({ type: "app_mention", user: ada.id, text: root.text, ts: root.ts, channel: shared.id });
    await settled();
    expect(intake.events).toHaveLength(3);
    const refs = intake.events.map((event) => ("ref" in event ? event.ref : undefined));
    expect(new Set(refs.map((ref) => JSON.stringify(ref)))).toEqual(
      new Set([
        JSON.stringify({ platform: "slack", workspace: "T0ONE", channel: shared.id, message: root.ts }),
      ]),
    );
  });

  test("a button belongs to the workspace whose bot has posted it, whoever presses it", async () => {
    const { intake, apiUrl, one, ada, bob, shared, settled } = await scene();
    const root = await ada.says(shared, "<@BOT> hello");
    await settled();
    intake.events.splice(0);
    const surface = createSlackSurface({ apiUrl, botToken: one.botToken, log });
    const thread = { platform: "slack", workspace: "T0ONE", channel: shared.id, thread: root.ts };
    const actions = [{ id: "approve:7", label: "Approve", style: "primary" as const }];
    await surface.post(thread, { kind: "question", markdown: "May it run?", actions }, "k");
    const question = await one.message(({ user }) => user.isBot);
    await settled();
    await bob.presses("heddle_act:approve:7", question);
    await settled();
    // The other bot's message is one of a bot, which counts for nothing unless it is listed.
    expect(readings(intake.events)).toEqual(["follow-up in T0TWO by a bot", "action in T0ONE by a external"]);
  });

  test("a workspace without its bot there hears nothing", async () => {
    const { intake, one, bob, shared, settled } = await scene();
    shared.members.delete(one.bot.id);
    await bob.says(shared, `<@${one.bot.id}> hello`);
    await settled();
    expect(intake.events).toEqual([]);
  });

  test("nothing reaches a workspace that has another channel with the same id", async () => {
    const { apiUrl, ONE: one, TWO: two, FAR: far } = await startSlacks("ONE", "TWO", "FAR");
    const { intake } = await installedIn(apiUrl, [one, two]);
    const [ada, eve] = [one.user("ada"), two.user("eve")];
    expect(eve.id).toBe(ada.id);
    const [own, shared] = [one.channel("board", { kind: "private" }), two.channel("partners")];
    shared.id = own.id;
    far.shares(shared, two);
    two.workspace.channels.set(shared.id, shared);
    far.sendTo("http://127.0.0.1:9/", signingSecret);
    // Slack may as well name a workspace that does not serve.
    for (const sharers of [
      [far, two],
      [two, far],
    ]) {
      shared.sharedBy = sharers.map(({ workspace }) => workspace);
      await eve.says(shared, `<@${one.bot.id}> read the board's minutes`);
      await untilAcknowledged(two);
      expect(intake.events).toEqual([]);
      await eve.says(shared, "<@BOT> hello");
      await untilAcknowledged(two);
      expect(new Set(readings(intake.events.splice(0)))).toEqual(new Set(["mention in T0TWO by a member"]));
    }
  });
});

test("Whatever happens in a workspace that the one bot token is not for is ignored, and the log says so once", async () => {
  const { apiUrl, ONE: one, TWO: two } = await startSlacks("ONE", "TWO");
  const { intake, url, logged } = await startHttpAdapter({ botToken: one.botToken }, apiUrl);
  two.sendTo(url, signingSecret);
  const [ada, general] = [two.user("ada"), two.channel("general")];
  const question = await ada.says(general, "<@BOT> what do they do over there?");
  await ada.says(two.direct(ada), "and here?");
  await ada.says(general, "hello?", { thread: question.ts });
  await ada.edits(question, "<@BOT> never mind");
  await ada.reacts("octagonal_sign", question);
  await ada.deletes(question);
  ada.commands(general, "/agent list everything");
  ada.chooses("heddle_about", question);
  ada.opensApp("home");
  two.tellAlways({ type: "app_uninstalled" });
  const button = {
    type: "button",
    action_id: "heddle_act:approve:7",
    text: { type: "plain_text", text: "Go" },
  };
  const posted = await two.user("bot", { bot: true }).says(general, "Go?", {
    blocks: [{ type: "actions", elements: [button] }],
  });
  await ada.presses("heddle_act:approve:7", posted);
  await untilAcknowledged(two);

  expect(intake.events).toEqual([]);
  expect(two.calls).toEqual([]);
  expect(one.calls.map(({ method }) => method)).toEqual(["auth.test"]);
  expect([ada.home(), ada.modal(), ada.ephemerals()]).toEqual([undefined, undefined, []]);
  const lines = logged().match(/[^"]*T0TWO[^"]*/g);
  expect(lines).toEqual([
    "What happens in the Slack workspace T0TWO is ignored: SLACK_BOT_TOKEN is for T0ONE alone. To serve several workspaces, let them install the app (docs/slack.md).",
  ]);
});

test("A mention in a shared channel comes again where Slack fails when it is asked who shares the channel", async () => {
  const { apiUrl, ONE: one, TWO: two } = await startSlacks("ONE", "TWO");
  const { intake, url } = await startHttpAdapter({ botToken: one.botToken }, apiUrl);
  for (const slack of [one, two]) slack.sendTo(url, signingSecret);
  const shared = one.channel("shared");
  two.shares(shared, one);
  one.fail("conversations.info", { kind: "refuse", error: "internal_error" });
  await one.user("ada").says(shared, "<@BOT> hello");
  await untilAcknowledged(one);
  expect(one.countFaults("conversations.info")).toBe(0);
  expect(new Set(readings(intake.events))).toEqual(new Set(["mention in T0ONE by a member"]));
});

test("A mention in a shared channel reaches the workspace of the one bot token, although Slack tells of it for another", async () => {
  const { apiUrl, ONE: one, TWO: two } = await startSlacks("ONE", "TWO");
  const { intake, url } = await startHttpAdapter({ botToken: one.botToken }, apiUrl);
  for (const slack of [one, two]) slack.sendTo(url, signingSecret);
  const shared = one.channel("shared");
  const ada = one.user("ada");
  two.shares(shared, one);
  await ada.says(shared, `<@${two.bot.id}> hello`);
  await untilAcknowledged(one);
  expect(intake.events).toEqual([]);
  await ada.says(shared, "<@BOT> hello");
  await untilAcknowledged(one);
  expect(new Set(readings(intake.events))).toEqual(new Set(["mention in T0ONE by a member"]));
});
