import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { noUsage } from "../../../src/agent/model.ts";
import { shareLearntWindows } from "../../../src/app/turns/learnt-windows.ts";
import { createLearntWindowStore } from "../../../src/queue/stores/learnt-windows.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());
beforeEach(() => server.client().flushall());

const model = {
  id: "local/big",
  limits: { contextTokens: 128_000, maxOutputTokens: 8_000, images: false },
};
const detail = "This model's maximum context length is 32000 tokens";
let now = 1_000;

/** A worker whose service is at that address. */
function worker(address?: string) {
  const problems: string[] = [];
  const store = createLearntWindowStore(server.client(), () => address);
  const shared = shareLearntWindows(store, {
    now: () => now,
    onProblem: (problem) => problems.push(problem),
  });
  return { ...shared, problems, usable: () => shared.learnt.measureUsable(model) };
}

/** Waits for what a worker has to write. */
const written = async ({ refresh }: { refresh(): Promise<void> }) => {
  now += 60_000;
  await refresh();
};

test("A window that one worker has learnt holds for the others and for those that start later", async () => {
  const [one, other] = [worker(), worker()];
  expect(other.usable()).toBe(120_000);
  one.learnt.learnRefusal(model, 60_000, detail);
  await written(one);
  await other.refresh();
  expect(other.usable()).toBe(24_000);
  const later = worker();
  await later.refresh();
  expect(later.usable()).toBe(24_000);
  expect([...one.problems, ...other.problems, ...later.problems]).toEqual([]);
});

test("A larger prompt that is taken raises it again for all workers", async () => {
  const [one, other] = [worker(), worker()];
  one.learnt.learnRefusal(model, 60_000, "too long");
  await written(one);
  await other.refresh();
  expect(other.usable()).toBe(54_000);
  other.learnt.learnAccepted(model, 90_000, { ...noUsage, input: 90_000 });
  await written(other);
  await written(one);
  expect([one.usable(), other.usable()]).toEqual([120_000, 120_000]);
  expect(await server.client().hlen(keys.learntWindows)).toBe(0);
});

test("It holds for the model at that address alone, for a day, and until its window is said to be another", async () => {
  const here = worker("http://gpu-1:8000/v1");
  here.learnt.learnRefusal(model, 60_000, detail);
  await written(here);
  const elsewhere = worker("http://gpu-2:8000/v1");
  await elsewhere.refresh();
  expect(elsewhere.usable()).toBe(120_000);
  const configured = { ...model, limits: { ...model.limits, contextTokens: 64_000 } };
  expect(here.learnt.measureUsable(configured)).toBe(56_000);
  now += 25 * 60 * 60_000;
  await here.refresh();
  expect(here.usable()).toBe(120_000);
});

test("Without Redis a worker goes by what it has learnt itself, and tells the others later", async () => {
  const redis = server.client().duplicate({ maxRetriesPerRequest: 0, enableOfflineQueue: false });
  const problems: string[] = [];
  const store = createLearntWindowStore(redis, () => undefined);
  const alone = shareLearntWindows(store, {
    now: () => now,
    onProblem: (problem) => problems.push(problem),
  });
  redis.disconnect();
  alone.learnt.learnRefusal(model, 60_000, detail);
  await written(alone);
  expect(alone.learnt.measureUsable(model)).toBe(24_000);
  expect(problems).not.toEqual([]);
  await redis.connect();
  await written(alone);
  const other = worker();
  await other.refresh();
  expect(other.usable()).toBe(24_000);
  redis.disconnect();
});

test("What cannot be read is left out, and what a worker knows of other models stays", async () => {
  const one = worker();
  one.learnt.learnRefusal(model, 60_000, detail);
  await written(one);
  await server.client().hset(keys.learntWindows, "local/other", "{");
  now += 60_000;
  await one.refresh();
  expect(one.usable()).toBe(24_000);
});
