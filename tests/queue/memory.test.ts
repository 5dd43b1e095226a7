import { afterAll, beforeAll, expect, test } from "vitest";
import type { UserMessage } from "../../src/agent/messages.ts";
import { deliver } from "../../src/queue/mailbox.ts";
import { claimSession } from "../../src/queue/session.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const options = { onlyIfSession: false, now: 1 };
const message = (id: string): UserMessage => ({
  role: "user",
  id,
  author: { id: "U1", name: "Ada" },
  text: "hi",
  at: 1,
});

test("A Redis without memory refuses a message aloud, keeps nothing of it, and takes it later", async ({
  skip,
}) => {
  if (server.server.kind === "embedded") skip("the embedded server has no limit of memory");
  const redis = server.client();
  const thread = "memory:w:c:t";
  await deliver(redis, thread, message("m1"), options);
  const lease = await claimSession(redis, thread);

  await redis.config("SET", "maxmemory", "1");
  await expect(deliver(redis, thread, message("m2"), options)).rejects.toThrow(/out of memory.*maxmemory/);
  await expect(lease.append([{ type: "turn-start", turn: "t", at: 1 }])).rejects.toThrow(/OOM/);
  await redis.config("SET", "maxmemory", "0");

  expect(await deliver(redis, thread, message("m2"), options)).toEqual({ kind: "accepted", position: 1 });
  const { taken } = await lease.take({ type: "turn-start", turn: "t", at: 1 });
  expect((await lease.read()).map(({ type }) => type)).toEqual(["turn-start", "user", "user"]);
  expect(taken.map(({ id }) => id)).toEqual(["m1", "m2"]);
});
