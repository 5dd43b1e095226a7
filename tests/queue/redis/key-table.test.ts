import { afterAll, beforeAll, expect, test } from "vitest";
import { createNameCache } from "../../../src/operations/names.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { memoryChat } from "../../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { findUnboundedKeys } from "./key-table.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test("a key that the table does not have is found, and one without the TTL that it promises", async () => {
  const redis = server.client();
  const thread = "slack:T1:C1:1";
  await redis.set(keys.seen(thread, "m1"), "1", "EX", 60);
  await redis.rpush(keys.mail(thread), "waits");
  await redis.set(keys.present("slack", "T1"), "1");
  await redis.hset(keys.jobs(thread), "worker", "1");
  await redis.set("heddle:{slack:T1:C1:1}:forgotten", "1", "EX", 60);
  expect(await findUnboundedKeys(redis)).toEqual([
    "heddle:{slack:T1:C1:1}:forgotten is not in the table",
    "heddle:{slack:T1:C1:1}:jobs has no TTL",
  ]);
});

test("of more than 20,000 names some make room for a new one", async () => {
  const redis = server.client();
  const fields = Array.from({ length: 20_000 }, (_, n) => [`slack:T1:U${n}`, "Somebody"]);
  await redis.hset(keys.names, ...fields.flat());
  const names = createNameCache(redis, () => memoryChat().surface);
  await names.recordNames("slack:T1:C1:1", { id: "new", name: "Ada", standing: "member", roles: [] });
  expect(await redis.hlen(keys.names)).toBeLessThan(20_000);
  expect(await redis.hget(keys.names, "slack:T1:new")).toBe("Ada");
});
