import { afterAll, beforeAll, expect, test } from "vitest";
import { findThreadBranch, rememberThreadBranch } from "../../../src/queue/stores/pull-requests.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const shop = { host: "github.com", repository: "Acme/Shop" };
const pushed = {
  ...shop,
  thread: "slack:T1:C1:1.5",
  branch: "heddle/1a2b-fix",
  requester: { id: "U1", name: "Ada" },
  at: 1,
};

test("what comes back about a pull request finds the thread that opened it, by number or branch", async () => {
  const redis = server.client();
  await rememberThreadBranch(redis, pushed);
  expect(await findThreadBranch(redis, { ...shop, branch: pushed.branch })).toMatchObject(pushed);
  expect(await findThreadBranch(redis, { ...shop, number: 17 })).toBeUndefined();

  const opened = { ...pushed, pullRequest: { number: 17, url: "https://github.com/Acme/Shop/pull/17" } };
  await rememberThreadBranch(redis, opened);
  const asTold = { host: "github.com", repository: "acme/shop" };
  expect(await findThreadBranch(redis, { ...asTold, number: 17 })).toMatchObject(opened);
  expect(await findThreadBranch(redis, { ...asTold, number: 99, branch: pushed.branch })).toMatchObject(
    opened,
  );
});

test("another repository or host has nothing of it", async () => {
  const redis = server.client();
  await rememberThreadBranch(redis, { ...pushed, pullRequest: { number: 3, url: "https://x" } });
  expect(await findThreadBranch(redis, { ...shop, repository: "acme/other", number: 3 })).toBeUndefined();
  expect(await findThreadBranch(redis, { ...shop, host: "git.example", number: 3 })).toBeUndefined();
});

test("what a later Heddle wrote is left alone", async () => {
  const redis = server.client();
  await redis.set("heddle:{pull:github.com/acme/shop}:5", JSON.stringify({ v: 2, thread: 1 }));
  expect(await findThreadBranch(redis, { ...shop, number: 5 })).toBeUndefined();
});
