import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { keys } from "../../../../src/queue/redis/keys.ts";
import { deliver } from "../../../../src/queue/session/mailbox/mailbox.ts";
import { createDowntime } from "../../../../src/queue/session/gateway-last-seen.ts";
import { createRecentThreads } from "../../../../src/queue/session/lists/recent-threads.ts";
import { startRedis, type TestRedis } from "../../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());
beforeEach(() => server.client().flushall());

test("Recent threads are those that a person has begun in a workspace, the latest first", async () => {
  const redis = server.client();
  const says = (thread: string, id: string, now: number, text: string) =>
    deliver(
      redis,
      thread,
      { role: "user", id: `${thread}${now}`, author: { id, name: id }, text, at: now },
      { onlyIfSession: false, now },
    );
  await says("slack:T1:C:1", "ada", 10, "first");
  await says("slack:T1:C:2", "bob", 20, "not hers");
  await says("slack:T1:C:2", "ada", 21, "only taking part");
  await says("slack:T2:C:3", "ada", 30, "elsewhere");
  await says("slack:T1:C:4", "ada", 40, "latest");
  // A turn has taken it.
  const [taken = ""] = await redis.lrange(keys.mail("slack:T1:C:4"), 0, -1);
  const begun = JSON.stringify({ type: "turn-start", turn: "t", at: 41 });
  await redis.rpush(keys.log("slack:T1:C:4"), begun, taken);
  await redis.del(keys.mail("slack:T1:C:4"));
  const found = await createRecentThreads(redis).of("slack", "T1", "ada");
  expect(found).toEqual([
    {
      thread: { platform: "slack", workspace: "T1", channel: "C", thread: "4" },
      beginning: "latest",
      status: "idle",
      activeAt: 40,
    },
    {
      thread: { platform: "slack", workspace: "T1", channel: "C", thread: "1" },
      beginning: "first",
      status: "waiting",
      activeAt: 10,
    },
  ]);
});

test("A busy workspace hides the threads of no other, from people or from the next gateway", async () => {
  const redis = server.client();
  const now = Date.now();
  const thread = { platform: "slack", workspace: "T1", channel: "C", thread: "1" };
  await deliver(
    redis,
    "slack:T1:C:1",
    { role: "user", id: "m", author: { id: "ada", name: "ada" }, text: "hers", at: now - 5_000 },
    { onlyIfSession: false, now: now - 5_000 },
  );
  const others = Array.from({ length: 2_500 }, (_, index) => [now - index, `slack:T2:C:${index}`]);
  await redis.zadd(keys.threads, ...others.flat());
  expect(await createRecentThreads(redis).of("slack", "T1", "ada")).toMatchObject([
    { thread, beginning: "hers" },
  ]);
  const downtime = createDowntime(redis, () => now);
  expect(await downtime.threads("slack", "T1")).toEqual([thread]);
  expect(await downtime.threads("slack", "T2")).toHaveLength(200);
  expect(await downtime.threads("slack", "T3")).toEqual([]);
});
