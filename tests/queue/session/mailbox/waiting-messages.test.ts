import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { UserMessage } from "../../../../src/agent/messages.ts";
import { keys } from "../../../../src/queue/redis/keys.ts";
import { claimSession } from "../../../../src/queue/session/claim.ts";
import { deliver, readMailbox } from "../../../../src/queue/session/mailbox/mailbox.ts";
import { deleteMessage, editMessage } from "../../../../src/queue/session/mailbox/message-changes.ts";
import {
  listWaiting,
  moveWaiting,
  removeWaiting,
} from "../../../../src/queue/session/mailbox/waiting-messages.ts";
import { orderStop } from "../../../../src/queue/turns/stops.ts";
import { startRedis, type TestRedis } from "../../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const newThread = () => `memory:w:c:${randomUUID().slice(0, 8)}`;
const options = { onlyIfSession: false, now: 1 };
const ada = { id: "U1", name: "Ada" };
const message = (n: number): UserMessage => ({
  ...{ role: "user", id: `m${n}`, author: ada, text: "x".repeat(n + 1), at: n + 1 },
});
const start = { type: "turn-start", turn: "t", at: 1 } as const;

/** What people, turns and the platform do with the messages of a thread, a message by its number. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: fc.constant("deliver" as const), n: fc.nat(8) }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant("remove" as const), n: fc.nat(8) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant("move" as const),
      n: fc.nat(8),
      to: fc.integer({ min: 1, max: 10 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("delete" as const), n: fc.nat(8) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("edit" as const), n: fc.nat(8) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("take" as const), n: fc.constant(0) }) },
);

describe("What waits in a thread", () => {
  test("is taken in the order that people gave it, each message once or not at all", async () => {
    const redis = server.client();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const thread = newThread();
        const lease = await claimSession(redis, thread);
        let waiting: number[] = [];
        const seen = new Set<number>();
        const removed = new Set<number>();
        const deleted = new Set<number>();
        let edits = 0;
        for (const done of steps) {
          const { n } = done;
          const waits = waiting.includes(n);
          const others = waiting.filter((other) => other !== n);
          switch (done.does) {
            case "deliver":
              await deliver(redis, thread, message(n), options);
              if (!seen.has(n)) waiting = [...waiting, n];
              seen.add(n);
              break;
            case "remove":
              expect(await removeWaiting(redis, thread, `m${n}`)).toBe(
                waits ? "removed" : removed.has(n) ? "repeated" : "gone",
              );
              if (waits) removed.add(n);
              waiting = others;
              break;
            case "move": {
              const place = Math.min(done.to, waiting.length);
              expect(await moveWaiting(redis, thread, `m${n}`, done.to)).toEqual(
                waits ? { place, count: waiting.length } : undefined,
              );
              if (waits) waiting = others.toSpliced(place - 1, 0, n);
              break;
            }
            case "delete":
              // What a turn works on is stopped or corrected instead.
              if (seen.has(n) && !waits && !removed.has(n) && !deleted.has(n)) break;
              expect(await deleteMessage(redis, thread, { message: `m${n}`, author: ada, at: 99 })).toBe(
                waits ? "withdrawn" : deleted.has(n) ? "repeated" : "too-late",
              );
              if (waits) deleted.add(n);
              waiting = others;
              break;
            case "edit": {
              const text = "edited".repeat(edits);
              edits += 1;
              await editMessage(redis, thread, { message: `m${n}`, author: ada, at: 50 + edits, text });
              break;
            }
            case "take":
              // Corrections of what the turn works on come among them.
              expect(
                (await lease.take(start)).taken.map(({ id }) => id).filter((id) => !id.includes("~")),
              ).toEqual(waiting.map((taken) => `m${taken}`));
              waiting = [];
          }
          expect((await listWaiting(redis, thread)).map(({ id }) => id)).toEqual(
            waiting.map((left) => `m${left}`),
          );
          // By this a full mailbox is known.
          const entries = await redis.lrange(keys.mail(thread), 0, -1);
          const bytes = entries.reduce((sum, entry) => sum + entry.length, 0);
          expect(Number(await redis.hget(keys.head(thread), "mailBytes"))).toBe(bytes);
        }
      }),
      { numRuns: 25 },
    );
  });

  test("is removed by one of two who do so, or taken by the turn that begins, and never both", async () => {
    const [first, second] = [server.client(), server.client()];
    for (let round = 0; round < 10; round += 1) {
      const thread = newThread();
      const lease = await claimSession(first, thread);
      await deliver(first, thread, message(1), options);
      const [one, { taken }, another] = await Promise.all([
        removeWaiting(second, thread, "m1"),
        lease.take(start),
        removeWaiting(first, thread, "m1"),
      ]);
      const removals = [one, another].filter((removal) => removal === "removed");
      expect(removals.length + taken.length).toBe(1);
    }
  });

  test("keeps what an edit has made of it, and what a stop overtakes, wherever it was moved", async () => {
    const redis = server.client();
    const thread = newThread();
    for (const n of [1, 2, 3]) await deliver(redis, thread, message(n), options);
    await moveWaiting(redis, thread, "m3", 1);
    await editMessage(redis, thread, { message: "m3", author: ada, at: 9, text: "edited" });
    await deleteMessage(redis, thread, { message: "m1", author: ada, at: 9 });
    await orderStop(redis, thread, { by: "Bob", at: 3 });
    const { taken, withdrawn } = await (await claimSession(redis, thread)).take(start);
    expect(taken).toMatchObject([{ id: "m3", text: "edited" }]);
    expect(withdrawn).toMatchObject([{ id: "m2" }]);
  });

  test("does not come back when the platform tells of a removed message again", async () => {
    const redis = server.client();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    await removeWaiting(redis, thread, "m1");
    expect(await deliver(redis, thread, message(1), options)).toMatchObject({ kind: "duplicate" });
    expect(await readMailbox(redis, thread)).toEqual([]);
  });

  test("is no correction of a message that a turn works on", async () => {
    const redis = server.client();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    await (await claimSession(redis, thread)).take(start);
    await editMessage(redis, thread, { message: "m1", author: ada, at: 9, text: "edited" });
    expect(await readMailbox(redis, thread)).toHaveLength(1);
    expect(await listWaiting(redis, thread)).toEqual([]);
  });
});
