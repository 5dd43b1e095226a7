import { randomUUID } from "node:crypto";
import fc from "fast-check";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { keys } from "../../../../src/queue/redis/keys.ts";
import { claimSession } from "../../../../src/queue/session/claim.ts";
import {
  storeUnauthorized,
  storeUnauthorizedEdit,
} from "../../../../src/queue/session/mailbox/unauthorized.ts";
import { startRedis, type TestRedis } from "../../../fakes/redis.ts";

let server: TestRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = server.client();
});
afterAll(() => server.stop());

const gus = { id: "U9", name: "Gus" };
const quote = (text: string) => ({ author: gus, text, at: 1 });

async function openThread(): Promise<string> {
  const thread = `memory:w:c:${randomUUID().slice(0, 8)}`;
  await claimSession(redis, thread);
  return thread;
}

async function kept(thread: string): Promise<string[]> {
  const entries = await redis.lrange(keys.unauthorized(thread), 0, -1);
  return entries.map((entry) => {
    const { message, quote: said } = JSON.parse(entry);
    return `${message} ${said.text}`;
  });
}

test("What people without permission write is kept in its order, as often as they say, edit and delete it", async () => {
  const step = fc.record({ does: fc.constantFrom("say", "edit", "delete"), n: fc.nat(7), text: fc.nat(3) });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const thread = await openThread();
      let expected: { n: number; text: string }[] = [];
      const said = new Set<number>();
      for (const { does, n, text: of } of steps) {
        // Two may say the same.
        const text = `words ${of}`;
        if (does === "say") {
          await storeUnauthorized(redis, thread, `m${n}`, quote(text));
          if (!said.has(n)) expected.push({ n, text });
          said.add(n);
        } else {
          await storeUnauthorizedEdit(redis, thread, `m${n}`, quote(does === "edit" ? text : ""));
          expected = expected.flatMap((one) =>
            one.n === n ? (does === "edit" ? [{ n, text }] : []) : [one],
          );
        }
        expect(await kept(thread)).toEqual(expected.map((one) => `m${one.n} ${one.text}`));
      }
    }),
    { numRuns: 60 },
  );
});

test("The newest twenty are kept, for thirty days, and nothing where there is no session", async () => {
  const thread = await openThread();
  for (let n = 1; n <= 23; n += 1) await storeUnauthorized(redis, thread, `m${n}`, quote(`words ${n}`));
  const left = await kept(thread);
  expect(left).toHaveLength(20);
  expect([left[0], left.at(-1)]).toEqual(["m4 words 4", "m23 words 23"]);
  expect(await redis.ttl(keys.unauthorized(thread))).toBeGreaterThan(29 * 86_400);
  expect(await redis.ttl(keys.seen(thread, "m23"))).toBeGreaterThan(86_000);

  const none = "memory:w:c:none";
  await storeUnauthorized(redis, none, "m1", quote("words"));
  expect(await redis.exists(keys.unauthorized(none), keys.seen(none, "m1"))).toBe(0);
});
