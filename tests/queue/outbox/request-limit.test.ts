import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createRequestLimit, type RequestLimitSettings } from "../../../src/queue/outbox/request-limit.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const settings = {
  ...{ most: 10, reserve: 4, windowMs: 60_000, mostInvalid: 3, invalidWindowMs: 60_000 },
};

/** Two processes of one bot. */
async function processes(changes: Partial<RequestLimitSettings> = {}) {
  const name = { platform: "discord", bot: randomUUID() };
  const open = async () => {
    const redis = server.client();
    await redis.ping();
    return createRequestLimit(redis, name, { ...settings, ...changes });
  };
  return [await open(), await open()] as const;
}

async function goes(asked: Promise<{ kind: string }[]>): Promise<number> {
  return (await asked).filter(({ kind }) => kind === "go").length;
}

test("All processes of a bot together send no more in a window than the platform takes", async () => {
  const [one, two] = await processes();
  const asked = Array.from({ length: 30 }, (_, n) => (n % 2 === 0 ? one : two).acquire(true));
  expect(await goes(Promise.all(asked))).toBe(10);
  const permit = await one.acquire(true);
  expect(permit).toMatchObject({ kind: "wait" });
  expect(permit.kind === "wait" && permit.ms).toBeGreaterThan(0);
  expect(permit.kind === "wait" && permit.ms).toBeLessThanOrEqual(60_000);
});

test("A bot may send again when what it has sent has left the window", async () => {
  const [one, two] = await processes({ most: 3, reserve: 0, windowMs: 200 });
  const sent: number[] = [];
  const send = async (limit: typeof one): Promise<void> => {
    for (;;) {
      const permit = await limit.acquire(true);
      if (permit.kind === "go") return void sent.push(Date.now());
      await new Promise((resolve) => setTimeout(resolve, permit.ms));
    }
  };
  const started = Date.now();
  await Promise.all(Array.from({ length: 9 }, (_, n) => send(n % 2 === 0 ? one : two)));
  expect(Date.now() - started).toBeGreaterThanOrEqual(395);
  expect(sent).toHaveLength(9);
});

test("What nobody waits for leaves room to what people wait for", async () => {
  const [one, two] = await processes();
  expect(await goes(Promise.all(Array.from({ length: 20 }, () => one.acquire(false))))).toBe(6);
  expect(await two.acquire(false)).toMatchObject({ kind: "wait" });
  expect(await goes(Promise.all(Array.from({ length: 20 }, () => two.acquire(true))))).toBe(4);
});

test("A pause that one process was told of holds back all of them, and the longest counts", async () => {
  const [one, two] = await processes();
  await one.pause(50_000);
  await two.pause(1_000);
  const permit = await two.acquire(true);
  expect(permit).toMatchObject({ kind: "paused" });
  expect(permit.kind === "paused" && permit.ms).toBeGreaterThan(40_000);
  // Another bot is another limit.
  const [other] = await processes();
  expect(await other.acquire(true)).toEqual({ kind: "go" });
});

test("After too many refusals nothing is asked until their window is over", async () => {
  const [one, two] = await processes();
  for (const limit of [one, two]) await limit.countInvalid();
  expect(await one.acquire(true)).toEqual({ kind: "go" });
  await one.countInvalid();
  const permit = await two.acquire(true);
  expect(permit).toMatchObject({ kind: "paused" });
  expect(permit.kind === "paused" && permit.ms).toBeGreaterThan(50_000);
});

test("A Redis that says nothing, or is gone, holds up no request", async () => {
  const redis = server.client();
  await redis.ping();
  const name = { platform: "discord", bot: randomUUID() };
  const limit = createRequestLimit(redis, name, { ...settings, patienceMs: 50 });
  expect(await limit.acquire(true)).toEqual({ kind: "go" });
  const operator = server.client();
  await operator.call("CLIENT", "PAUSE", "20000", "WRITE");
  try {
    expect(await Promise.all(Array.from({ length: 20 }, () => limit.acquire(true)))).toEqual(
      Array.from({ length: 20 }, () => ({ kind: "go" })),
    );
  } finally {
    await operator.call("CLIENT", "UNPAUSE");
  }
  redis.disconnect();
  expect(await limit.acquire(true)).toEqual({ kind: "go" });
  await limit.pause(1_000);
});
