import { expect, test } from "vitest";
import { checkDiscord } from "../../../src/adapters/discord/installation/check.ts";
import { fakeDiscord, startAdapter } from "./connected-adapter.ts";

test("What is said in a watched channel comes in without a mention, and is told from what addresses the bot", async () => {
  const discord = await fakeDiscord();
  const [watched, other] = [discord.channel("watched"), discord.channel("other")];
  const { intake } = await startAdapter(discord, {
    isWatched: (guild, channel) => guild === discord.guild.id && channel === watched.id,
  });
  const ada = discord.user("ada");
  const root = ada.says(watched, "is it down?");
  ada.says(other, "lunch?");
  const robot = discord.user("alerts", { bot: true });
  robot.says(watched, "503");
  robot.says(watched, "", { embeds: [{ title: "DiskFull", description: "db-1" }] });
  ada.says(watched, "<@BOT> hello");
  const events = await intake.first(4);
  const told = events.flatMap((event) =>
    event.kind === "message" ? [`${event.author.standing} ${event.addressed}: ${event.text}`] : [],
  );
  expect(told).toEqual([
    "member none: is it down?",
    "bot none: 503",
    "bot none: DiskFull\ndb-1",
    "member mention: hello",
  ]);
  expect(events[0]).toMatchObject({ thread: { channel: watched.id, thread: root.id } });
});

test("The check names watched channels that the bot does not see, and the intent that all of them need", async () => {
  const discord = await fakeDiscord();
  const { token, url: apiUrl, guild } = discord;
  const seen = discord.channel("seen");
  const watched = [
    { workspace: guild.id, channel: seen.id },
    { workspace: "1", channel: seen.id },
    { workspace: guild.id, channel: "12345" },
  ];
  const texts = async (messageContent: boolean) =>
    (await checkDiscord({ token, apiUrl, messageContent, watched }))
      .map(({ level, text }) => `${level}: ${text}`)
      .filter((line) => line.includes("watch"));
  expect(await texts(true)).toEqual([
    "ok: #seen is watched, and the bot sees it",
    `warning: channels.discord:1:${seen.id}.watch hears nothing: #seen is in the server ${guild.id}.`,
    expect.stringMatching(
      /^warning: channels\.discord:\d+:12345\.watch: Discord does not show the bot that channel/,
    ),
  ]);
  expect(await texts(false)).toEqual([
    expect.stringMatching(
      /^error: .*without discord\.messageContent the bot reads only messages that mention/,
    ),
  ]);
});
