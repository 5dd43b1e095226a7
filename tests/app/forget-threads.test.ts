import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createForgetter, type ForgetOptions } from "../../src/app/forget-threads.ts";
import { keys } from "../../src/queue/redis/keys.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());
beforeEach(() => server.client().flushall());

const dayMs = 86_400_000;
const now = 100 * dayMs;
const days: Record<string, number> = { "slack:T:C1": 7, "slack:T:C2": 30 };

async function forget(options: Partial<ForgetOptions> = {}): Promise<string[]> {
  const removed: string[] = [];
  await createForgetter({
    redis: server.client(),
    keepDays: (thread) => days[thread.slice(0, thread.lastIndexOf(":"))],
    async remove(thread) {
      removed.push(thread);
      return { isDeleted: true };
    },
    now: () => now,
    onProblem(problem, error) {
      throw new Error(problem, { cause: error });
    },
    ...options,
  })();
  return removed;
}

const add = (thread: string, daysAgo: number) =>
  server.client().zadd(keys.threads, now - daysAgo * dayMs, thread);

test("Threads are deleted when their channel's days are over, and no others", async () => {
  await add("slack:T:C1:old", 8);
  await add("slack:T:C1:new", 6);
  await add("slack:T:C2:older", 31);
  await add("slack:T:C2:kept", 8);
  await add("slack:T:C3:kept", 90);
  await add("slack:T:C4:kept", 90);
  expect(await forget()).toEqual(["slack:T:C2:older", "slack:T:C1:old"]);
});

test("One of all processes looks, once an hour", async () => {
  await add("slack:T:C1:old", 8);
  const both = await Promise.all([forget(), forget()]);
  expect(both.flat()).toEqual(["slack:T:C1:old"]);
  expect(await server.client().ttl(keys.forgetting)).toBeGreaterThan(3_500);
});

test("What is at work is passed over, and no more than fifty go at once", async () => {
  for (let n = 0; n < 60; n += 1) await add(`slack:T:C1:${n}`, 60 - n / 10);
  const busy = new Set(["slack:T:C1:0", "slack:T:C1:1"]);
  const removed: string[] = [];
  await forget({
    async remove(thread) {
      if (busy.has(thread)) return { isDeleted: false };
      removed.push(thread);
      return { isDeleted: true };
    },
  });
  expect(removed).toHaveLength(50);
  expect(removed[0]).toBe("slack:T:C1:2");
});
