import { afterAll, beforeAll, expect, test } from "vitest";
import { keys } from "../../../src/queue/redis/keys.ts";
import { deliver } from "../../../src/queue/session/mailbox/mailbox.ts";
import { moveWaiting } from "../../../src/queue/session/mailbox/waiting-messages.ts";
import { readBacklog } from "../../../src/queue/turns/backlog.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test("The age of what waits is that of the oldest message, also when newer ones were moved before it", async () => {
  const redis = server.client();
  const thread = "memory:w:c:t";
  for (const at of [1_000, 2_000, 3_000])
    await deliver(
      redis,
      thread,
      { role: "user", id: `m${at}`, author: { id: "U1", name: "Ada" }, text: "x", at },
      { onlyIfSession: false, now: at },
    );
  await redis.zadd(keys.waiting, 3_000, thread);
  await moveWaiting(redis, thread, "m2000", 1);
  await moveWaiting(redis, thread, "m3000", 1);
  expect(await readBacklog(redis, 5_000)).toMatchObject({ messages: 3, oldestMs: 4_000 });
});
