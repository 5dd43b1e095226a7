import { afterAll, beforeAll, expect, test } from "vitest";
import { createThreadCatalog } from "../../src/operations/thread-catalog.ts";
import { keys } from "../../src/queue/redis/keys.ts";
import { deliver } from "../../src/queue/session/mailbox.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const threadOf = (n: number) => `memory:w:c:t${n}`;

/** Somebody says something in a thread. */
async function speak(n: number, at: number): Promise<void> {
  const redis = server.client();
  const author = { id: "U1", name: "Ada" };
  const message = { role: "user", id: `m${at}`, author, text: `Task ${n}`, at } as const;
  await deliver(redis, threadOf(n), message, { onlyIfSession: false, now: at });
  await redis.zadd(keys.threads, at, threadOf(n));
}

/** How often a command was sent to Redis. */
async function countCalls(command: string): Promise<number> {
  const stats = await server.client().info("commandstats");
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

test("The list of threads is read whole once, and then what is new in it or was taken out", async () => {
  let now = 10_000_000;
  for (let n = 1; n <= 20; n += 1) await speak(n, n * 100_000);
  const catalog = createThreadCatalog(server.client(), () => now);
  const list = async () => (await catalog.lines()).map(({ thread }) => thread);
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
  await server.client().zrem(keys.threads, threadOf(21));
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
