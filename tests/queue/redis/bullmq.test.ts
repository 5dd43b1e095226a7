import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Queue, QueueEvents, Worker } from "bullmq";
import { describe, expect, test } from "vitest";
import { connectRedis } from "../../../src/queue/redis/choose-server.ts";
import { startRedis } from "../../fakes/redis.ts";

describe.each([{ embedded: false }, { embedded: true }])("BullMQ on a server with %o", ({ embedded }) => {
  test("runs a job, a delayed one and a deduplicated one", async () => {
    const redis = await startRedis({ embedded });
    const queue = new Queue("jobs", { connection: redis.client(), prefix: "{test}" });
    const events = new QueueEvents("jobs", { connection: redis.client(), prefix: "{test}" });
    await events.waitUntilReady();
    const worker = new Worker("jobs", async (job) => job.data * 2, {
      connection: redis.client(),
      prefix: "{test}",
    });

    const once = { deduplication: { id: "one", keepLastIfActive: true } };
    const jobs = [
      await queue.add("now", 1),
      await queue.add("later", 2, { delay: 50 }),
      await queue.add("once", 3, once),
    ];
    expect(await Promise.all(jobs.map((job) => job.waitUntilFinished(events)))).toEqual([2, 4, 6]);

    await Promise.all([worker.close(), events.close(), queue.close()]);
    await redis.stop();
  });
});

test("a job on the embedded server waits for the next start", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "heddle-jobs-"));
  const log = { info: () => undefined, warn: () => undefined };
  const open = () => connectRedis({ dataDir, searchPath: "", log });

  const before = await open();
  const queue = new Queue("jobs", { connection: before.connect(), prefix: "{test}" });
  await queue.add("kept", { size: 7 });
  await queue.close();
  await before.close();

  const after = await open();
  const { promise: done, resolve } = Promise.withResolvers<unknown>();
  const connection = after.connect({ maxRetriesPerRequest: null });
  const worker = new Worker("jobs", async (job) => resolve(job.data), { connection, prefix: "{test}" });
  expect(await done).toEqual({ size: 7 });
  await worker.close();
  await after.close();
  await rm(dataDir, { recursive: true });
});
