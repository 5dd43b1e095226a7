import { pino } from "pino";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createDiscordSurface } from "../../../src/adapters/discord/surface/surface.ts";
import { createSlackSurface } from "../../../src/adapters/slack/surface/surface.ts";
import { sendKept } from "../../../src/queue/outbox/send-kept.ts";
import { type ChatSurface, SurfaceError } from "../../../src/chat/surface.ts";
import { threadId } from "../../../src/chat/threads.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { startFakeDiscord } from "../../fakes/discord/fake-discord.ts";
import { freePort } from "../../fakes/free-port.ts";
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

/** What a bot has to post, an answer unless told otherwise, that was removed from its channel before it could. */
async function removed(kind: "public" | "private", entries?: Record<string, object>) {
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
  const outbox = entries ?? {
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

test("A stop whose receipt waits is shown as a stop, also when it is given up", async () => {
  const receipt = { do: "post", message: { kind: "receipt", markdown: "🛑 Stopped." }, attempts: 0 };
  const { flush, problems, passes, left, unsaid } = await removed("public", { "t:receipt": receipt });
  expect(await flush()).toBe(60_000);
  expect(await unsaid()).toBeNull();
  passes(7 * hour);
  expect(await flush()).toBeUndefined();
  expect(problems).toHaveLength(2);
  expect([await left(), await unsaid()]).toEqual([[], null]);
});

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

/** A surface whose platform is out of reach until it is back. */
function outOfReach(surface: ChatSurface, away: ChatSurface) {
  const now = { surface: away };
  const out: ChatSurface = {
    ...surface,
    post: (...args) => now.surface.post(...args),
    find: async (...args) => (await now.surface.find?.(...args)) ?? [],
  };
  return { out, back: () => void (now.surface = surface) };
}

test.each([
  ["Slack", "has not been sent", onSlack, undefined],
  ["Slack", "has arrived", onSlack, true],
  ["Slack", "has not arrived", onSlack, false],
  ["Discord", "has not been sent", onDiscord, undefined],
  ["Discord", "has arrived", onDiscord, true],
  ["Discord", "has not arrived", onDiscord, false],
])(
  "An answer holds no slot for as long as %s is out of reach, and stands there once where it %s before",
  async (platform, _what, onPlatform, isThere) => {
    const { surface, place, said } = await onPlatform();
    const log = pino({ level: "silent" });
    const nowhere = `http://127.0.0.1:${await freePort()}/api`;
    const { out, back } = outOfReach(
      surface,
      platform === "Slack"
        ? createSlackSurface({ botToken: "xoxb-1", apiUrl: `${nowhere}/`, log })
        : createDiscordSurface({ token: "t", apiUrl: nowhere, cdnUrl: nowhere, messageContent: true, log }),
    );
    const begun = Date.now() - 1;
    if (isThere) await surface.post(place, done, "t:answer");
    const entry = { do: "post", message: done, attempts: 0, ...(isThere !== undefined && { begun }) };
    const entries = { "t:answer": entry };
    const { flush, problems, passes, left, unsaid } = storedOutbox(
      ...([server.client(), threadId(place), out, entries, 1_500] as const),
    );
    expect(await flush()).toBe(60_000);
    expect(await unsaid()).toBe("1");
    passes(hour);
    expect(await flush()).toBe(hour / 2);
    expect(problems).toHaveLength(1);
    back();
    expect(await flush()).toBeUndefined();
    expect(said()).toEqual(["It is done."]);
    expect(await left()).toEqual([]);
    expect(await unsaid()).toBeNull();
  },
);

test("What a turn says behind its answer waits with it for a platform that wants to be asked much later", async () => {
  const chat = memoryChat();
  chat.failNext(new SurfaceError("rate-limited", "slow down", { retryAfterMs: 700_000 }));
  const offer = { kind: "answer", markdown: "Go on?" };
  const redis = server.client();
  const entries = {
    "t:answer": { do: "post", message: done, attempts: 0 },
    "t:offer": { do: "post", message: offer, attempts: 0 },
  };
  const { flush, left } = storedOutbox(redis, "memory:1:2:4", chat.surface, entries, 300);
  expect(await flush()).toBe(60_000);
  expect((await left()).toSorted()).toEqual(["t:answer", "t:offer"]);
  const place = { platform: "memory", workspace: "1", channel: "2" };
  expect(await redis.pttl(keys.rateLimit(place, "messages"))).toBeGreaterThan(600_000);
  // The platform's time is over.
  await redis.del(keys.rateLimit(place, "messages"));
  expect(await flush()).toBeUndefined();
  expect(chat.shown.map(({ message }) => message.markdown)).toEqual(["It is done.", "Go on?"]);
  expect(chat.shown.map(({ message }) => message.footer)).toEqual([undefined, undefined]);
});

test("A turn whose question cannot be posted in time goes on without it", async () => {
  const chat = memoryChat();
  chat.failNext(new SurfaceError("rate-limited", "slow down", { retryAfterMs: 700_000 }));
  const entry = { do: "post", message: { kind: "question", markdown: "May I?" }, attempts: 0, question: "q" };
  const { flush, left, head } = storedOutbox(
    ...([server.client(), "memory:1:3:5", chat.surface, { "question:q": entry }, 300] as const),
  );
  expect(await flush()).toBeUndefined();
  expect(await left()).toEqual([]);
  expect(JSON.parse((await head())["decision:q"] ?? "{}")).toMatchObject({ kind: "unasked" });
});

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

/** A turn with a progress message, on a platform that takes no edits until it is back. */
async function withoutEdits(channel: string, entries: Record<string, object>) {
  const chat = memoryChat();
  const place = { platform: "memory", workspace: "1", channel };
  const now = { isAway: true };
  const away = () => new SurfaceError("rate-limited", "slow down", { retryAfterMs: 700_000 });
  const surface: ChatSurface = {
    ...chat.surface,
    edit: (...args) => (now.isAway ? Promise.reject(away()) : chat.surface.edit(...args)),
  };
  const redis = server.client();
  const thread = `memory:1:${channel}:1`;
  const shows = async (key: string) => {
    const [ref] = await surface.post({ ...place, thread: "1" }, working, key);
    await redis.hset(keys.head(thread), "progress", JSON.stringify(ref));
    return JSON.stringify(ref);
  };
  await shows("t:progress");
  return {
    ...storedOutbox(redis, thread, surface, entries, 300),
    shows,
    failNextPost: () => chat.failNext(away()),
    texts: () => chat.shown.map(({ message }) => message.markdown),
    async back() {
      now.isAway = false;
      await redis.del(keys.rateLimit(place, "edits"), keys.rateLimit(place, "messages"));
    },
  };
}

const finished = { kind: "progress", markdown: "**What was done**" } as const;

test("A turn holds no slot until its progress message is finished, and the next one has a message of its own", async () => {
  const entry = { do: "settle", message: finished, since: Date.now() };
  const { flush, shows, texts, back, left, head, problems } = await withoutEdits("4", {
    "t:progress": entry,
  });
  expect(await flush()).toBe(60_000);
  expect((await head())["progress"]).toBeUndefined();
  const next = await shows("u:progress");
  expect(await flush()).toBe(60_000);
  await back();
  expect(await flush()).toBeUndefined();
  expect(texts()).toEqual([finished.markdown, working.markdown]);
  expect((await head())["progress"]).toBe(next);
  expect([await left(), problems]).toEqual([[], []]);
});

test("An answer that was held does not become the progress message of a later turn, and its own is finished", async () => {
  const { flush, shows, failNextPost, texts, back, left, head } = await withoutEdits("5", {
    "t:answer": { do: "post", message: done, attempts: 0, inPlace: true },
    "t:progress": { do: "settle", message: finished, since: Date.now() },
  });
  failNextPost();
  expect(await flush()).toBe(60_000);
  const next = await shows("u:progress");
  await back();
  expect(await flush()).toBeUndefined();
  expect(texts()).toEqual([finished.markdown, working.markdown, done.markdown]);
  expect((await head())["progress"]).toBe(next);
  expect(await left()).toEqual([]);
});

test("A progress message that cannot be finished for hours is left as it is", async () => {
  const entry = { do: "settle", message: finished, since: Date.now() };
  const { flush, passes, problems, left } = await withoutEdits("6", { "t:progress": entry });
  expect(await flush()).toBe(60_000);
  passes(7 * hour);
  expect(await flush()).toBeUndefined();
  expect(problems).toHaveLength(1);
  expect(await left()).toEqual([]);
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
