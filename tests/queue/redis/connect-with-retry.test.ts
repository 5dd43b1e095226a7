import { afterAll, beforeAll, expect, test } from "vitest";
import { connectWithRetry } from "../../../src/queue/redis/connect-with-retry.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** Keeps the event loop from everything else, as a process does that starts on a slow machine. */
function computeFor(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end) void 0;
}

test("A refusal that arrived while the process was busy is named, and ends the wait in its shorter time", async () => {
  const said: string[] = [];
  const log = { info: (line: string) => said.push(line), warn: (line: string) => said.push(line) };
  const link = connectWithRetry(
    { options: { host: "127.0.0.1", port: 1 } },
    { patienceMs: 60_000, refusedMs: 1_100, mayBeLate: true, log },
  );
  computeFor(1_300);
  expect(await link).toEqual({ ok: false, cause: "connect ECONNREFUSED 127.0.0.1:1" });
  expect(said).toEqual([
    "Redis does not answer yet (connect ECONNREFUSED 127.0.0.1:1); waiting for up to 1.1 s.",
  ]);
});

test("A server is heard although the process was busy for longer than it waits", async () => {
  const log = { info: () => undefined, warn: () => undefined };
  const link = connectWithRetry(
    { options: { path: server.path } },
    { patienceMs: 1_000, mayBeLate: true, log },
  );
  computeFor(1_300);
  const heard = await link;
  if (heard.ok) heard.control.disconnect();
  expect(heard.ok).toBe(true);
});
