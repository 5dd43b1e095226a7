import { afterAll, beforeAll, expect, test } from "vitest";
import { keys } from "../../../src/queue/redis/keys.ts";
import { reportEnds } from "../../../src/queue/turns/lost-holders.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const thread = "memory:w:c:1";
const head = keys.head(thread);
const lost = (epoch: number) => [`lost:${epoch}`, JSON.stringify({ at: 1, commands: ["sleep 9"] })] as const;

/** A client through which something else happens right before each report. */
function reportingAfter(happens: () => Promise<unknown>) {
  const redis = server.client();
  return new Proxy(redis, {
    get(target, name) {
      if (name !== "hset") return Reflect.get(target, name);
      return async (...args: [string, object]) => {
        await happens();
        return target.hset(...args);
      };
    },
  });
}

test("A report that comes when the end has just become known otherwise leaves nothing behind, and wakes nobody", async () => {
  const redis = server.client();
  await redis.hset(head, ...lost(3), ...lost(5));
  const known = reportingAfter(() => redis.hdel(head, "lost:3"));
  expect(await reportEnds(known, thread, ({ field }) => field === "lost:3")).toBe(false);
  expect(Object.keys(await redis.hgetall(head))).toEqual(["lost:5"]);
  expect(await reportEnds(redis, thread, () => true)).toBe(true);
  expect(Object.keys(await redis.hgetall(head)).toSorted()).toEqual(["ended:5", "lost:5"]);
});

test("A report that comes when the thread was just deleted makes no session anew", async () => {
  const redis = server.client();
  await redis.hset(head, ...lost(3));
  const deleted = reportingAfter(() => redis.del(head));
  expect(await reportEnds(deleted, thread, () => true)).toBe(false);
  expect(await redis.exists(head)).toBe(0);
});
