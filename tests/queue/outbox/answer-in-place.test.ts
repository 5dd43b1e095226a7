import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createSlackSurface } from "../../../src/adapters/slack/surface/surface.ts";
import type { OutboundMessage } from "../../../src/chat/outbound.ts";
import { flushOutbox } from "../../../src/queue/outbox/flush.ts";
import { createRateLimiter } from "../../../src/queue/outbox/rate-limit.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { claimSession } from "../../../src/queue/session/claim.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { visibleText } from "../../fakes/slack/blocks.ts";
import { startFakeSlack } from "../../fakes/slack/fake-slack.ts";

let server: TestRedis;
let teams = 0;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** A turn that has shown its text in a progress message and has ended. */
async function ended({ grows = false } = {}) {
  // The workspace of each test has a budget of its own.
  const slack = await startFakeSlack({ teamId: `T0${++teams}` });
  onTestFinished(() => slack.close());
  const createSurface = () =>
    createSlackSurface({
      ...{ botToken: slack.botToken, apiUrl: slack.url },
      log: pino({ level: "silent" }),
    });
  const surface = createSurface();
  const [ada, channel] = [slack.user("ada"), slack.channel("general")];
  const root = await ada.says(channel, "<@BOT> why?");
  const where = { platform: "slack", workspace: slack.teamId, channel: channel.id, thread: root.ts };
  const thread = `slack:${slack.teamId}:${channel.id}:${root.ts}`;
  const markdown = "Working\n\nBecause of";
  if (grows) await surface.status?.(where, "is thinking…");
  const growing = grows && { growing: { text: "Because of the ", reader: ada.id, title: "Working" } };
  const progress: OutboundMessage = { kind: "progress", markdown, stoppable: true, ...growing };
  const [ref] = await surface.post(where, progress, "t:progress");
  const redis = server.client();
  const message = { kind: "answer", markdown: "Because of **lint**.", footer: "1 step" };
  await redis.hset(keys.outbox(thread), {
    "t:answer": JSON.stringify({ do: "post", message, attempts: 0, inPlace: true }),
    "t:progress": JSON.stringify({ do: "settle", message: null, since: Date.now() }),
  });
  const lease = await claimSession(redis, thread);
  await lease.append([], { fields: { progress: JSON.stringify(ref) } });
  const flush = async (by = surface) => {
    const { rest } = await flushOutbox(lease, {
      ...{ redis, surface: by, output: createRateLimiter(redis), signal: AbortSignal.timeout(20_000) },
      progressQuiet: Promise.resolve(true),
      now: Date.now,
      onProblem: (problem, error) => expect.unreachable(`${problem} ${String(error)}`),
    });
    await rest;
  };
  const replies = () => channel.messages.filter(({ threadTs }) => threadTs === root.ts);
  const put = (key: string, entry: object) => redis.hset(keys.outbox(thread), key, JSON.stringify(entry));
  const left = async () => [
    await redis.hkeys(keys.outbox(thread)),
    await redis.hget(keys.head(thread), "progress"),
    await redis.get(keys.settled(thread, "t:progress")),
  ];
  const forget = () => redis.hdel(keys.head(thread), "progress");
  return { slack, flush, replies, left, put, forget, createSurface, ref, message };
}

const answer = "Because of **lint**.\n(1 step)";

test("The message in which an answer grew becomes the answer, and nothing is deleted", async () => {
  const { slack, flush, replies, left, ref, message } = await ended();
  await flush();
  expect(replies().map((reply) => [reply.ts, visibleText(reply)])).toEqual([[ref?.message, answer]]);
  expect(slack.calls.map(({ method }) => method)).not.toContain("chat.delete");
  // Whoever was frozen meanwhile puts the answer back.
  expect(await left()).toEqual([[], null, JSON.stringify(message)]);
});

test.each([
  ["takes no edits for a while", { kind: "rate-limit", retryAfterSeconds: 20 }],
  ["has lost the message", { kind: "refuse", error: "message_not_found" }],
  ["does not confirm the edit", { kind: "lost-response" }],
] as const)("Where Slack %s, the answer is posted, once", async (_what, fault) => {
  const { slack, flush, replies, left } = await ended();
  slack.fail("chat.update", fault);
  await flush();
  expect(replies().map(visibleText)).toEqual([answer]);
  expect((await left()).slice(0, 2)).toEqual([[], null]);
});

test.each([
  ["limits looking", "conversations.replies", { kind: "rate-limit", retryAfterSeconds: 1 }],
  ["refuses looking for a while", "conversations.replies", { kind: "refuse", error: "ratelimited" }],
  ["cannot be reached to look", "conversations.replies", { kind: "lost-request" }],
  ["limits ending what grows", "chat.stopStream", { kind: "rate-limit", retryAfterSeconds: 1 }],
] as const)(
  "A progress message that nobody noted is settled although Slack %s",
  async (_what, method, fault) => {
    const { slack, flush, replies, left, forget, createSurface } = await ended({ grows: true });
    await forget();
    slack.fail(method, fault);
    // Another worker, which does not know the stream either.
    await flush(createSurface());
    expect(replies().map(visibleText)).toEqual([answer]);
    expect((await left()).slice(0, 2)).toEqual([[], null]);
  },
);

test("A progress message that somebody ended and did not settle is found again", async () => {
  const { slack, flush, replies, forget, createSurface, left } = await ended({ grows: true });
  await forget();
  // What grows is ended, and then the process dies.
  slack.fail("chat.stopStream", { kind: "lost-response" });
  const dying = createSurface();
  const [{ threadTs = "" } = {}] = replies();
  const where = {
    platform: "slack",
    workspace: slack.teamId,
    channel: slack.channel("general").id,
    thread: threadTs,
  };
  await expect(dying.find?.(where, "t:progress", Date.now(), { grows: true })).rejects.toThrow(
    "did not confirm",
  );
  await flush(createSurface());
  expect(replies().map(visibleText)).toEqual([answer]);
  expect((await left()).slice(0, 2)).toEqual([[], null]);
});

const items = [{ id: "1", name: "bash", about: "npm test", state: "ok" }];
const done = { title: "What was done", above: "", below: "", items };
const cards = { kind: "progress", markdown: "**What was done**", calls: done };

describe("A message that grows", () => {
  test("becomes the answer below what was done for it, and nothing else is posted", async () => {
    const { slack, flush, replies, left, put, ref } = await ended({ grows: true });
    await put("t:progress", { do: "settle", message: cards, since: Date.now() });
    await flush();
    const shown = `What was done\n- ✓ bash npm test\n${answer}`;
    expect(replies().map((reply) => [reply.ts, visibleText(reply)])).toEqual([[ref?.message, shown]]);
    expect((await left()).slice(0, 2)).toEqual([[], null]);
    expect(slack.calls.map(({ method }) => method)).not.toContain("chat.delete");
  });

  test("becomes the answer when the worker that has started it is dead", async () => {
    const { flush, replies, left, ref, createSurface } = await ended({ grows: true });
    await flush(createSurface());
    expect(replies().map((reply) => [reply.ts, visibleText(reply)])).toEqual([[ref?.message, answer]]);
    expect(replies()[0]?.stream?.isOpen).toBe(false);
    expect((await left()).slice(0, 2)).toEqual([[], null]);
  });

  test.each([
    ["limits how often one may end", { kind: "rate-limit", retryAfterSeconds: 2 }],
    ["does not confirm its end", { kind: "lost-response" }],
    ["has ended it", { kind: "refuse", error: "message_not_in_streaming_state" }],
  ] as const)("shows the answer once where Slack %s", async (_what, fault) => {
    const { slack, flush, replies, left } = await ended({ grows: true });
    slack.fail("chat.stopStream", fault);
    if (fault.kind === "refuse")
      for (const { stream } of replies()) Object.assign(stream ?? {}, { isOpen: false });
    await flush();
    expect(replies().map(visibleText)).toEqual([answer]);
    expect((await left()).slice(0, 2)).toEqual([[], null]);
  });

  test("ends where the turn is stopped, also by Slack's own Stop, and the receipt is posted", async () => {
    const { slack, flush, replies, left, put } = await ended({ grows: true });
    const receipt = { kind: "receipt", markdown: "🛑 **Stopped by ada**" };
    await put("t:answer", { do: "post", message: receipt, attempts: 0 });
    const [grown] = replies();
    if (grown?.threadTs) await slack.user("ada").stops(grown.channel, grown.threadTs);
    await flush();
    expect(replies().map(visibleText)).toEqual(["🛑 **Stopped by ada**"]);
    expect((await left()).slice(0, 2)).toEqual([[], null]);
  });
});
