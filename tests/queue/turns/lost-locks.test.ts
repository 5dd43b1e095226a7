import { afterAll, beforeAll, expect, test } from "vitest";
import { Queue } from "bullmq";
import { queueName, queuePrefix } from "../../../src/queue/redis/keys.ts";
import { createSlots } from "../../../src/queue/turns/slots.ts";
import { startTurnWorker } from "../../../src/queue/turns/turn-worker.ts";
import { openTurnQueue } from "../../../src/queue/turns/wake-queue.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test("A worker that loses the locks of its turns ends them, and tells so in one line", async () => {
  const redis = server.client();
  const queue = openTurnQueue(redis);
  const [running, ended] = [new Set<string>(), new Set<string>()];
  const [lines, errors]: [string[], unknown[]] = [[], []];
  const worker = await startTurnWorker({
    stopWaiting: async () => "more",
    ...{ redis, queue, concurrency: 2, lockMs: 2_000, sweepMs: 60_000 },
    slots: createSlots(redis, { perUser: 9, perChannel: 9, total: 9 }, (error) => errors.push(error)),
    async runSession(thread, signal) {
      running.add(thread);
      const { promise, resolve } = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => resolve());
      await promise;
      ended.add(thread);
      return "lost";
    },
    onProblem: (line) => lines.push(line),
    onError: (error) => errors.push(error),
  });
  await Promise.all(["memory:w:c:1", "memory:w:c:2"].map((thread) => queue.wake(thread)));
  await expect.poll(() => running.size).toBe(2);
  const jobs = await new Queue(queueName, { connection: redis, prefix: queuePrefix }).getActive();
  const locks = jobs.map(({ id }) => `${queuePrefix}:${queueName}:${id}:lock`);
  // As if other workers had taken them over while Redis did not answer. They hold them to the end.
  await redis.mset(...locks.flatMap((lock) => [lock, "another worker's"]));
  await expect.poll(() => ended.size, { timeout: 10_000 }).toBe(2);
  await worker.close();
  await queue.close();
  expect(lines).toEqual([expect.stringMatching(/^The locks of 2 turns have expired/)]);
  expect(errors).toEqual([]);
});
