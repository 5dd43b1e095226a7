import type { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createThreadCatalog } from "../../../src/operations/threads/thread-catalog.ts";
import { createThreadIndex } from "../../../src/operations/threads/threads.ts";
import { createLiveFeed } from "../../../src/queue/outbox/live-events.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { claimSession } from "../../../src/queue/session/claim.ts";
import { deliver } from "../../../src/queue/session/mailbox/mailbox.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = server.client();
});
beforeEach(() => redis.flushall());
afterAll(() => server.stop());

const threadOf = (n: number) => `memory:w:c:t${n}`;

/** Somebody says something in a thread. */
async function speak(n: number, at: number): Promise<void> {
  const author = { id: "U1", name: "Ada" };
  const message = { role: "user", id: `m${at}`, author, text: `Task ${n}`, at } as const;
  await deliver(redis, threadOf(n), message, { onlyIfSession: false, now: at });
  await redis.zadd(keys.threads, at, threadOf(n));
}

/** How often a command was sent to Redis. */
async function countCalls(command: string): Promise<number> {
  const stats = await redis.info("commandstats");
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

test("The list of threads is read whole once, and then what is new in it or was taken out", async () => {
  let now = 10_000_000;
  for (let n = 1; n <= 20; n += 1) await speak(n, n * 100_000);
  const catalog = createThreadCatalog(redis, () => now);
  const list = async () => (await catalog.read()).lines.map(({ thread }) => thread);
  const whole = () => countCalls("zrevrange");
  const latest = [...Array(20).keys()].map((n) => threadOf(20 - n));
  expect(await list()).toEqual(latest);
  const before = await whole();

  await speak(21, 2_100_000);
  await speak(3, 2_200_000);
  const rest = latest.filter((thread) => thread !== threadOf(3));
  expect(await list()).toEqual([threadOf(3), threadOf(21), ...rest]);
  expect(await whole()).toBe(before);

  // Of a worker whose clock is behind.
  await speak(5, 2_150_000);
  await redis.zrem(keys.threads, threadOf(21));
  const left = rest.filter((thread) => thread !== threadOf(5));
  expect(await list()).toEqual([threadOf(3), threadOf(5), ...left]);

  await speak(22, 50);
  expect(await list()).toEqual([threadOf(3), threadOf(5), ...left, threadOf(22)]);
  catalog.changed(null);
  const known = await whole();
  await list();
  expect(await whole()).toBe(known + 1);
  now += 11 * 60_000;
  await list();
  expect(await whole()).toBe(known + 2);
});

/** So many threads that wait, the one with the highest number last. */
async function queueUp(count: number): Promise<void> {
  for (let n = 1; n <= count; n += 1) {
    await speak(n, n);
    await redis.zadd(keys.waiting, n, threadOf(n));
  }
}

/** The threads as an operator asks for them, without a word from anybody of what changes. */
async function openIndex() {
  const feed = createLiveFeed(server.client(), (error) => {
    throw error;
  });
  const threads = createThreadIndex({ redis: redis, feed, mask: (text) => text });
  const allCalls = async () => {
    const stats = await redis.info("commandstats");
    // What watches the others is none of them.
    return [...stats.matchAll(/cmdstat_(?!info)[\w|]+:calls=(\d+)/g)].reduce(
      (sum, [, n]) => sum + Number(n),
      0,
    );
  };
  // It reads all of them again when its subscription holds.
  await threads.query({ limit: 1 });
  await expect.poll(async () => (await redis.pubsub("CHANNELS")).length).toBe(1);
  await threads.query({ limit: 1 });
  return {
    threads,
    /** How many commands it takes. */
    async costOf(work: () => Promise<unknown>): Promise<number> {
      const before = await allCalls();
      await work();
      return (await allCalls()) - before;
    },
    [Symbol.dispose]() {
      threads.close();
      feed.close();
    },
  };
}

test("A question for 20 threads costs what is shown, not what waits", async () => {
  const cost = async (count: number): Promise<number[]> => {
    await redis.flushall();
    await queueUp(count);
    using index = await openIndex();
    const costs: number[] = [];
    for (let round = 0; round < 5; round += 1)
      costs.push(await index.costOf(() => index.threads.query({ limit: 20 })));
    expect((await index.threads.query({ limit: 20 })).totals.waiting).toBe(count);
    costs.push(await index.costOf(() => index.threads.find(threadOf(count))));
    return costs;
  };
  // Six commands for each of 20 that are shown and of 50 others, and a few for all of them.
  const most = 6 * (20 + 50) + 15;
  expect(Math.max(...(await cost(200)))).toBeLessThan(most);
  expect(Math.max(...(await cost(1_200)))).toBeLessThan(most);
});

test("What nobody has told is seen in the threads that are shown at once, and by and by in all others", async () => {
  await queueUp(200);
  using index = await openIndex();
  const shown = async () => (await index.threads.query({ limit: 10 })).lines;
  expect((await shown())[0]).toMatchObject({ thread: threadOf(200), state: "waiting", place: 200 });
  const start = async (n: number) => {
    const lease = await claimSession(redis, threadOf(n));
    await lease.take({ type: "turn-start", turn: "t1", at: 1 });
  };
  await start(198);
  const states = (await shown()).map(({ state, place }) => place ?? state);
  expect(states.slice(0, 4)).toEqual([199, 198, "running", 197]);

  for (let n = 1; n <= 100; n += 1) await start(n);
  await expect
    .poll(async () => (await index.threads.query({ limit: 10 })).totals)
    .toMatchObject({ running: 101, waiting: 99 });
  expect((await shown())[0]?.place).toBe(99);
});
