import { afterAll, beforeAll, expect, test } from "vitest";
import type { StopOrder } from "../../../src/agent/events.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { watchStops } from "../../../src/queue/turns/stops.ts";
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
