import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { InboundEvent } from "../../src/chat/inbound.ts";
import { markRefused } from "../../src/intake/repeated-refusals.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const place = { platform: "memory", workspace: "w", channel: "c" };
const about = () => ({
  ...{ thread: { ...place, thread: "1" }, ref: { ...place, message: randomUUID() } },
  author: { id: "U1", name: "Eve", standing: "guest", roles: [] } as const,
});
const message = (): InboundEvent => ({
  ...{ ...about(), kind: "message", text: "hi", attachments: [], addressed: "mention", at: 1 },
  author: { ...about().author, roles: [] },
});

test("A refusal counts once, however often the event is delivered; another button of the message is another", async () => {
  const redis = server.client();
  const event = message();
  expect([await markRefused(redis, event), await markRefused(redis, event)]).toEqual([true, false]);
  const pressed = about();
  const press = (action: string, at: number): InboundEvent => ({
    ...{ ...pressed, kind: "action", action, at },
    author: { ...pressed.author, roles: [] },
  });
  const told = [];
  for (const each of [press("a", 1), press("a", 1), press("b", 1), press("a", 2)])
    told.push(await markRefused(redis, each));
  expect(told).toEqual([true, false, true, true]);
});

test("A refusal that cannot be recorded is told all the same where memory is full, and fails where Redis is gone", async () => {
  const redis = server.client();
  await redis.config("SET", "maxmemory-policy", "noeviction");
  await redis.config("SET", "maxmemory", "1");
  const event = message();
  try {
    expect([await markRefused(redis, event), await markRefused(redis, event)]).toEqual([true, true]);
  } finally {
    await redis.config("SET", "maxmemory", "0");
  }
  redis.disconnect();
  await expect(markRefused(redis, event)).rejects.toThrow("Connection is closed");
});
