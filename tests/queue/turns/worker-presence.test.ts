import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { hasWorker, readPresence, startPresence } from "../../../src/queue/turns/worker-presence.ts";
import { startRedis } from "../../fakes/redis.ts";
import { startSlowRelay } from "../../fakes/slow-relay.ts";

test("Over a slow network, many workers are found as fast as one", async () => {
  const server = await startRedis();
  const redis = server.client();
  const onError = (error: unknown) => {
    throw error;
  };
  const workers = await Promise.all(
    Array.from({ length: 8 }, (_, n) => startPresence({ redis, describe: () => ({ n }), onError })),
  );
  const relay = await startSlowRelay({ path: server.path }, 200);
  const distant = new Redis(relay.port, "127.0.0.1");
  await distant.ping();
  const before = performance.now();
  expect(await hasWorker(distant)).toBe(true);
  // Two round trips: the set, and all of its members.
  expect(performance.now() - before).toBeLessThan(700);
  expect(await readPresence(distant)).toHaveLength(8);
  distant.disconnect();
  relay.close();
  await Promise.all(workers.map((worker) => worker.close()));
  await server.stop();
});
