import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Queue, Worker } from "bullmq";
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

test("A worker that loses the locks of its turns goes on with them, tells so in one line, and ends them when it closes", async () => {
  const redis = server.client();
  const queue = openTurnQueue(redis);
  const [begun, ended]: [string[], string[]] = [[], []];
  const [lines, errors]: [string[], unknown[]] = [[], []];
  const worker = await startTurnWorker({
    endUnheldThread: async () => "more",
    ...{ redis, queue, concurrency: 9, lockMs: 2_000, sweepMs: 60_000 },
    slots: createSlots(redis, { perUser: 9, perChannel: 9, total: 9 }, (error) => errors.push(error)),
    async runSession(thread, signal) {
      begun.push(thread);
      const { promise, resolve } = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => resolve());
      await promise;
      ended.push(thread);
      return "handover";
    },
    onProblem: (line) => lines.push(line),
    onError: (error) => errors.push(error),
  });
  const threads = ["memory:w:c:1", "memory:w:c:2"];
  await Promise.all(threads.map((thread) => queue.wake(thread)));
  await expect.poll(() => begun.length).toBe(2);
  const jobs = await new Queue(queueName, { connection: redis, prefix: queuePrefix }).getActive();
  const locks = jobs.map(({ id }) => `${queuePrefix}:${queueName}:${id}:lock`);
  // As if other workers had been given their jobs while Redis did not answer.
  for (const lock of locks) await redis.set(lock, "another worker's", "PX", 1_500);
  const states = () => Promise.all(jobs.map((job) => job.getState()));
  // This worker was given them again, and has put them back.
  await expect.poll(states, { timeout: 30_000, interval: 10 }).toContain("delayed");
  expect([begun.toSorted(), ended]).toEqual([threads, []]);
  await worker.close();
  expect(ended.toSorted()).toEqual(threads);
  await queue.close();
  expect(lines).toEqual([expect.stringMatching(/^The locks of 2 turns have expired/)]);
  expect(errors).toEqual([]);
});

test("A turn that arrives while the worker closes is handed over, and not run to its end", async () => {
  const redis = server.client();
  await redis.flushall();
  const queue = openTurnQueue(redis);
  const errors: unknown[] = [];
  const slots = createSlots(redis, { perUser: 9, perChannel: 9, total: 9 }, (error) => errors.push(error));
  const begun: string[] = [];
  const first = Promise.withResolvers<"done">();
  let closed: Promise<void> | undefined;
  const worker = await startTurnWorker({
    endUnheldThread: async () => "more",
    ...{ redis, queue, concurrency: 1, lockMs: 30_000, sweepMs: 60_000 },
    slots: {
      enter: async (...given) => {
        const slot = await slots.enter(...given);
        return (
          slot && {
            async leave(how) {
              await slot.leave(how);
              // When the first one is being completed, with a command that brings the second one along.
              setImmediate(() => {
                closed ??= worker.close();
              });
            },
          }
        );
      },
    },
    async runSession(thread, signal) {
      begun.push(thread);
      if (begun.length === 1) return first.promise;
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return "handover";
    },
    onError: (error) => errors.push(error),
  });
  await queue.wake("memory:w:c:1");
  await expect.poll(() => begun.length).toBe(1);
  await queue.wake("memory:w:c:2");
  first.resolve("done");
  await expect.poll(() => closed !== undefined).toBe(true);
  await closed;
  const waiting = new Queue(queueName, { connection: redis, prefix: queuePrefix });
  expect(await waiting.getJobCounts("active", "delayed", "wait", "prioritized")).toMatchObject({ active: 0 });
  expect((await waiting.getJobs(["delayed", "wait", "prioritized"])).map(({ data }) => data)).toEqual([
    { thread: "memory:w:c:2" },
  ]);
  await waiting.close();
  await queue.close();
  expect(errors).toEqual([]);
}, 20_000);

test("What a worker with a faster clock hands over is taken at once by one whose clock is right", async () => {
  const redis = server.client();
  await redis.flushall();
  const queue = openTurnQueue(redis);
  const errors: unknown[] = [];
  const begun: string[] = [];
  const start = (name: string) =>
    startTurnWorker({
      endUnheldThread: async () => "more",
      ...{ redis, queue, concurrency: 9, lockMs: 30_000, sweepMs: 60_000 },
      slots: createSlots(redis, { perUser: 9, perChannel: 9, total: 9 }, (error) => errors.push(error)),
      async runSession(_thread, signal) {
        begun.push(name);
        if (name === "right") return "done";
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return "handover";
      },
      onError: (error) => errors.push(error),
    });
  const fast = await start("fast");
  await queue.wake("memory:w:c:1");
  await expect.poll(() => begun).toEqual(["fast"]);
  const clock = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 3_600_000);
  await fast.close();
  clock.mockRestore();
  const right = await start("right");
  await expect.poll(() => begun).toEqual(["fast", "right"]);
  await right.close();
  await queue.close();
  expect(errors).toEqual([]);
});

test("A thread that was set aside before the clock went back goes on with the next sweep", async () => {
  const redis = server.client();
  await redis.flushall();
  const queue = openTurnQueue(redis);
  const jobs = new Queue(queueName, { connection: redis, prefix: queuePrefix });
  await queue.wake("memory:w:c:1");
  await queue.wake("memory:w:c:2");
  // As a worker does for which there is no slot.
  const aside = new Worker(queueName, undefined, { connection: server.client(), prefix: queuePrefix });
  const [late, soon] = [await aside.getNextJob("a"), await aside.getNextJob("a")];
  await late?.moveToDelayed(Date.now() + 3_600_000, "a");
  await soon?.moveToDelayed(Date.now() + 5_000, "a");
  await aside.close();

  const errors: unknown[] = [];
  const begun: string[] = [];
  const worker = await startTurnWorker({
    endUnheldThread: async () => "more",
    ...{ redis, queue, concurrency: 9, lockMs: 30_000, sweepMs: 60_000 },
    slots: createSlots(redis, { perUser: 9, perChannel: 9, total: 9 }, (error) => errors.push(error)),
    async runSession(thread) {
      begun.push(thread);
      return "done";
    },
    onError: (error) => errors.push(error),
  });
  await expect.poll(() => begun).toEqual(["memory:w:c:1"]);
  expect(await jobs.getDelayedCount()).toBe(1);
  await worker.close();
  await jobs.close();
  await queue.close();
  expect(errors).toEqual([]);
});
