import { Writable } from "node:stream";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import type { DiscordAdapterOptions } from "../../../src/adapters/discord/adapter.ts";
import { checkDiscord } from "../../../src/adapters/discord/installation/check.ts";
import {
  discordManifest,
  formatDiscordManifest,
} from "../../../src/adapters/discord/installation/manifest.ts";
import { neededBits } from "../../../src/adapters/discord/installation/permissions.ts";
import { PlatformRefused } from "../../../src/chat/adapter.ts";
import { type FakeDiscord, startFakeDiscord } from "../../fakes/discord/fake-discord.ts";
import { adapterFor, fakeDiscord, recordingIntake, startAdapter } from "./connected-adapter.ts";

/** Starts an adapter; gives its log, or throws what start() throws. */
async function start(discord: FakeDiscord, options: Partial<DiscordAdapterOptions> = {}): Promise<string> {
  let written = "";
  const sink = new Writable({
    write(chunk, _encoding, done) {
      written += String(chunk);
      done();
    },
  });
  const adapter = adapterFor(discord, { log: pino({ level: "warn" }, sink), ...options });
  await adapter.start(recordingIntake());
  await adapter.stop();
  return written;
}

describe("start", () => {
  test("works with the permissions of our invite link, and has nothing to warn about", async () => {
    expect(await start(await fakeDiscord())).toBe("");
  });

  test("offers what to write into heddle.yaml where nobody is listed who may give work", async () => {
    const discord = await fakeDiscord();
    const other = discord.addGuild("Dyers");
    const said = await start(discord, { closed: "Nobody may give work." });
    const example = `access: { discord: { guilds: ["${discord.guild.id}", "${other.id}"] } }`;
    expect((JSON.parse(said) as { msg: string }).msg).toBe(
      `Nobody may give work. For all members of Weavers, Dyers: ${example}`,
    );
  });

  test.each<[string, (discord: FakeDiscord) => string, RegExp]>([
    ["a prefix", ({ token }) => `Bot ${token}`, /^DISCORD_TOKEN begins with “Bot ”: remove that prefix\.$/],
    ["a client secret", () => "abcdef", /^DISCORD_TOKEN is not a bot token: copy it from Bot → Reset Token/],
    ["an unknown token", () => "a.b.c", /^DISCORD_TOKEN is not a token that Discord knows: copy it/],
  ])("names the variable, the cause and the way out for %s", async (_case, token, message) => {
    const discord = await fakeDiscord();
    const failure = start(discord, { token: token(discord) });
    await expect(failure).rejects.toThrow(message);
    await expect(failure).rejects.toBeInstanceOf(PlatformRefused);
  });

  test("says that the Message Content intent is off, and what to do", async () => {
    const discord = await fakeDiscord({ messageContent: false });
    await expect(start(discord)).rejects.toThrow(
      /^The Discord app may not read messages: switch on Message Content Intent under Bot, or set discord\.messageContent to false/,
    );
    await start(discord, { messageContent: false });
  });

  test("logs no stack beside the sentence", async () => {
    const discord = await fakeDiscord({ messageContent: false });
    const lines: string[] = [];
    const log = pino({ level: "warn" }, { write: (line) => void lines.push(line) });
    await expect(start(discord, { log })).rejects.toThrow(/Message Content Intent/);
    expect(lines).toEqual([]);
  });

  test("says that the shards are wrong", async () => {
    const discord = await fakeDiscord();
    const wrong = start(discord, { shards: { ids: [3], total: 2 } });
    await expect(wrong).rejects.toThrow(/^Discord refuses the shards .*correct discord\.shards/);
  });

  test("says that Discord was not reached", async () => {
    const discord = await startFakeDiscord();
    await discord.close();
    await expect(start(discord)).rejects.toThrow(
      /^Discord was not reached \(ECONNREFUSED\).*DISCORD_API_URL/,
    );
  });

  test("says that Discord was not reached where something else answers in its place", async () => {
    const discord = await fakeDiscord();
    discord.fail(/^GET /, { kind: "http", status: 403 });
    await expect(start(discord)).rejects.toThrow(/^Discord was not reached \(HTTP 403\).*DISCORD_API_URL/);
  });

  test("warns about permissions that the bot was not given, by server, with the link that gives them", async () => {
    const discord = await fakeDiscord({ permissions: neededBits & ~(1n << 6n) });
    expect(await start(discord)).toMatch(
      /In the server Weavers the bot lacks Add Reactions: invite it again with https:\/\/discord\.com\/oauth2/,
    );
  });
});

describe("checkDiscord", () => {
  const check = ({ token, url: apiUrl }: FakeDiscord) =>
    checkDiscord({ token, apiUrl, messageContent: true });

  test("tells who the bot is, whether its commands are there, and what it sees, without connecting", async () => {
    const discord = await fakeDiscord();
    discord.channel("general");
    expect(await check(discord)).toMatchObject([
      { level: "ok", text: `heddle in Weavers (${discord.guild.id}); may read messages` },
      { level: "warning", text: expect.stringMatching(/commands.*`heddle start`/) },
      { level: "ok", text: "Weavers: the bot sees 1 of 1 text channels" },
    ]);
    expect(discord.gateway.identified).toBe(0);
    await start(discord);
    expect(await check(discord)).toContainEqual({ level: "ok", text: "commands: registered" });
  });

  test("names some of many servers", async () => {
    const discord = await fakeDiscord();
    for (let at = 1; at <= 6; at += 1) discord.addGuild(`Server ${at}`);
    const [first] = await check(discord);
    expect(first?.text).toMatch(/^heddle in Weavers \(\d+\), Server 1 \(\d+\).* and 2 more; may read/);
  });

  test("names what is missing in a channel, and only counts those that are hidden", async () => {
    const discord = await fakeDiscord();
    discord.channel("general");
    discord.deny(discord.channel("looms"), "AttachFiles");
    discord.deny(discord.channel("board"), "ViewChannel");
    const findings = await check(discord);
    expect(findings.slice(2)).toEqual([
      { level: "ok", text: "Weavers: the bot sees 2 of 3 text channels" },
      {
        level: "warning",
        text: "In #looms of Weavers the bot lacks Attach Files: grant it under Edit Channel → Permissions.",
      },
    ]);
  });

  test("tells what is wrong with the token", async () => {
    const { url: apiUrl } = await fakeDiscord();
    const findings = await checkDiscord({ token: "a.b.c", apiUrl, messageContent: true });
    expect(findings).toMatchObject([{ level: "error" }]);
  });
});

describe("the manifest", () => {
  test("links to the application of the token, with exactly the permissions that are needed", async () => {
    const { token, applicationId } = await fakeDiscord();
    const text = formatDiscordManifest(discordManifest({ token, messageContent: true }));
    const link = new URL(/https:\S+/.exec(text)?.[0] ?? "");
    expect(Object.fromEntries(link.searchParams)).toEqual({
      client_id: applicationId,
      scope: "bot applications.commands",
      permissions: String(neededBits),
    });
    expect(text).toContain("Message Content Intent");
    expect(text).toContain("Send Messages in Threads");
  });

  test("says what to put in when there is no token, and which intents are not needed", () => {
    const text = formatDiscordManifest(discordManifest({ token: undefined, messageContent: false }));
    expect(text).toContain("client_id=APPLICATION_ID");
    expect(text).toContain("none, as discord.messageContent is false");
  });
});

test("tells beside its name how many turns run, and does so again in a new session", async () => {
  const discord = await fakeDiscord();
  let running = 2;
  await startAdapter(discord, { countRunning: async () => running, presenceMs: 5 });
  await discord.until(() => discord.gateway.presences.at(-1) === "Working on 2 tasks");
  discord.gateway.forget();
  await discord.until(() => discord.gateway.presences.length === 2);
  running = 1;
  await discord.until(() => discord.gateway.presences.at(-1) === "Working on 1 task");
  running = 0;
  await discord.until(() => discord.gateway.presences.at(-1) === "");
  expect(discord.gateway.presences).toHaveLength(4);
});
