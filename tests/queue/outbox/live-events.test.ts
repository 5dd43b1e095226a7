import { afterAll, beforeAll, expect, test } from "vitest";
import { threadId } from "../../../src/chat/threads.ts";
import { createLiveFeed, createLivePublisher, followLive } from "../../../src/queue/outbox/live-events.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const thread = threadId({ platform: "local", workspace: "w", channel: "c", thread: "1" });

test("what a model streams comes in a few pieces, before whatever follows it", async () => {
  const publish = createLivePublisher(server.client(), thread, (error) => expect.unreachable(String(error)));
  const seen: { type: string; delta?: string }[] = [];
  const all = Promise.withResolvers<void>();
  await followLive(server.client(), thread, (event) => {
    seen.push(JSON.parse(event));
    if (seen.at(-1)?.delta?.endsWith("!")) all.resolve();
  });
  for (const delta of ["Let ", "me ", "see."]) publish({ type: "thinking-delta", delta });
  for (const delta of ["I ", "look."]) publish({ type: "text-delta", delta });
  publish({ type: "tool-start" });
  for (const delta of ["Done", "!"]) publish({ type: "text-delta", delta });
  await all.promise;
  expect(seen).toEqual([
    { type: "thinking-delta", delta: "Let me see." },
    { type: "text-delta", delta: "I look." },
    { type: "tool-start" },
    { type: "text-delta", delta: "Done!" },
  ]);
});

test("a feed that is closed reports no failure of what it sent last", async () => {
  const errors: unknown[] = [];
  const subscriber = server.client();
  const feed = createLiveFeed(subscriber, (error) => errors.push(error));
  const began = Promise.withResolvers<void>();
  const end = feed.follow("one", () => began.resolve());
  await began.promise;
  const closed = new Promise((resolve) => subscriber.once("end", resolve));
  feed.close();
  // Streams of pages end after it, or begin at that moment.
  end();
  feed.follow("another", () => {});
  await closed;
  await new Promise((resolve) => setImmediate(resolve));
  expect(errors).toEqual([]);
});
