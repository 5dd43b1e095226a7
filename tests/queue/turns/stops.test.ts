import { array, asyncProperty, assert as check, constantFrom, integer, record } from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { StopOrder } from "../../../src/agent/events.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { claimSession } from "../../../src/queue/session/claim.ts";
import { deliver } from "../../../src/queue/session/mailbox/mailbox.ts";
import { orderStop, watchStops, watchStopsWhenNeeded } from "../../../src/queue/turns/stops.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test("A stop is heard also when the word of it was lost on its way", async () => {
  const redis = server.client();
  const stops = await watchStops(redis, server.client(), () => undefined);
  const { promise, resolve } = Promise.withResolvers<StopOrder>();
  await stops.watch("memory:w:c:t", resolve);
  await redis.set(keys.stop("memory:w:c:t"), JSON.stringify({ by: "Bob", at: 1 }));
  expect(await promise).toEqual({ by: "Bob", at: 1 });
  await stops.close();
});

test("Stops are watched by the next who wants it where they could not be, and nothing is left open of the failure", async () => {
  const redis = server.client();
  await redis.call("ACL", "SETUSER", "deaf", "on", "nopass", "~*", "&*", "+@all", "-subscribe");
  const deaf = server.server.connect({ username: "deaf", password: "any" });
  const subscribers = [deaf, server.client()];
  const stops = watchStopsWhenNeeded(() =>
    watchStops(redis, subscribers.shift() ?? expect.unreachable(), () => undefined),
  );
  const heard: StopOrder[] = [];
  const watch = () => stops.watch("memory:w:c:t3", (order) => heard.push(order));
  await expect(watch()).rejects.toThrow("NOPERM");
  await expect.poll(() => deaf.status).toBe("end");
  await redis.set(keys.stop("memory:w:c:t3"), JSON.stringify({ by: "Bob", at: 1 }));
  await watch();
  // Over the same connection: there is no third.
  await watch();
  expect(heard[0]).toEqual({ by: "Bob", at: 1 });
});

test("Who could not look for a stop that was given before is not told of later ones either", async () => {
  const redis = server.client();
  const [thread, key] = ["memory:w:c:t4", keys.stop("memory:w:c:t4")];
  const stops = await watchStops(redis, server.client(), () => undefined);
  const heard: string[] = [];
  await redis.rpush(key, "not an order");
  await expect(stops.watch(thread, () => heard.push("who gave up"))).rejects.toThrow("WRONGTYPE");
  await redis.del(key);
  await redis.set(key, JSON.stringify({ by: "Bob", at: 1 }));
  await stops.watch(thread, () => heard.push("who watches"));
  expect(heard).toEqual(["who watches"]);
  await stops.close();
});

test("Of several stops the newest is heard, also when an older one is told after it", async () => {
  const redis = server.client();
  const thread = "memory:w:c:t2";
  const message = { role: "user", id: "m1", author: { id: "U1", name: "Ada" }, text: "go", at: 1 } as const;
  await deliver(redis, thread, message, { onlyIfSession: false, now: 1 });
  await orderStop(redis, thread, { by: "Bob", at: 9 });
  await orderStop(redis, thread, { by: "Eve", at: 5 });
  const stops = await watchStops(redis, server.client(), () => undefined);
  const heard: StopOrder[] = [];
  await stops.watch(thread, (order) => heard.push(order));
  expect(heard).toMatchObject([{ by: "Bob", at: 9 }]);
  await stops.close();
});

const messageAt = (id: string, at: number) =>
  ({ role: "user", id, author: { id: "U1", name: "Ada" }, text: "go", at }) as const;
const delivery = { onlyIfSession: false, now: 1 };

test("Of what comes in one instant, a stop withdraws what Redis took before it and nothing else", async () => {
  const redis = server.client();
  let threads = 0;
  const event = record({ kind: constantFrom("message", "stop"), at: integer({ min: 1, max: 3 }) });
  const property = asyncProperty(array(event, { minLength: 1, maxLength: 12 }), async (events) => {
    const thread = `memory:w:c:order${(threads += 1)}`;
    for (const [index, { kind, at }] of events.entries()) {
      if (kind === "message") await deliver(redis, thread, messageAt(`m${index}`, at), delivery);
      else await orderStop(redis, thread, { by: "Bob", at }, { id: `s${index}`, seconds: 60 });
    }
    const first = events.findIndex(({ kind }) => kind === "message");
    // Before there is anything to stop, a stop is not recorded.
    const isStopped = (index: number, at: number) =>
      events.some(
        (stop, when) =>
          stop.kind === "stop" && when > first && (stop.at > at || (stop.at === at && when > index)),
      );
    const messages = events.flatMap(({ kind, at }, index) =>
      kind === "message" ? [{ id: `m${index}`, stopped: isStopped(index, at) }] : [],
    );
    const lease = await claimSession(redis, thread);
    const { taken, withdrawn } = await lease.take({ type: "turn-start", turn: "1", at: 1 });
    expect({ taken: taken.map(({ id }) => id), withdrawn: withdrawn.map(({ id }) => id) }).toEqual({
      taken: messages.flatMap(({ id, stopped }) => (stopped ? [] : [id])),
      withdrawn: messages.flatMap(({ id, stopped }) => (stopped ? [id] : [])),
    });
  });
  await check(property, { numRuns: 150 });
});

test("A stop that is told again does not reach what was sent after it in the same instant", async () => {
  const redis = server.client();
  const thread = "memory:w:c:again";
  await deliver(redis, thread, messageAt("m1", 5), delivery);
  const action = { id: "s1", seconds: 60 };
  expect(await orderStop(redis, thread, { by: "Bob", at: 5 }, action)).toBe("ordered");
  await deliver(redis, thread, messageAt("m2", 5), delivery);
  expect(await orderStop(redis, thread, { by: "Bob", at: 5 }, action)).toBe("repeated");
  const { taken } = await (await claimSession(redis, thread)).take({ type: "turn-start", turn: "1", at: 1 });
  expect(taken.map(({ id }) => id)).toEqual(["m2"]);
});

test("Orders and messages of an older Heddle, which have no number, keep the rule that they had", async () => {
  const redis = server.client();
  const thread = "memory:w:c:old";
  await redis.set(keys.stop(thread), JSON.stringify({ by: "Bob", at: 5 }));
  await deliver(redis, thread, messageAt("m1", 5), delivery);
  await deliver(redis, thread, messageAt("m2", 6), delivery);
  await redis.rpush(keys.mail(thread), JSON.stringify({ type: "user", message: messageAt("m3", 5) }));
  const { taken } = await (await claimSession(redis, thread)).take({ type: "turn-start", turn: "1", at: 1 });
  expect(taken.map(({ id }) => id)).toEqual(["m2"]);
});

test("A stop that was given before does not reach what a host whose clock is behind plans or takes from outside", async () => {
  const [redis, thread] = [server.client(), "memory:w:c:t9"];
  const author = { id: "U1", name: "Ada" };
  const says = (id: string, at: number, more: { scheduled?: true } = {}) =>
    deliver(
      redis,
      thread,
      { role: "user", id, author, text: id, at, ...more },
      { onlyIfSession: false, now: at },
    );
  await says("task", 1_000);
  await orderStop(redis, thread, { by: "Bob", at: 31_000 });
  await says("alert", 2_000, { scheduled: true });
  await says("said before", 2_000);
  const { taken, withdrawn } = await (await claimSession(redis, thread)).take();
  expect([taken, withdrawn].map((some) => some.map(({ id }) => id))).toEqual([
    ["alert"],
    ["task", "said before"],
  ]);
});

test("A stop reaches what a host whose clock is ahead plans or takes from outside", async () => {
  const [redis, thread] = [server.client(), "memory:w:c:t10"];
  const author = { id: "U1", name: "Ada" };
  const at = Date.now() + 3_600_000;
  await deliver(
    redis,
    thread,
    { role: "user", id: "alert", author, text: "alert", at, scheduled: true },
    { onlyIfSession: false, now: at },
  );
  await orderStop(redis, thread, { by: "Bob", at: Date.now() + 1_000 });
  const { withdrawn } = await (await claimSession(redis, thread)).take();
  expect(withdrawn.map(({ id }) => id)).toEqual(["alert"]);
});
