import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createWebClient } from "../../../src/adapters/slack/connection/web.ts";
import { createFeatures } from "../../../src/adapters/slack/surface/features.ts";
import { startLimit } from "../../../src/adapters/slack/surface/stream-starts.ts";
import { createStreams } from "../../../src/adapters/slack/surface/streams.ts";
import { createSlackSurface } from "../../../src/adapters/slack/surface/surface.ts";
import { createRequestLimit } from "../../../src/queue/outbox/request-limit.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import type { OutboundMessage, ShownCall } from "../../../src/chat/outbound.ts";
import type { MessageRef } from "../../../src/chat/threads.ts";
import { notified, visibleText } from "../../fakes/slack/blocks.ts";
import type { FakeSlackOptions } from "../../fakes/slack/fake-slack.ts";
import { failure, scene } from "./slack-scene.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** A thread that is being worked on, with a message that grows as the text does. */
async function growing(options: FakeSlackOptions = {}) {
  const opened = await scene(options);
  const { slack, surface, thread, ada, replies } = opened;
  await surface.status?.(thread, "is thinking…");
  const show = (text: string, items: ShownCall[] = []): OutboundMessage => ({
    ...{ kind: "progress", markdown: `Working\n\n${text}`, stoppable: true },
    growing: { text, reader: ada.id, title: "Working" },
    ...(items.length > 0 && { calls: { title: "Working", above: "", below: text, items } }),
  });
  const post = async (text: string, items?: ShownCall[]) => {
    const [ref] = await surface.post(thread, show(text, items), "t:progress");
    if (!ref) throw new Error("Nothing was posted.");
    return ref;
  };
  const calls = (method: string) => slack.calls.filter((call) => call.method === method);
  const streams = () => replies().map(({ stream }) => stream?.isOpen);
  return { ...opened, show, post, calls, streams, shown: () => replies().map(visibleText) };
}

/** Streams by a clock of their own. `at` sets it, ms. */
async function startable() {
  const { slack, thread, root, show, streams } = await growing();
  const log = pino({ level: "silent" });
  const access = { botToken: slack.botToken, apiUrl: slack.url, log };
  let now = 0;
  const grown = createStreams({
    ...{ client: createWebClient(access, { timeoutMs: 10_000 }), features: createFeatures(log) },
    ...{ hasStopButton: () => true, now: () => now },
  });
  const start = async (text: string): Promise<MessageRef> => {
    const started = await grown.start(thread, show(text));
    const { workspace } = thread;
    return { platform: "slack", workspace, channel: root.channel.id, message: `${started?.ts}` };
  };
  return { start, grown, show, streams, at: (ms: number) => void (now = ms) };
}

const answer = (markdown: string, more: Partial<OutboundMessage> = {}): OutboundMessage => ({
  ...{ kind: "answer", markdown, footer: "1 step" },
  ...more,
});

describe("A message that grows", () => {
  test("is a stream that the answer ends, without an edit or a deletion", async () => {
    const { surface, show, post, calls, shown, streams, slack } = await growing();
    const ref = await post("Because the ");
    expect(surface.isGrowing?.(ref)).toBe(true);
    await surface.edit(ref, show("Because the lint "));
    await surface.edit(ref, show("Because the lint fails in"));
    expect([shown(), streams()]).toEqual([["Because the lint fails"], [true]]);
    await surface.edit(ref, answer("Because the lint fails in **a.ts**."));
    expect([shown(), streams()]).toEqual([["Because the lint fails in **a.ts**.\n(1 step)"], [false]]);
    expect(surface.isGrowing?.(ref)).toBe(false);
    expect([...calls("chat.update"), ...calls("chat.delete"), ...calls("chat.postMessage")]).toEqual([]);
    // Another process, which knows of no stream, may end it once more.
    slack.fail("chat.update", { kind: "pass" });
    await surface.edit(ref, answer("Because the lint fails in **a.ts**."));
    expect(shown()).toEqual(["Because the lint fails in **a.ts**.\n(1 step)"]);
  });

  test("grows without blanks where a script has none", async () => {
    const { surface, show, post, shown } = await growing();
    const ref = await post("ビルドが失敗した原因は");
    expect(shown()).toEqual(["ビルドが失敗した原因は"]);
    await surface.edit(ref, show("ビルドが失敗した原因は、src/a.ts"));
    expect(shown()).toEqual(["ビルドが失敗した原因は、"]);
    await surface.edit(ref, answer("ビルドが失敗した原因は、src/a.tsです。"));
    expect(shown()).toEqual(["ビルドが失敗した原因は、src/a.tsです。\n(1 step)"]);
  });

  test("has nothing to show before the first word, and shows what is done as tasks above it", async () => {
    const { surface, thread, show, post, shown, calls } = await growing();
    expect(await surface.post(thread, show("Hm"), "t:progress")).toEqual([]);
    const call: ShownCall = { id: "1", name: "bash", about: "npm test", state: "running" };
    const ref = await post("", [call]);
    await surface.edit(ref, show("", [{ ...call, state: "ok", result: "exit code 0" }]));
    await surface.edit(ref, show("All is ", [{ ...call, state: "ok", result: "exit code 0" }]));
    expect(shown()).toEqual(["Working\n- ✓ bash npm test: exit code 0\nAll is"]);
    expect(calls("chat.appendStream")).toHaveLength(2);
    const items: ShownCall[] = [{ ...call, state: "ok" }];
    const done = { title: "What was done", above: "", below: "", items };
    await surface.edit(ref, answer("All is well.", { calls: done }));
    expect(shown()).toEqual(["What was done\n- ✓ bash npm test: exit code 0\nAll is well.\n(1 step)"]);
    expect(calls("chat.update")).toEqual([]);
  });

  test("becomes exactly the answer where it has said more before", async () => {
    const { surface, show, post, shown } = await growing();
    const call: ShownCall = { id: "1", name: "bash", about: "ls", state: "ok" };
    const ref = await post("I look.\n\n", [call]);
    await surface.edit(ref, show("I look.\n\nThere are 3 ", [call]));
    const calls = { title: "What was done", above: "", below: "", items: [call] };
    await surface.edit(ref, answer("There are 3 files.", { calls }));
    expect(shown()).toEqual(["What was done\n- ✓ bash ls\nThere are 3 files.\n(1 step)"]);
  });

  test("takes back what a model has taken back", async () => {
    const { surface, show, post, shown, streams } = await growing();
    const ref = await post("Once upon a ");
    await surface.edit(ref, show("Here "));
    expect(streams()).toEqual([false]);
    expect(shown()[0]).not.toContain("Once");
  });

  test("calls nobody, however the words are cut, and holds back what may have to be masked", async () => {
    const { surface, show, post, replies, shown } = await growing();
    const text = "Ask <!channel> and <@U0ADA> now -----BEGIN RSA PRIVATE KEY-----\nabc ";
    const ref = await post("Ask ");
    for (let end = 5; end <= text.length; end += 3) await surface.edit(ref, show(text.slice(0, end)));
    expect(replies().flatMap(notified)).toEqual([]);
    expect(shown()[0]).toMatch(/Ask .* now$/);
    expect(shown()[0]).not.toContain("abc");
  });

  test.each([
    ["has no such method", "unknown_method"],
    ["lacks a scope", "missing_scope"],
    ["does not let this channel", "channel_type_not_supported"],
  ])("is an ordinary message where the workspace %s", async (_what, error) => {
    const { slack, surface, show, post, shown, calls } = await growing();
    slack.refuse("chat.startStream", () => error);
    const ref = await post("Because ");
    expect(surface.isGrowing?.(ref)).toBe(false);
    await surface.edit(ref, show("Because of "));
    expect(shown()).toEqual(["Working\n\nBecause of \n[Stop]"]);
    await surface.edit(ref, answer("Because of lint."));
    expect(shown()).toEqual(["Because of lint.\n(1 step)"]);
    await post("More ");
    expect(calls("chat.startStream")).toHaveLength(error === "channel_type_not_supported" ? 2 : 1);
  });

  test("is an ordinary message where Slack shows no Stop button of its own", async () => {
    const { post, shown, calls } = await growing({ withoutScopes: ["assistant:write"] });
    await post("Because ");
    expect(shown()).toEqual(["Working\n\nBecause \n[Stop]"]);
    expect(calls("chat.startStream")).toEqual([]);
  });

  test("is started some fifteen times a minute, and posted the ordinary way above that", async () => {
    const { post, replies, calls, slack } = await growing();
    slack.fail("chat.startStream", { kind: "pass" }, 9);
    slack.fail("chat.startStream", { kind: "rate-limit", retryAfterSeconds: 0 });
    for (let i = 0; i < 18; i += 1) await post(`Number ${i} `);
    expect(calls("chat.startStream")).toHaveLength(15);
    expect(replies().filter(({ stream }) => stream)).toHaveLength(14);
    expect(replies()).toHaveLength(18);
  });

  test("is started no more often by several processes together, and by none while Slack asks one to wait", async () => {
    const redis = server.client();
    const { thread, slack, ada, calls } = await growing();
    await redis.ping();
    const bot = { platform: "slack-streams", bot: randomUUID() };
    const surfaces = [1, 2].map(() =>
      createSlackSurface({
        ...{ botToken: slack.botToken, apiUrl: slack.url, log: pino({ level: "silent" }) },
        streamStarts: () => createRequestLimit(redis, bot, startLimit),
      }),
    );
    const show: OutboundMessage = {
      ...{
        kind: "progress",
        markdown: "Working",
        growing: { text: "Word ", reader: ada.id, title: "Working" },
      },
    };
    for (const surface of surfaces) {
      await surface.status?.(thread, "is thinking…");
      for (let i = 0; i < 10; i += 1) await surface.post(thread, show, `${i}`);
    }
    expect(calls("chat.startStream")).toHaveLength(15);

    await redis.flushall();
    slack.fail("chat.startStream", { kind: "rate-limit", retryAfterSeconds: 60 });
    for (const surface of surfaces) await surface.post(thread, show, "again");
    expect(calls("chat.startStream")).toHaveLength(16);
  });

  test.each([
    ["was ended by Slack", "message_not_in_streaming_state"],
    ["was ended by a person", "stopped_by_user"],
    ["is too long for Slack", "msg_too_long"],
    ["gets what Slack does not know", "invalid_chunks"],
  ])("is edited on where it %s", async (_what, error) => {
    const { slack, surface, show, post, shown, streams } = await growing();
    const ref = await post("Because ");
    slack.refuse("chat.appendStream", () => error);
    await surface.edit(ref, show("Because of "));
    expect([shown(), streams()]).toEqual([["Working\n\nBecause of \n[Stop]"], [false]]);
    await surface.edit(ref, answer("Because of lint."));
    expect(shown()).toEqual(["Because of lint.\n(1 step)"]);
  });

  test("is edited on once Slack has ended it by itself", async () => {
    const { slack, surface, show, post, shown } = await growing();
    const ref = await post("Because ");
    slack.workspace.now = () => Date.now() + 6 * 60_000;
    await surface.edit(ref, show("Because of "));
    expect(shown()).toEqual(["Working\n\nBecause of \n[Stop]"]);
    await surface.edit(ref, answer("Because of lint."));
    expect(shown()).toEqual(["Because of lint.\n(1 step)"]);
  });

  test("grows for four minutes, before Slack would end it as broken", async () => {
    const { start, grown, show, streams, at } = await startable();
    const ref = await start("Because ");
    at(3.9 * 60_000);
    expect(await grown.write(ref, show("Because of "))).toBe(true);
    at(4.1 * 60_000);
    expect(await grown.write(ref, show("Because of the "))).toBe(false);
    expect(streams()).toEqual([false]);
  });

  test("is forgotten after an hour: whoever has gone on with its turn has ended it", async () => {
    const { start, grown, at } = await startable();
    const lost = await start("Because ");
    at(59 * 60_000);
    const other = await start("Because ");
    expect(grown.has(lost)).toBe(true);
    at(61 * 60_000);
    await start("Because ");
    expect([grown.has(lost), grown.has(other)]).toEqual([false, true]);
  });

  test("shows nothing twice when the answer to an append is lost, and ends as the answer", async () => {
    const { slack, surface, show, post, shown } = await growing();
    const ref = await post("Because ");
    slack.fail("chat.appendStream", { kind: "lost-response" });
    expect((await failure(surface.edit(ref, show("Because of ")))).kind).toBe("uncertain");
    await surface.edit(ref, show("Because of lint "));
    expect(shown()).toEqual(["Working\n\nBecause of lint \n[Stop]"]);
    await surface.edit(ref, answer("Because of lint."));
    expect(shown()).toEqual(["Because of lint.\n(1 step)"]);
  });

  test("goes on after a rate limit with what was not sent yet, and holds up no other write", async () => {
    const { slack, surface, show, post, shown } = await growing();
    const ref = await post("Because ");
    slack.fail("chat.appendStream", { kind: "rate-limit", retryAfterSeconds: 3 });
    const error = await failure(surface.edit(ref, show("Because of ")));
    expect(error).toMatchObject({ kind: "rate-limited", limits: ["appends"] });
    await surface.edit(ref, show("Because of lint "));
    expect(shown()).toEqual(["Because of lint"]);
    slack.fail("chat.stopStream", { kind: "rate-limit", retryAfterSeconds: 3 });
    const last = answer("Because of lint.");
    expect(await failure(surface.edit(ref, last))).toMatchObject({ kind: "rate-limited", limits: [] });
    await surface.edit(ref, last);
    expect(shown()).toEqual(["Because of lint.\n(1 step)"]);
  });

  test("is ended by whoever takes over, and found where the answer to its start was lost", async () => {
    const one = await growing();
    const since = Date.now();
    one.slack.fail("chat.startStream", { kind: "lost-response" });
    const lost = one.surface.post(one.thread, one.show("Because "), "t:progress");
    expect((await failure(lost)).kind).toBe("uncertain");
    // An earlier answer, and one that grew to it, stay what they are.
    await one.surface.post(one.thread, answer("Earlier."), "s:answer");
    const before = await one.post("Before ");
    await one.surface.edit(before, answer("Before that."));
    const found = await one.surface.find?.(one.thread, "t:progress", since, { grows: true });
    const [first] = one.replies();
    expect(found?.map(({ message }) => message)).toEqual([first?.ts]);
    const open = await one.post("Open ");
    const access = { botToken: one.slack.botToken, apiUrl: one.slack.url };
    const other = createSlackSurface({ ...access, log: pino({ level: "silent" }) });
    await other.edit(open, answer("Taken over."));
    if (found?.[0]) await other.remove(found[0]);
    expect(one.shown()).toEqual(["Earlier.\n(1 step)", "Before that.\n(1 step)", "Taken over.\n(1 step)"]);
    const last = await one.post("Gone ");
    await other.remove(last);
    expect(one.replies()).toHaveLength(3);
  });
});
