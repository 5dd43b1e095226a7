import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { type HearingOptions, openHearing } from "../../../src/app/setup/hearing.ts";
import type { InboundMessage } from "../../../src/chat/inbound.ts";
import { createHeardRecorder, openHeardMessages } from "../../../src/operations/installation/heard.ts";
import { createLiveFeed } from "../../../src/queue/outbox/live-events.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { memoryChat } from "../../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

function mention(over: Partial<InboundMessage> = {}): InboundMessage {
  const place = { platform: "slack", workspace: "T1", channel: "C1" };
  return {
    ...{ kind: "message", thread: { ...place, thread: "1" }, ref: { ...place, message: "1" }, text: "hello" },
    ...{ author: { id: "U1", name: "Ada", standing: "member", roles: [] }, attachments: [] },
    ...{ addressed: "mention", at: Date.now() },
    ...over,
  };
}

/** Two gateways at one Redis: one hears, the other serves the page. */
async function open(options: Partial<HearingOptions> = {}) {
  const redis = server.client();
  await redis.del(keys.heard, keys.names);
  const surface = Object.assign(memoryChat().surface, { channelName: async () => "general" });
  const record = createHeardRecorder({ redis, surface: () => surface, now: Date.now });
  const feed = createLiveFeed(server.client(), () => {});
  const hearing = openHearing({
    ...{ platforms: ["slack"], isConnected: () => true, heard: openHeardMessages(redis, feed, String) },
    findReasons: async () => ({ found: ["It is in no channel."], unseen: "Compare the subscriptions." }),
    ...{ mask: String, now: Date.now, onProblem() {} },
    ...options,
  });
  const end = hearing.follow(() => {});
  onTestFinished(() => {
    end();
    feed.close();
  });
  return { record, redis, hearing, stands: () => hearing.state()[0] };
}

test("what another gateway has heard is told with the channel's name and its author", async () => {
  const { record, stands } = await open();
  await vi.waitFor(() =>
    expect(stands()).toEqual({ platform: "slack", state: "listening", reasons: ["It is in no channel."] }),
  );
  await record(mention(), { kind: "accepted", thread: "slack:T1:C1:1", position: 1 });
  await vi.waitFor(() =>
    expect(stands()).toMatchObject({ state: "heard", message: { by: "Ada", where: "#general" } }),
  );
});

test("a platform that stays silent is told what the platform says and what nobody can look up", async () => {
  const { stands } = await open({ patienceMs: 0 });
  await vi.waitFor(() =>
    expect(stands()).toEqual({
      ...{ platform: "slack", state: "silent" },
      reasons: ["It is in no channel.", "Compare the subscriptions."],
    }),
  );
});

test("a platform that is not reached is said to be that, and not silent", async () => {
  const { stands } = await open({ patienceMs: 0, isConnected: () => false });
  expect(stands()).toMatchObject({ state: "unreached" });
});

test("a platform that does not answer the question keeps nothing from being told", async () => {
  const { record, stands } = await open({ patienceMs: 0, findReasons: () => new Promise(() => {}) });
  expect(stands()).toEqual({ platform: "slack", state: "silent", reasons: [] });
  await record(mention(), { kind: "accepted", thread: "slack:T1:C1:1", position: 1 });
  await vi.waitFor(() => expect(stands()).toMatchObject({ state: "heard" }));
});

test("what was heard before the start, by older tokens, does not count", async () => {
  const { redis, stands } = await open({ now: () => Date.now() + 60_000 });
  const { record } = await open({ now: () => Date.now() + 60_000 });
  await record(mention(), { kind: "accepted", thread: "slack:T1:C1:1", position: 1 });
  expect(await redis.hlen(keys.heard)).toBe(1);
  await expect.poll(stands).toMatchObject({ state: "listening" });
});

test("a refusal is told, and an answer after it takes its place at once", async () => {
  const { record, stands } = await open();
  await record(mention(), { kind: "refused", reply: "You may not ask here." });
  await vi.waitFor(() => expect(stands()).toMatchObject({ message: { refusal: "You may not ask here." } }));
  await record(mention(), { kind: "accepted", thread: "slack:T1:C1:1", position: 1 });
  await vi.waitFor(() => expect(stands()).not.toHaveProperty("message.refusal"));
});

test.each([
  ["a message to nobody", mention({ addressed: "none" })],
  ["a follow-up", mention({ addressed: "follow-up" })],
  ["a bot", mention({ author: { id: "B1", name: "build", standing: "bot", roles: [] } })],
  ["the console", mention({ thread: { platform: "local", workspace: "w", channel: "c", thread: "t" } })],
])("%s proves nothing", async (_name, event) => {
  const { record, redis } = await open();
  await record(event, { kind: "ignored", why: "it is a test" });
  expect(await redis.exists(keys.heard)).toBe(0);
});

test("of a thousand mentions one is noted, so that noting costs nothing", async () => {
  const { record, redis } = await open();
  const accepted = { kind: "accepted", thread: "slack:T1:C1:1", position: 1 } as const;
  await record(mention(), accepted);
  const first = await redis.hget(keys.heard, "slack");
  for (let count = 0; count < 1_000; count += 1) await record(mention(), accepted);
  expect(await redis.hget(keys.heard, "slack")).toBe(first);
});
