import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { enqueueForSweep, readListedAt, unlist } from "../../../../src/queue/session/lists/sweep-list.ts";
import { startRedis, type TestRedis } from "../../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
beforeEach(() => server.client().flushall());
afterAll(() => server.stop());

const thread = "memory:w:c:t";
const listedAt = async () => Number(await readListedAt(server.client(), thread));

test("A thread that has something to do at two times is listed for the first of them, whichever was told last", async () => {
  const redis = server.client();
  await enqueueForSweep(redis, thread, 10);
  const listed = await readListedAt(redis, thread);
  await enqueueForSweep(redis, thread, 20, { at: 90 });
  await unlist(redis, thread, listed, 50);
  expect(await listedAt()).toBeLessThanOrEqual(50);

  await unlist(redis, thread, await readListedAt(redis, thread), 50);
  await enqueueForSweep(redis, thread, 30, { at: 90 });
  expect(await listedAt()).toBeLessThanOrEqual(50);
});

test("Whoever takes a thread off the list sees that something which may wait has come meanwhile", async () => {
  const redis = server.client();
  await enqueueForSweep(redis, thread, 10);
  const listed = await readListedAt(redis, thread);
  await enqueueForSweep(redis, thread, 20, { at: 90 });
  await unlist(redis, thread, listed);
  expect(await readListedAt(redis, thread)).not.toBeNull();
});

test("What may wait puts off only the time that it takes the place of", async () => {
  const redis = server.client();
  await enqueueForSweep(redis, thread, 10, { at: 40 });
  await enqueueForSweep(redis, thread, 20, { at: 60, insteadOf: 40 });
  expect(await listedAt()).toBe(60);
  await enqueueForSweep(redis, thread, 30);
  await enqueueForSweep(redis, thread, 35, { at: 80, insteadOf: 60 });
  expect(await listedAt()).toBeLessThanOrEqual(35);
});
