import { afterAll, beforeAll, expect, test } from "vitest";
import { readNames } from "../../src/operations/names.ts";
import { keys } from "../../src/queue/redis/keys.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test("A name that several workspaces have is told apart by the workspace, and no other", async () => {
  const redis = server.client();
  await redis.hset(keys.names, {
    "slack:T1:C1": "general",
    "slack:T2:C1": "general",
    "slack:T1:C2": "builds",
    "slack:T1:C3": "builds",
    "discord:1:C1": "random",
  });
  const ids = ["slack:T1:C1", "slack:T2:C1", "slack:T1:C2", "slack:T1:C3", "discord:1:C1", "slack:T3:C1"];
  expect(Object.fromEntries(await readNames(redis, ids))).toEqual({
    "slack:T1:C1": "general (slack:T1)",
    "slack:T2:C1": "general (slack:T2)",
    "slack:T1:C2": "builds",
    "slack:T1:C3": "builds",
    "discord:1:C1": "random",
  });
  expect(await readNames(redis, ["slack:T1:C1"])).toEqual(new Map([["slack:T1:C1", "general"]]));
});
