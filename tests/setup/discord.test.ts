import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { setUpDiscord } from "../../src/setup/discord.ts";
import { type FakeDiscordOptions, startFakeDiscord } from "../fakes/discord/fake-discord.ts";
import { newFolder, sitDown } from "./at-terminal.ts";

async function discordWith(options: FakeDiscordOptions = {}) {
  const discord = await startFakeDiscord(options);
  onTestFinished(() => discord.close());
  const cwd = newFolder();
  return {
    discord,
    place: { cwd, env: { DISCORD_API_URL: discord.url } },
    stored: () => parseEnv(readFileSync(join(cwd, ".env"), "utf8")),
    settings: () => readFileSync(join(cwd, "heddle.yaml"), "utf8"),
  };
}

test("a token is tried, its intent switched on, and the server chosen from those that the bot is in", async () => {
  const { discord, place, stored, settings } = await discordWith({ messageContent: false });
  const other = discord.addGuild("Dyers");
  writeFileSync(join(place.cwd, "heddle.yaml"), "# ours\nbudgets:\n  keepDays: 40 # long\n");
  const person = sitDown(setUpDiscord, place);
  await person.sees("Number [1]: ");
  person.types("");
  await person.sees("Bot token: ");
  person.types(discord.applicationId);
  await person.sees("application id: the token is under Bot");
  await person.sees("Bot token: ");
  person.types(`Bot ${discord.token}`);
  await person.sees("(token …cord)");
  await person.sees("[y/N]: ");
  person.types("y");
  await person.sees("The Message Content Intent is on.");
  await person.sees("2  Dyers");
  await person.sees("Number [1]: ");
  person.types("2");
  expect(await person.result).toMatchObject({ state: "ready", text: expect.stringContaining("Dyers") });
  expect(stored()).toEqual({ DISCORD_TOKEN: discord.token });
  expect(settings()).toContain("# ours\nbudgets:\n  keepDays: 40 # long\n");
  expect(parse(settings())).toMatchObject({ access: { discord: { guilds: [other.id] } } });
  expect(person.transcript()).not.toContain(discord.token);
});

test("a bot that is in no server is invited first, and the intent can be left off", async () => {
  const { discord, place, settings } = await discordWith({ messageContent: false });
  discord.removeBot(discord.guild);
  const person = sitDown(setUpDiscord, place);
  await person.sees("Number [1]: ");
  person.types("");
  await person.sees("Bot token: ");
  person.types(discord.token);
  await person.sees("[y/N]: ");
  person.types("");
  await person.sees("discord.messageContent is false");
  await person.sees(`https://discord.com/oauth2/authorize?client_id=${discord.applicationId}`);
  await person.sees("Number [1]: ");
  const { id } = discord.addGuild("Weavers of tomorrow");
  person.types("");
  await person.sees("Weavers of tomorrow");
  await person.sees("Number [1]: ");
  person.types("");
  expect(await person.result).toMatchObject({ state: "ready" });
  expect(parse(settings())).toMatchObject({
    discord: { messageContent: false },
    access: { discord: { guilds: [id] } },
  });
});

test("an unknown token is asked for again, and a Discord that is not there is told apart from it", async () => {
  const { discord, place } = await discordWith();
  const person = sitDown(setUpDiscord, place);
  await person.sees("Number [1]: ");
  person.types("");
  await person.sees("Bot token: ");
  person.types(`${"a".repeat(24)}.bbbbbb.${"c".repeat(30)}`);
  await person.sees("is not a token that Discord knows");
  await person.sees("Bot token: ");
  await discord.close();
  person.types(discord.token);
  await person.sees("ECONNREFUSED");
  await person.sees("Number [1]: ");
  person.types("2");
  await person.sees("Bot token: ");
  person.types("");
  expect(await person.result).toMatchObject({ state: "failed" });
});

test("a second run can take back that every message has to mention the bot", async () => {
  const { discord, place, settings } = await discordWith({ messageContent: false });
  const env = { ...place.env, DISCORD_TOKEN: discord.token };
  writeFileSync(join(place.cwd, "heddle.yaml"), `access: { discord: { guilds: ["${discord.guild.id}"] } }\n`);
  for (const [answer, isRead] of [
    ["", false],
    ["", false],
    ["y", true],
  ] as const) {
    const person = sitDown(setUpDiscord, { ...place, env });
    await person.sees("Number [1]: ");
    person.types("");
    await person.sees("[y/N]: ");
    person.types(answer);
    expect(await person.result).toMatchObject({ state: "ready" });
    expect(parse(settings())).toMatchObject({ discord: { messageContent: isRead } });
  }
  const last = sitDown(setUpDiscord, { ...place, env });
  await last.sees("Number [1]: ");
  last.types("");
  expect(await last.result).toMatchObject({ state: "ready" });
  expect(last.transcript()).not.toContain("[y/N]");
});
