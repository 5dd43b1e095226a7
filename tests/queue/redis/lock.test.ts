import { afterAll, beforeAll, expect, test } from "vitest";
import { takeLock } from "../../../src/queue/redis/lock.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test("One holds a lock at a time, until it is released", async () => {
  const redis = server.client();
  const lock = await takeLock(redis, "one", 30);
  expect(await takeLock(redis, "one", 30)).toBeUndefined();
  await redis.expire("one", 3);
  expect(await lock?.extend()).toBe(true);
  expect(await redis.ttl("one")).toBeGreaterThan(25);
  await lock?.release();
  expect(await takeLock(redis, "one", 30)).toBeDefined();
});

test("Whoever stood still until a lock was another's neither ends nor extends that one", async () => {
  const redis = server.client();
  const former = await takeLock(redis, "two", 30);
  await redis.del("two");
  const next = await takeLock(redis, "two", 3);
  expect(await former?.extend()).toBe(false);
  await former?.release();
  expect(await redis.ttl("two")).toBeLessThanOrEqual(3);
  expect(await next?.extend()).toBe(true);
});
