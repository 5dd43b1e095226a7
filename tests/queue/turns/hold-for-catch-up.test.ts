import { afterAll, beforeAll, expect, test } from "vitest";
import { keys } from "../../../src/queue/redis/keys.ts";
import { createDowntime } from "../../../src/queue/session/gateway-last-seen.ts";
import { createCatchUpHold } from "../../../src/queue/turns/hold-for-catch-up.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const never = new AbortController().signal;
const forever = 600_000;

/** A workspace of its own, where a gateway listened and does not any more. */
async function deserted(workspace: string) {
  const redis = server.client();
  const downtime = createDowntime(redis, Date.now);
  await downtime.markListening("chat", [workspace]);
  await downtime.markAway("chat", [workspace]);
  return { redis, downtime, thread: `chat:${workspace}:c:t` };
}

/** Whether the wait is over, once everything else has had its turn. */
async function isOver(wait: Promise<unknown>): Promise<boolean> {
  return Promise.race([
    wait.then(() => true),
    server
      .client()
      .ping()
      .then(() => false),
  ]);
}

test("An interrupted turn waits until a gateway has looked for what it missed", async () => {
  const { redis, downtime, thread } = await deserted("w1");
  const wait = createCatchUpHold(redis, forever).wait(thread, true, never);
  expect(await isOver(wait)).toBe(false);
  await downtime.markListening("chat", ["other"]);
  expect(await isOver(wait)).toBe(false);
  await downtime.markListening("chat", ["w1"]);
  expect(await wait).toBe(true);
});

test("So does the first new turn of a workspace, for a message that waited may have been stopped", async () => {
  const { redis, downtime, thread } = await deserted("w2");
  const hold = createCatchUpHold(redis, forever);
  const wait = hold.wait(thread, false, never);
  expect(await isOver(wait)).toBe(false);
  await downtime.markListening("chat", ["w2"]);
  await wait;
  await downtime.markAway("chat", ["w2"]);
  expect(await hold.wait(thread, false, never)).toBe(false);
});

test("When no gateway comes, the turn goes on after its time", async () => {
  const { redis, thread } = await deserted("w3");
  expect(await createCatchUpHold(redis, 100).wait(thread, true, never)).toBe(true);
  // For everybody who comes later too, as long as nobody begins anew.
  expect(await createCatchUpHold(redis, 0).wait(thread, true, never)).toBe(true);
});

test("A worker that ends waits no longer", async () => {
  const { redis, thread } = await deserted("w4");
  const ending = new AbortController();
  const wait = createCatchUpHold(redis, forever).wait(thread, true, ending.signal);
  expect(await isOver(wait)).toBe(false);
  ending.abort();
  expect(await wait).toBe(true);
});

test("A gateway that begins has not heard what came before, whatever the last one said", async () => {
  const { redis, downtime, thread } = await deserted("w5");
  await downtime.markListening("chat", ["w5"]);
  const hold = createCatchUpHold(redis, forever);
  expect(await hold.wait(thread, true, never)).toBe(true);
  await downtime.markAway("chat");
  expect(await isOver(hold.wait(thread, true, never))).toBe(false);
});

test("Nothing is waited for where a gateway lives, and where a platform loses nothing", async () => {
  const { redis, downtime, thread } = await deserted("w6");
  await downtime.markListening("chat", ["w6"]);
  const hold = createCatchUpHold(redis, forever);
  expect(await hold.wait(thread, true, never)).toBe(true);
  expect(await hold.wait("local:c:c:t", true, never)).toBe(false);
});

test("A gateway that was killed is taken to listen for less than the time after which its turns go on", async () => {
  const { redis, downtime } = await deserted("w7");
  await downtime.markListening("chat", ["w7"]);
  const until = Number(await redis.hget(keys.listening("chat"), "w7"));
  const [seconds] = await redis.time();
  // BullMQ renews a lock of fifteen seconds after half of them.
  expect(until - Number(seconds) * 1_000).toBeLessThan(7_500);
});
