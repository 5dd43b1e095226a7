import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { UserMessage } from "../../../src/agent/messages.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { deliver } from "../../../src/queue/session/mailbox/mailbox.ts";
import { createSlots, type SlotLimits } from "../../../src/queue/turns/slots.ts";
import { type SessionRunner, startTurnWorker } from "../../../src/queue/turns/turn-worker.ts";
import { openTurnQueue, type TurnQueue } from "../../../src/queue/turns/wake-queue.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
let queue: TurnQueue;
beforeAll(async () => {
  server = await startRedis();
  queue = openTurnQueue(server.client());
});
afterAll(async () => {
  await queue.close();
  await server.stop();
});

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  await server.client().flushall();
});

let messages = 0;

/** Somebody asks for something in a thread, now or by a schedule. */
async function asks(thread: string, from: "person" | "schedule"): Promise<void> {
  const message: UserMessage = {
    ...{ role: "user", id: `m${++messages}`, author: { id: "U1", name: "Ada" }, text: "hi", at: messages },
    ...(from === "schedule" && { scheduled: true }),
  };
  await deliver(server.client(), `memory:w:c:${thread}`, message, { onlyIfSession: false, now: messages });
  await queue.wake(`memory:w:c:${thread}`);
}

/** A worker that takes what waits in a thread, and waits there as long as `hold` says. */
async function work(concurrency: number, limits: Partial<SlotLimits>, hold: Promise<void>) {
  const redis = server.client();
  const order: string[] = [];
  const waiters = new Set<() => void>();
  const runner: SessionRunner = async (thread) => {
    // The sweeper may have woken it once more.
    if ((await redis.del(keys.mail(thread))) === 0) return "done";
    order.push(thread.slice("memory:w:c:".length));
    for (const check of waiters) check();
    await hold;
    return "done";
  };
  const problems: unknown[] = [];
  const onError = (error: unknown) => problems.push(error);
  const slots = createSlots(redis, { perUser: 9, perChannel: 9, total: 9, ...limits }, onError);
  const times = { lockMs: 30_000, sweepMs: 60_000 };
  const worker = await startTurnWorker({
    ...{
      redis: server.client(),
      queue,
      runSession: runner,
      endUnheldThread: async () => "more",
      slots,
      concurrency,
      ...times,
    },
    onError,
  });
  closers.push(() => worker.close());
  const took = (count: number) =>
    new Promise<string[]>((resolve) => {
      const check = () => void (order.length >= count && resolve(order));
      waiters.add(check);
      check();
    });
  return { took };
}

test("A schedule's turn is taken after those of people who came later", async () => {
  await asks("nightly", "schedule");
  await asks("ann", "person");
  await asks("bob", "person");
  const { took } = await work(1, {}, Promise.resolve());
  expect(await took(3)).toEqual(["ann", "bob", "nightly"]);
});

test("A person who writes into a thread with a waiting schedule takes it along to the front", async () => {
  await asks("nightly", "schedule");
  await asks("hourly", "schedule");
  await asks("hourly", "person");
  const { took } = await work(1, {}, Promise.resolve());
  expect(await took(2)).toEqual(["hourly", "nightly"]);
});

test("A schedule leaves the slot that becomes free to the person who waits for it", async () => {
  const { promise: hold, resolve: release } = Promise.withResolvers<void>();
  await asks("first", "person");
  const { took } = await work(10, { perUser: 1 }, hold);
  await took(1);
  const waiting = server.client();
  await asks("nightly", "schedule");
  await asks("ann", "person");
  // The person has been refused once, so that both of them wait.
  await expect.poll(() => waiting.zcard(keys.slotQueue("user:memory:w:U1"))).toBe(1);
  release();
  expect(await took(3)).toEqual(["first", "ann", "nightly"]);
});

/** Lets turns in as a worker does: `c1:U2` is one of U2 in channel c1. */
function intake(limits: Partial<SlotLimits>) {
  const redis = server.client();
  const onError = (error: unknown) => expect.unreachable(String(error));
  const slots = createSlots(redis, { perUser: 9, perChannel: 9, total: 9, ...limits }, onError);
  return {
    async enters(who: string, more: Partial<UserMessage> = {}) {
      const [channel = "", user = ""] = who.split(":");
      const thread = `memory:w:${channel}:t-${user}`;
      const said = { role: "user", author: { id: user, name: user }, text: "hi", ...more } as const;
      const message: UserMessage = { ...said, id: `m${++messages}`, at: messages };
      await deliver(redis, thread, message, { onlyIfSession: false, now: messages });
      const slot = await slots.enter(thread, messages);
      if (slot) closers.push(slot.leave);
      return slot;
    },
  };
}

const caps: [who: string, limit: Partial<SlotLimits>, first: string, second: string, other?: string][] = [
  ["one person", { perUser: 1 }, "c1:U1", "c2:U1", "c2:U2"],
  ["one channel", { perChannel: 1 }, "c1:U1", "c1:U2", "c2:U1"],
  ["everybody", { total: 1 }, "c1:U1", "c2:U2"],
];
test.each(caps)(
  "Turns of %s are capped, and the next one begins when one has ended",
  async (_who, limit, first, second, other) => {
    const { enters } = intake(limit);
    const slot = await enters(first);
    expect(await enters(second)).toBeUndefined();
    if (other) expect(await enters(other)).toBeDefined();
    await slot?.leave();
    expect(await enters(second)).toBeDefined();
  },
);

test("A slot that becomes free goes to who has waited longest, not to who happens to ask first", async () => {
  const { enters } = intake({ total: 1 });
  const slot = await enters("c1:U1");
  expect(await enters("c2:U2")).toBeUndefined();
  expect(await enters("c3:U3")).toBeUndefined();
  await slot?.leave();
  expect(await enters("c3:U3")).toBeUndefined();
  expect(await enters("c2:U2")).toBeDefined();
});

test("Many threads of one person that wait keep nobody else's schedule waiting", async () => {
  const { enters } = intake({ perUser: 1, total: 3 });
  await enters("c1:U1");
  for (const channel of ["c2", "c3", "c4"]) expect(await enters(`${channel}:U1`)).toBeUndefined();
  expect(await enters("c5:U2", { scheduled: true })).toBeDefined();
});

test("A sweep that takes long, or waits for a Redis that is away, is not joined by the next", async () => {
  const redis = server.client();
  await asks("forgotten", "person");
  let [sweeps, together, most] = [0, 0, 0];
  const { promise: enough, resolve } = Promise.withResolvers<void>();
  const wake = async () => {
    most = Math.max(most, (together += 1));
    await delay(20);
    together -= 1;
    if ((sweeps += 1) === 5) resolve();
  };
  const onError = (error: unknown) => expect.unreachable(String(error));
  const slots = createSlots(redis, { perUser: 9, perChannel: 9, total: 9 }, onError);
  const worker = await startTurnWorker({
    ...{ redis: server.client(), queue: { ...queue, wake }, runSession: async () => "done", slots, onError },
    endUnheldThread: async () => "more",
    ...{ concurrency: 1, lockMs: 30_000, sweepMs: 1 },
  });
  closers.push(() => worker.close());
  await enough;
  expect(most).toBe(1);
});
