import { pino } from "pino";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createDiscordSurface } from "../../../src/adapters/discord/surface/surface.ts";
import { createSlackSurface } from "../../../src/adapters/slack/surface/surface.ts";
import { sendKept } from "../../../src/queue/outbox/send-kept.ts";
import { SurfaceError } from "../../../src/chat/surface.ts";
import { threadId } from "../../../src/chat/threads.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { startFakeDiscord } from "../../fakes/discord/fake-discord.ts";
import { memoryChat } from "../../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { startFakeSlack } from "../../fakes/slack/fake-slack.ts";
import { storedOutbox } from "./stored-outbox.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const hour = 3_600_000;
const working = { kind: "progress", markdown: "⏳ **Working**" } as const;

/** An answer of a bot that was removed from its channel before it could post it. */
async function removed(kind: "public" | "private") {
  const slack = await startFakeSlack();
  onTestFinished(() => slack.close());
  const surface = createSlackSurface({
    ...{ botToken: slack.botToken, apiUrl: slack.url },
    log: pino({ level: "silent" }),
  });
  const [ada, channel] = [slack.user("ada"), slack.channel(kind, { kind })];
  const root = await ada.says(channel, "<@BOT> work");
  channel.members.delete(slack.bot.id);
  const redis = server.client();
  const thread = `slack:${slack.teamId}:${channel.id}:${root.ts}`;
  const ref = { platform: "slack", workspace: slack.teamId, channel: channel.id, message: root.ts };
  const outbox = {
    "t:answer": { do: "post", message: { kind: "answer", markdown: "It is done." }, attempts: 0 },
    [`t:mark:${root.ts}`]: { do: "mark", ref, mark: "answered" },
    "t:progress": { do: "settle", message: null, since: Date.now() },
  };
  return {
    ...storedOutbox(redis, thread, surface, outbox),
    root,
    texts: () => channel.messages.map(({ text }) => text),
    invite: () => void channel.members.add(slack.bot.id),
  };
}

test.each(["public", "private"] as const)(
  "An answer waits until the bot is invited to its %s channel again, and its message has its mark then",
  async (kind) => {
    const { flush, problems, root, texts, passes, invite, left, unsaid } = await removed(kind);
    expect(await flush()).toBe(60_000);
    expect(await unsaid()).toBe("1");
    passes(hour);
    expect(await flush()).toBe(hour / 2);
    expect(problems).toHaveLength(1);
    invite();
    expect(await flush()).toBeUndefined();
    expect(texts()).toContain("It is done.");
    expect(root.reactions.has("white_check_mark")).toBe(true);
    expect(await left()).toEqual([]);
    expect(await unsaid()).toBeNull();
  },
);

test("An answer for which the bot is not invited again for hours is left in the console", async () => {
  const { flush, texts, passes, invite, left, unsaid } = await removed("public");
  await flush();
  passes(7 * hour);
  expect(await flush()).toBeUndefined();
  invite();
  await flush();
  expect(texts()).not.toContain("It is done.");
  expect(await left()).toEqual([]);
  expect(await unsaid()).toBe("1");
});

const done = { kind: "answer", markdown: "It is done." } as const;

/** A thread on Slack with nothing of the bot's in it. */
async function onSlack() {
  const slack = await startFakeSlack();
  onTestFinished(() => slack.close());
  const surface = createSlackSurface({
    ...{ botToken: slack.botToken, apiUrl: slack.url },
    log: pino({ level: "silent" }),
  });
  const [ada, channel] = [slack.user("ada"), slack.channel("general")];
  const root = await ada.says(channel, "<@BOT> work");
  return {
    surface,
    place: { platform: "slack", workspace: slack.teamId, channel: channel.id, thread: root.ts },
    fail: () => slack.fail("conversations.replies", { kind: "http", status: 503 }, 2),
    recover: () => slack.recover(),
    said: () => channel.messages.filter(({ user }) => user === slack.bot).map(({ text }) => text),
  };
}

/** The same on Discord. */
async function onDiscord() {
  const discord = await startFakeDiscord();
  onTestFinished(() => discord.close());
  const surface = createDiscordSurface({
    ...{ token: discord.token, apiUrl: discord.url, cdnUrl: discord.cdnUrl, messageContent: true },
    log: pino({ level: "silent" }),
  });
  const general = discord.channel("general");
  const root = discord.user("ada").says(general, "<@BOT> work");
  return {
    surface,
    place: { platform: "discord", workspace: discord.guild.id, channel: general.id, thread: root.id },
    fail: () => discord.fail(/^GET .*\/messages$/, { kind: "http", status: 503 }, 2),
    recover: () => undefined,
    said: () => discord.threadOf(root)?.messages.map(({ content }) => content),
  };
}

test.each([
  ["Slack", "has not arrived", onSlack, false],
  ["Slack", "has arrived", onSlack, true],
  ["Discord", "has not arrived", onDiscord, false],
  ["Discord", "has arrived", onDiscord, true],
])(
  "An answer waits while %s fails for long, and stands there once where it %s before",
  async (_platform, _what, onPlatform, isThere) => {
    const { surface, place, fail, recover, said } = await onPlatform();
    const begun = Date.now() - 1;
    if (isThere) await surface.post(place, done, "t:answer");
    // It has been tried for ten minutes.
    const entry = { do: "post", message: done, attempts: 13, begun };
    const { flush, passes, left, unsaid } = storedOutbox(server.client(), threadId(place), surface, {
      "t:answer": entry,
    });
    fail();
    expect(await flush()).toBe(60_000);
    expect(await unsaid()).toBe("1");
    passes(hour);
    expect(await flush()).toBe(hour / 2);
    recover();
    expect(await flush()).toBeUndefined();
    expect(said()).toEqual(["It is done."]);
    expect(await left()).toEqual([]);
    expect(await unsaid()).toBeNull();
  },
);

test("An answer is not kept for longer where the platform does not say whether it is there", async () => {
  const chat = memoryChat();
  for (let attempts = 0; attempts < 3; attempts += 1)
    chat.failNext(new SurfaceError("uncertain", "No answer."));
  const thread = "memory:1:2:3";
  const { flush, left } = storedOutbox(server.client(), thread, chat.surface, {
    "t:answer": { do: "post", message: { kind: "answer", markdown: "It is done." }, attempts: 0 },
  });
  expect(await flush()).toBeUndefined();
  expect(await left()).toEqual([]);
});

test("What is kept for a thread is sent as soon as that is asked for, and nothing is done where nothing is kept", async () => {
  const redis = server.client();
  const woken: string[] = [];
  const queue = { wake: async (thread: string) => void woken.push(thread) };
  await redis.hset(keys.outbox("discord:1:2:3"), "t:answer", "{}");
  await sendKept(redis, queue, "discord:1:2:3");
  await sendKept(redis, queue, "discord:1:2:4");
  expect(woken).toEqual(["discord:1:2:3"]);
});

/** An answer on Discord whose thread a moderator has locked while its turn ran. */
async function locked() {
  const discord = await startFakeDiscord();
  onTestFinished(() => discord.close());
  const surface = createDiscordSurface({
    ...{ token: discord.token, apiUrl: discord.url, cdnUrl: discord.cdnUrl, messageContent: true },
    log: pino({ level: "silent" }),
  });
  const general = discord.channel("general");
  const root = discord.user("ada").says(general, "<@BOT> work");
  const place = { platform: "discord", workspace: discord.guild.id, channel: general.id };
  const [progress] = await surface.post({ ...place, thread: root.id }, working, "t:progress");
  return { discord, surface, general, root, place, progress };
}

test("An answer waits until its Discord thread is unlocked, the channel is told so once, and then all is settled", async () => {
  const { discord, surface, general, root, place, progress } = await locked();
  const inThread = discord.threadOf(root) ?? expect.fail("There is no thread.");
  inThread.isLocked = true;
  const redis = server.client();
  const thread = `discord:${discord.guild.id}:${general.id}:${root.id}`;
  const ref = { ...place, message: `${general.id}/${root.id}` };
  await redis.hset(keys.head(thread), "progress", JSON.stringify(progress));
  const { flush, passes, left } = storedOutbox(redis, thread, surface, {
    "t:answer": { do: "post", message: { kind: "answer", markdown: "It is done." }, attempts: 0 },
    "t:mark": { do: "mark", ref, mark: "answered" },
    "t:progress": {
      do: "settle",
      message: { kind: "progress", markdown: "**What was done**" },
      since: Date.now(),
    },
  });
  expect(await flush()).toBe(60_000);
  passes(hour);
  expect(await flush()).toBe(hour / 2);
  const told = general.messages.filter(({ author }) => author === discord.bot);
  expect(told.map(({ content }) => content)).toEqual([
    "The thread is locked. I keep what I have to say there for six hours, and post it once a moderator unlocks the thread.",
  ]);
  expect(inThread.messages.map(({ content }) => content)).toEqual(["⏳ **Working**"]);

  inThread.isLocked = false;
  expect(await flush()).toBeUndefined();
  expect(inThread.messages.map(({ content }) => content)).toEqual(["**What was done**", "It is done."]);
  expect(root.reactions.get("✅")?.has(discord.bot.id)).toBe(true);
  expect(await left()).toEqual([]);
});
