import { expect, test } from "vitest";
import { keys } from "../../../../src/queue/redis/keys.ts";
import { isAlive, startHeartbeat, startPresence } from "../../../../src/queue/turns/worker-presence.ts";
import { call } from "../requests.ts";
import { startConsole } from "../start-console.ts";

const onError = (error: unknown) => {
  throw error;
};

test("/healthz answers everybody, also where the console needs its token", async () => {
  await using console = await startConsole({ host: "0.0.0.0", token: "correct-horse-battery" });
  const { status, json } = await call(console.url, "/healthz", { headers: { host: "10.0.0.7:8420" } });
  expect([status, json()]).toEqual([200, { alive: true, instance: "the-loom" }]);
  expect((await call(console.url, "/healthz", { method: "POST" })).status).toBe(404);
});

test.each(["/", "/healthz"])("HEAD of %s is answered as GET is, without the body", async (path) => {
  await using console = await startConsole();
  const [get, head] = await Promise.all(["GET", "HEAD"].map((method) => call(console.url, path, { method })));
  expect(head).toMatchObject({ status: 200, body: "" });
  expect(head?.headers["content-type"]).toBe(get?.headers["content-type"]);
});

test("/readyz waits for a worker; a gateway's own heartbeat is not enough", async () => {
  await using console = await startConsole();
  const redis = console.redis.client();
  const gateway = await startHeartbeat({ redis, instance: "gateway-1", onError });
  const without = await call(console.url, "/readyz");
  expect([without.status, without.body]).toEqual([503, expect.stringContaining("No worker serves")]);

  const worker = await startPresence({ redis, describe: () => ({}), onError });
  expect((await call(console.url, "/readyz")).status).toBe(200);
  await worker.close();
  expect((await call(console.url, "/readyz")).status).toBe(503);
  expect(await isAlive(redis, "gateway-1")).toBe(true);
  expect(await isAlive(redis, "gateway-2")).toBe(false);
  await gateway.close();
});

test("/readyz says what the embedded server does not promise", async () => {
  await using console = await startConsole();
  const worker = await startPresence({ redis: console.redis.client(), describe: () => ({}), onError });
  console.status.redis = "system";
  expect((await call(console.url, "/readyz")).json()).toEqual({ ready: true });
  console.status.redis = "embedded";
  expect((await call(console.url, "/readyz")).json()).toEqual({
    ready: true,
    redis: expect.stringMatching(/power loss may take up to a second.*one machine only/),
  });
  await worker.close();
});

test("whoever stops beating is forgotten after 15 s", async () => {
  await using console = await startConsole();
  const redis = console.redis.client();
  const gateway = await startHeartbeat({ redis, instance: "gateway-1", onError });
  const worker = await startPresence({ redis, describe: () => ({}), onError });
  const [id = ""] = await redis.smembers(keys.workers);
  for (const key of [keys.alive("gateway-1"), keys.worker(id)]) {
    const seconds = await redis.ttl(key);
    expect(seconds).toBeGreaterThan(5);
    expect(seconds).toBeLessThanOrEqual(15);
  }
  await Promise.all([gateway.close(), worker.close()]);
});

test("workers that died without a word leave the list by themselves, also the last of them", async () => {
  await using console = await startConsole();
  const redis = console.redis.client();
  await redis.sadd(keys.workers, "dead-1", "dead-2", "dead-3");
  const worker = await startPresence({ redis, describe: () => ({}), onError });
  expect(await redis.smembers(keys.workers)).toEqual([expect.not.stringContaining("dead")]);
  const seconds = await redis.ttl(keys.workers);
  expect(seconds).toBeGreaterThan(15);
  expect(seconds).toBeLessThanOrEqual(60);
  await worker.close();
});

test("/readyz says without waiting for Redis that it does not answer", async ({ skip }) => {
  await using console = await startConsole();
  skip(console.redis.server.kind === "embedded", "the embedded server cannot be held up");
  const [, pid] = /^process_id:(\d+)/m.exec(await console.redis.client().info("server")) ?? [];
  process.kill(Number(pid), "SIGSTOP");
  try {
    const { status, body } = await call(console.url, "/readyz");
    expect([status, body]).toEqual([503, expect.stringContaining("Redis does not answer")]);
    expect((await call(console.url, "/healthz")).status).toBe(200);
  } finally {
    process.kill(Number(pid), "SIGCONT");
  }
});
