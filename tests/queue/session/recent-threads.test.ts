import { afterAll, beforeAll, expect, test } from "vitest";
import { keys } from "../../../src/queue/redis/keys.ts";
import { deliver } from "../../../src/queue/session/mailbox.ts";
import { createRecentThreads } from "../../../src/queue/session/recent-threads.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

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
