import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addTransferredBytes } from "../../../src/queue/budgets/transferred-bytes.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import {
  type Allowance,
  createDayAllowance,
  type DayCounter,
} from "../../../src/sandbox/egress/allowance.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

const threadId = "slack:T1:C1:1700.1";

let server: TestRedis;
let counter: DayCounter;
beforeAll(async () => {
  server = await startRedis();
  const redis = server.client();
  counter = { add: (...bytes) => addTransferredBytes(redis, ...bytes) };
});
afterAll(() => server.stop());

const worker = (bytesPerDay: number, now: () => number): Allowance =>
  createDayAllowance({ threadId, counter, bytesPerDay, now });

test("All workers together move what a thread may move in a day, and no more", async () => {
  let day = 0;
  const pieces = fc.array(
    fc.record({ worker: fc.nat({ max: 2 }), bytes: fc.integer({ min: 1, max: 300 }) }),
    {
      minLength: 1,
      maxLength: 60,
    },
  );
  await fc.assert(
    fc.asyncProperty(pieces, fc.integer({ min: 1, max: 5_000 }), async (plan, bytesPerDay) => {
      day += 1;
      const workers = [0, 1, 2].map(() => worker(bytesPerDay, () => day * 86_400_000));
      let moved = 0;
      const take = async (index: number, bytes: number) => {
        if ((await workers[index]?.take(bytes)) === "granted") moved += bytes;
      };
      await Promise.all(plan.map((piece) => take(piece.worker, piece.bytes)));
      expect(moved).toBeLessThanOrEqual(bytesPerDay);
      for (const each of workers) await each.giveBack();
      const date = new Date(day * 86_400_000).toISOString().slice(0, 10);
      expect(Number(await server.client().get(keys.moved(threadId, date)))).toBe(moved);

      // The last byte can be had, and not one more.
      const last = worker(bytesPerDay, () => day * 86_400_000);
      if (bytesPerDay > moved) expect(await last.take(bytesPerDay - moved)).toBe("granted");
      expect(await last.take(1)).toBe("used up");
    }),
    { numRuns: 50 },
  );
});

test("A day has its own bytes, and its count is gone two days later", async () => {
  let time = Date.UTC(2031, 0, 1);
  const one = worker(1_000, () => time);
  expect(await one.take(1_000)).toBe("granted");
  expect(await one.take(0)).toBe("used up");
  expect(await server.client().ttl(keys.moved(threadId, "2031-01-01"))).toBeGreaterThan(86_400);
  time += 86_400_000;
  expect(await one.take(1_000)).toBe("granted");
});

test("What a counter that stands still was asked for is counted once, however often bytes are asked for", async () => {
  const asked: number[] = [];
  const goesOn = Promise.withResolvers<void>();
  const still: DayCounter = {
    async add(_thread, _day, bytes) {
      asked.push(bytes);
      await goesOn.promise;
      return asked.reduce((sum, each) => sum + each, 0);
    },
  };
  const options = { threadId, counter: still, bytesPerDay: 64_000, now: () => 0, answerWithinMs: 1 };
  const allowance = createDayAllowance(options);
  for (let times = 0; times < 3; times += 1) expect(await allowance.take(10)).toBe("unknown");
  goesOn.resolve();
  await expect.poll(() => allowance.take(10)).toBe("granted");
  await allowance.giveBack();
  expect(asked).toEqual([1_000, -990]);
});
