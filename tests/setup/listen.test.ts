import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { listenForMention } from "../../src/setup/listen.ts";
import { startFakeDiscord } from "../fakes/discord/fake-discord.ts";
import { startFakeSlack } from "../fakes/slack/fake-slack.ts";
import { newFolder, sitDown } from "./at-terminal.ts";

const nothingServes = async () => false;

async function slackPlace() {
  const slack = await startFakeSlack();
  onTestFinished(() => slack.close());
  const cwd = newFolder();
  const { url: SLACK_API_URL, botToken: SLACK_BOT_TOKEN, appToken: SLACK_APP_TOKEN } = slack;
  return { slack, place: { cwd, env: { SLACK_API_URL, SLACK_BOT_TOKEN, SLACK_APP_TOKEN } } };
}

test("a mention is heard and answered, and its author becomes administrator when the terminal says so", async () => {
  const { slack, place } = await slackPlace();
  const [ada, general] = [slack.user("Ada"), slack.channel("general")];
  const person = sitDown((context) => listenForMention(context, nothingServes), place);
  await person.sees("Number [1]: ");
  person.types("");
  await person.sees("Connected to Slack");
  // Typed before the question, so it answers nothing.
  person.types("y");
  await ada.says(general, "<@BOT> are you there?");
  await person.sees(`I hear you in #general: Ada (${ada.id}) wrote that.`);
  await person.sees("[y/N]: ");
  person.types("y");
  expect(await person.result).toEqual({ state: "ready", text: "A mention arrived on Slack." });
  expect(slack.transcript(general)).toContain("I hear you in #general");
  expect(parse(readFileSync(join(place.cwd, "heddle.yaml"), "utf8"))).toEqual({
    access: { administrators: [`${slack.teamId}:${ada.id}`] },
  });
});

test("whoever writes first becomes nothing unless the terminal says so", async () => {
  const { slack, place } = await slackPlace();
  const [ada, general] = [slack.user("Ada"), slack.channel("general")];
  const person = sitDown((context) => listenForMention(context, nothingServes), place);
  await person.sees("Number [1]: ");
  person.types("");
  await person.sees("Connected to Slack");
  await ada.says(general, "<@BOT> are you there?");
  await person.sees("[y/N]: ");
  person.types("");
  await person.result;
  expect(existsSync(join(place.cwd, "heddle.yaml"))).toBe(false);
});

test("where nothing arrives the likely reasons are told, and it can go on without", async () => {
  const { place } = await slackPlace();
  const person = sitDown((context) => listenForMention(context, nothingServes), { ...place, listenMs: 50 });
  await person.sees("Number [1]: ");
  person.types("");
  await person.sees("Is the bot in that channel");
  await person.sees("Number [1]: ");
  person.types("2");
  expect(await person.result).toMatchObject({ state: "waiting" });
});

test("a Heddle that runs is not listened beside, which would take its events", async () => {
  const { slack, place } = await slackPlace();
  const person = sitDown((context) => listenForMention(context, async () => true), place);
  await person.sees("Number [1]: ");
  person.types("");
  expect(await person.result).toMatchObject({ text: expect.stringContaining("start it again") });
  expect(slack.connections).toBe(0);
});

test("a mention on Discord is heard and answered as well", async () => {
  const discord = await startFakeDiscord();
  onTestFinished(() => discord.close());
  const env = { DISCORD_API_URL: discord.url, DISCORD_TOKEN: discord.token };
  const person = sitDown((context) => listenForMention(context, nothingServes), { cwd: newFolder(), env });
  await person.sees("Number [1]: ");
  person.types("");
  await person.sees("Connected to Discord");
  discord.user("Ada").says(discord.channel("general"), "<@BOT> hello");
  await person.sees("I hear you in #general");
  await person.sees("[y/N]: ");
  person.types("");
  expect(await person.result).toMatchObject({ state: "ready" });
});
