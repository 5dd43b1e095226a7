import { expect, onTestFinished, test } from "vitest";
import type { CommandContext } from "../../src/app/command-context.ts";
import { createLiveChecks, type Destinations, parseDestinations } from "../../src/commands/doctor/live.ts";
import { loadConfig } from "../../src/config/load.ts";
import { modelEnvironment, slackEnvironment } from "../e2e/environment.ts";
import { startFakeAnthropic } from "../fakes/anthropic.ts";
import { startFakeDiscord } from "../fakes/discord/fake-discord.ts";
import { startFakeSlack } from "../fakes/slack/fake-slack.ts";
import { newFolder } from "../setup/at-terminal.ts";

async function connected(without: string[] = []) {
  const [model, slack, discord] = await Promise.all([
    startFakeAnthropic({ replies: () => ({ content: [{ type: "text", text: "Hello!" }] }) }),
    startFakeSlack(),
    startFakeDiscord(),
  ]);
  onTestFinished(async () => {
    await Promise.all([model.close(), slack.close(), discord.close()]);
  });
  const env = {
    ...modelEnvironment(model),
    ...slackEnvironment(slack),
    DISCORD_TOKEN: discord.token,
    DISCORD_API_URL: discord.url,
  };
  // The checks look at nothing else.
  const given = Object.fromEntries(Object.entries(env).filter(([name]) => !without.includes(name)));
  const setup = { config: loadConfig(given, newFolder()) } as CommandContext;
  const examine = async (destinations: Destinations) => {
    const signal = new AbortController().signal;
    const findings = await Promise.all(createLiveChecks(destinations).map(({ run }) => run(setup, signal)));
    return findings.flat();
  };
  return { model, slack, discord, examine };
}

test("each model gets a request and each named channel a message, and what came back is told", async () => {
  const { model, slack, discord, examine } = await connected();
  const [general, place] = [slack.channel("general"), discord.channel("general")];
  expect(await examine(parseDestinations([`slack:${general.id}`, `discord:${place.id}`]))).toEqual([
    { level: "ok", text: expect.stringContaining("anthropic/claude-sonnet-5-5 answered “Hello!”") },
    { level: "ok", text: expect.stringContaining(`Slack took a message to ${general.id}`) },
    { level: "ok", text: expect.stringContaining(`Discord took a message to ${place.id}`) },
  ]);
  expect(model.bodies).toHaveLength(1);
  expect(slack.transcript(general)).toContain("heddle doctor --live");
  expect(place.messages).toHaveLength(1);
});

test("of several channels of a platform each gets a message, and one of a platform without a token is an error", async () => {
  const { slack, examine } = await connected(["DISCORD_TOKEN"]);
  const [one, other] = [slack.channel("general"), slack.channel("other")];
  const named = parseDestinations([`slack:${one.id}`, `slack:${other.id}`, "discord:80351110224678912"]);
  expect((await examine(named)).slice(1)).toEqual([
    { level: "ok", text: expect.stringContaining(`Slack took a message to ${one.id}`) },
    { level: "ok", text: expect.stringContaining(`Slack took a message to ${other.id}`) },
    { level: "error", text: "live: nothing was posted to 80351110224678912: DISCORD_TOKEN is not set" },
  ]);
});

test("nothing is posted where no channel was named", async () => {
  const { slack, discord, examine } = await connected();
  const place = discord.channel("general");
  expect(await examine({})).toMatchObject([
    { level: "ok" },
    { level: "note", text: expect.stringContaining("--post slack:") },
    { level: "note", text: expect.stringContaining("--post discord:") },
  ]);
  expect(slack.calls).toEqual([]);
  expect(place.messages).toEqual([]);
});

test("a channel without the bot, one where it may not write, and a busy service are told with the way out", async () => {
  const { model, slack, discord, examine } = await connected();
  const apart = slack.channel("apart", { withoutBot: true });
  const place = discord.channel("general");
  discord.deny(place, "SendMessages");
  model.push({ status: 429, type: "rate_limit_error", message: "Slow down" });
  const findings = await examine({ slack: [apart.id], discord: [place.id] });
  expect(findings.map(({ level }) => level)).toEqual(["error", "error", "error"]);
  expect(findings[1]?.text).toMatch(/invite/i);
  expect(findings[2]?.text).toMatch(/In #general the bot lacks Send Messages: grant it/);
});

test("a channel that Slack does not know is told with where its id is", async () => {
  const { examine } = await connected();
  const findings = await examine({ slack: ["C99999999"] });
  expect(findings.at(1)).toMatchObject({
    level: "error",
    text: "live: No message reached the channel C99999999 of Slack: the bot sees none with that id. Copy the id from the channel's details, and invite the bot to it.",
  });
});

test.each(["C012345", "irc:1", "slack:", "slack:general chat", "slack:C1:2"])(
  "--post %s is refused with what was expected",
  (post) => {
    expect(() => parseDestinations([post])).toThrow("expected slack:C012345 or discord:80351110224678912");
  },
);
