import { expect, test } from "vitest";
import { isAlive, startHeartbeat } from "../../../src/queue/heartbeat.ts";
import { keys } from "../../../src/queue/keys.ts";
import { call } from "./requests.ts";
import { startConsole } from "./start-console.ts";

const onError = (error: unknown) => {
  throw error;
};

test("/healthz answers everybody, also where the console needs its token", async () => {
  await using console = await startConsole({ host: "0.0.0.0", token: "correct-horse-battery" });
  const { status, json } = await call(console.url, "/healthz", { headers: { host: "10.0.0.7:8420" } });
  expect([status, json()]).toEqual([200, { alive: true }]);
  expect((await call(console.url, "/healthz", { method: "POST" })).status).toBe(404);
});

test("/readyz waits for a worker; a gateway's own heartbeat is not enough", async () => {
  await using console = await startConsole();
  const redis = console.redis.client();
  const gateway = await startHeartbeat({ redis, host: "gateway-1", worker: false, onError });
  const without = await call(console.url, "/readyz");
  expect([without.status, without.body]).toEqual([503, expect.stringContaining("No worker serves")]);

  const worker = await startHeartbeat({ redis, host: "worker-1", worker: true, onError });
  expect((await call(console.url, "/readyz")).status).toBe(200);
  expect(await isAlive(redis, "worker-1")).toBe(true);
  expect(await isAlive(redis, "worker-2")).toBe(false);
  await Promise.all([gateway.close(), worker.close()]);
});

test("whoever stops beating is forgotten after 15 s", async () => {
  await using console = await startConsole();
  const redis = console.redis.client();
  await (await startHeartbeat({ redis, host: "worker-1", worker: true, onError })).close();
  for (const key of [keys.alive("worker-1"), keys.workerAlive]) expect(await redis.ttl(key)).toBe(15);
});

test("/readyz says without waiting for Redis that it does not answer", async ({ skip }) => {
  await using console = await startConsole();
  skip(console.redis.server.kind === "embedded", "the embedded server cannot be paused");
  await console.redis.client().client("PAUSE", 1_200);
  const { status, body } = await call(console.url, "/readyz");
  expect([status, body]).toEqual([503, expect.stringContaining("Redis does not answer")]);
  expect((await call(console.url, "/healthz")).status).toBe(200);
});
