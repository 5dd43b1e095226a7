import { expect, test } from "vitest";
import { checkSlack } from "../../../src/adapters/slack/installation/check.ts";
import { startFakeSlack } from "../../fakes/slack/fake-slack.ts";
import {
  noBudget,
  nobodyWasHere,
  nothingRecent,
  startAdapter,
  untilAcknowledged,
} from "./connected-adapter.ts";

const startWatching = () => startAdapter({}, nobodyWasHere, nothingRecent, noBudget, "watched");

test("What is said in a watched channel comes in without a mention, and is told from what addresses the bot", async () => {
  const { slack, intake } = await startWatching();
  const [watched, other] = [slack.channel("watched"), slack.channel("other")];
  const [ada, robot] = [slack.user("ada"), slack.user("robot", { bot: true })];
  const root = await ada.says(watched, "is it *down*?");
  await ada.says(other, "lunch?");
  await ada.says(watched, "<@BOT> look", { thread: root.ts });
  await ada.says(watched, "since noon", { thread: root.ts });
  await robot.says(watched, "503");
  await robot.says(watched, "", { attachments: [{ title: "DiskFull", text: "db-1" }] });
  await slack.user("ada").says(watched, "<@BOT> hello");
  await untilAcknowledged(slack);

  const messages = intake.events.flatMap((event) => (event.kind === "message" ? [event] : []));
  const told = messages.map(({ text, addressed, author }) => `${author.standing} ${addressed}: ${text}`);
  // A mention comes twice.
  expect([...new Set(told)].toSorted()).toEqual([
    "bot none: 503",
    "bot none: DiskFull\ndb-1",
    "member follow-up: since noon",
    "member mention: hello",
    "member mention: look",
    "member none: is it *down*?",
  ]);
  expect(messages[0]).toMatchObject({ thread: { thread: root.ts }, ref: { message: root.ts } });
});

test("What the bot itself says in a watched channel never comes in", async () => {
  const { slack, intake } = await startWatching();
  const watched = slack.channel("watched");
  await fetch(`${slack.url}chat.postMessage`, {
    method: "POST",
    headers: { authorization: `Bearer ${slack.botToken}`, "content-type": "application/json" },
    body: JSON.stringify({ channel: watched.id, text: "It is down." }),
  });
  await slack.user("ada").says(watched, "thanks");
  await untilAcknowledged(slack);
  expect(intake.events.map((event) => (event.kind === "message" ? event.text : event.kind))).toEqual([
    "thanks",
  ]);
});

test("The check names watched channels that the bot is not in, does not see, or has no token for", async () => {
  const slack = await startFakeSlack();
  const [inside, outside] = [slack.channel("inside"), slack.channel("outside")];
  outside.members.clear();
  const watched = [inside.id, outside.id, "C0NOWHERE"].map((channel) => ({
    workspace: slack.teamId,
    channel,
  }));
  const findings = await checkSlack({
    teams: { botToken: slack.botToken },
    events: { kind: "socket", appToken: slack.appToken },
    apiUrl: slack.url,
    watched: [...watched, { workspace: "T0OTHER", channel: "C1" }],
  });
  await slack.close();
  expect(findings.slice(1, 5).map(({ level, text }) => `${level}: ${text}`)).toEqual([
    "ok: #inside is watched, and the bot is in it",
    `warning: channels.slack:${slack.teamId}:${outside.id}.watch hears nothing: invite the bot into #outside.`,
    `warning: channels.slack:${slack.teamId}:C0NOWHERE.watch: Slack does not show the bot that channel (channel_not_found): correct its id, or invite the bot into it.`,
    `warning: channels.slack:T0OTHER:C1.watch hears nothing: the bot token belongs to ${slack.teamId}.`,
  ]);
});
