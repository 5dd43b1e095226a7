import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { UserMessage } from "../../../../src/agent/messages.ts";
import { keys } from "../../../../src/queue/redis/keys.ts";
import { claimSession } from "../../../../src/queue/session/claim.ts";
import { deliver, readMailboxEnds } from "../../../../src/queue/session/mailbox/mailbox.ts";
import { orderStop } from "../../../../src/queue/turns/stops.ts";
import { openTurnQueue } from "../../../../src/queue/turns/wake-queue.ts";
import { startRedis, type TestRedis } from "../../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const newThread = () => `memory:w:c:${randomUUID().slice(0, 8)}`;
const options = { onlyIfSession: false, now: 1 };
const message = (n: number, text = "hi"): UserMessage => ({
  ...{ role: "user", id: `m${n}`, author: { id: "U1", name: "Ada" }, text, at: n },
});
const start = { type: "turn-start", turn: "t", at: 1 } as const;

async function fill(redis: Redis, thread: string, count: number, more: Partial<UserMessage> = {}) {
  const lines = Array.from({ length: count }, (_, n) =>
    JSON.stringify({ type: "user", message: { ...message(n), ...more } }),
  );
  await redis.rpush(keys.mail(thread), ...lines);
}

describe("A mailbox", () => {
  test("takes a message at the same cost however much waits in it", async ({ skip }) => {
    if (server.server.kind === "embedded") skip("the embedded server has no such figures");
    const redis = server.client();
    const queue = openTurnQueue(redis);
    try {
      const costs = [];
      for (const waiting of [200, 10_000]) {
        const thread = newThread();
        await fill(redis, thread, waiting);
        await deliver(redis, thread, message(-1), { ...options, mayOverflow: true });
        await queue.wake(thread);
        await redis.config("RESETSTAT");
        for (let n = 0; n < 30; n += 1) {
          await deliver(redis, thread, message(waiting + n), { ...options, mayOverflow: true });
          await queue.wake(thread);
        }
        const stats = await redis.info("everything");
        const [, sent] = /total_net_output_bytes:(\d+)/.exec(stats) ?? [];
        const [, scripts] = /cmdstat_evalsha:calls=\d+,usec=(\d+)/.exec(stats) ?? [];
        costs.push({ sent: Number(sent), scripts: Number(scripts) });
      }
      const [few, many] = costs;
      expect(many?.sent).toBeLessThan(1.5 * (few?.sent ?? 0));
      // Times on a busy machine: fifty times as much waits.
      expect(many?.scripts).toBeLessThan(10 * (few?.scripts ?? 0));
    } finally {
      await queue.close();
    }
  });

  test("holds so many messages and no more, until a turn has taken some", async () => {
    const redis = server.client();
    const thread = newThread();
    await fill(redis, thread, 1_000);
    expect(await deliver(redis, thread, message(2_000), options)).toEqual({ kind: "full" });
    const lease = await claimSession(redis, thread);
    await lease.take(start);
    expect(await deliver(redis, thread, message(2_000), options)).toMatchObject({ kind: "accepted" });
  });

  test("holds so many bytes and no more, but always one message, until a turn has taken some", async () => {
    const redis = server.client();
    const thread = newThread();
    const large = "x".repeat(1_500_000);
    for (const n of [1, 2]) {
      expect(await deliver(redis, thread, message(n, large), options)).toMatchObject({ kind: "accepted" });
    }
    expect(await deliver(redis, thread, message(3, large), options)).toEqual({ kind: "full" });
    expect(await deliver(redis, thread, message(3), options)).toMatchObject({ kind: "accepted" });
    const lease = await claimSession(redis, thread);
    expect((await lease.take(start)).taken).toHaveLength(1);
    expect(await deliver(redis, thread, message(4, large), options)).toMatchObject({ kind: "accepted" });
    await lease.take();
    await lease.take();
    const huge = message(5, "x".repeat(5_000_000));
    await lease.take();
    expect(await deliver(redis, thread, huge, options)).toMatchObject({ kind: "accepted" });
  });

  test("of thousands of messages is taken in parts, each once and in order", async () => {
    const redis = server.client();
    const thread = newThread();
    await fill(redis, thread, 1_030);
    const lease = await claimSession(redis, thread);
    const parts: string[][] = [];
    for (let begin: typeof start | undefined = start; ; begin = undefined) {
      const { taken } = await lease.take(begin);
      if (taken.length === 0) break;
      parts.push(taken.map(({ id }) => id));
    }
    expect(parts.map(({ length }) => length)).toEqual([...Array<number>(10).fill(100), 30]);
    expect(parts.flat()).toEqual(Array.from({ length: 1_030 }, (_, n) => `m${n}`));
  });

  test("is emptied by a stop of all that is older, however much waits, and keeps the rest in order", async () => {
    const redis = server.client();
    const thread = newThread();
    await fill(redis, thread, 500);
    await orderStop(redis, thread, { by: "Bob", at: 299 });
    const { taken, withdrawn } = await (await claimSession(redis, thread)).take(start);
    expect(withdrawn).toHaveLength(300);
    expect(taken.map(({ id }) => id)).toEqual(Array.from({ length: 100 }, (_, n) => `m${300 + n}`));
    expect(await redis.llen(keys.mail(thread))).toBe(100);
  });

  test.each([
    [0, { length: 0, first: 0, hidden: 0 }],
    [99, { length: 99, first: 99, hidden: 0 }],
    [100, { length: 100, first: 100, hidden: 0 }],
    [130, { length: 130, first: 100, hidden: 0 }],
    [151, { length: 150, first: 100, hidden: 1 }],
    [900, { length: 150, first: 100, hidden: 750 }],
  ])("of %i messages is looked into at both ends", async (count, { length, ...ends }) => {
    const redis = server.client();
    const thread = newThread();
    if (count > 0) await fill(redis, thread, count);
    const { messages, ...found } = await readMailboxEnds(redis, thread);
    expect(found).toEqual(ends);
    expect(messages).toHaveLength(length);
    expect(messages.at(-1)?.id).toBe(count > 0 ? `m${count - 1}` : undefined);
  });
});
