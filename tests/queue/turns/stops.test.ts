import { afterAll, beforeAll, expect, test } from "vitest";
import type { StopOrder } from "../../../src/agent/events.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { deliver } from "../../../src/queue/session/mailbox.ts";
import { orderStop, watchStops } from "../../../src/queue/turns/stops.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test("A stop is heard also when the word of it was lost on its way", async () => {
  const redis = server.client();
  const stops = await watchStops(redis, server.client(), () => undefined);
  const { promise, resolve } = Promise.withResolvers<StopOrder>();
  await stops.watch("memory:w:c:t", resolve);
  await redis.set(keys.stop("memory:w:c:t"), JSON.stringify({ by: "Bob", at: 1 }));
  expect(await promise).toEqual({ by: "Bob", at: 1 });
  await stops.close();
});

test("Of several stops the newest is heard, also when an older one is told after it", async () => {
  const redis = server.client();
  const thread = "memory:w:c:t2";
  const message = { role: "user", id: "m1", author: { id: "U1", name: "Ada" }, text: "go", at: 1 } as const;
  await deliver(redis, thread, message, { onlyIfSession: false, now: 1 });
  await orderStop(redis, thread, { by: "Bob", at: 9 });
  await orderStop(redis, thread, { by: "Eve", at: 5 });
  const stops = await watchStops(redis, server.client(), () => undefined);
  const heard: StopOrder[] = [];
  await stops.watch(thread, (order) => heard.push(order));
  expect(heard).toMatchObject([{ by: "Bob", at: 9 }]);
  await stops.close();
});
