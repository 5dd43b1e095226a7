import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { keys } from "../../../src/queue/redis/keys.ts";
import { deliver } from "../../../src/queue/session/mailbox/mailbox.ts";
import {
  countAhead,
  createSlots,
  holdsSlot,
  leaveSlotQueues,
  type SlotLimits,
} from "../../../src/queue/turns/slots.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = server.client();
});
afterAll(() => server.stop());

beforeEach(() => {
  // Renewals come when a test says so.
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(async () => {
  vi.useRealTimers();
  await redis.flushall();
});

/** After this time a worker renews the slot of its turn, ms. */
const renewMs = 20_000;
const many: SlotLimits = { perUser: 9, perChannel: 9, total: 9 };
const onError = (error: unknown) => expect.unreachable(String(error));

let messages = 0;
async function asks(thread: string, user: string, more: { scheduled?: true } = {}): Promise<void> {
  const author = { id: user, name: user };
  const message = { role: "user", id: `m${++messages}`, author, text: "hi", at: messages, ...more } as const;
  await deliver(redis, thread, message, { onlyIfSession: false, now: messages });
}

/** `c1:U2` is a thread of its own in the channel c1 for which U2 asks. Asked again, it is the same. */
function opened(limits: Partial<SlotLimits>) {
  const slots = createSlots(redis, { ...many, ...limits }, onError);
  const known = new Set<string>();
  return async (name: string, since = 1, scheduled?: "scheduled") => {
    const [channel = "", user = ""] = name.split(":");
    const thread = `memory:w:${channel}:${name.replace(":", "-")}`;
    if (!known.has(name)) await asks(thread, user, scheduled && { scheduled: true });
    known.add(name);
    return slots.enter(thread, since);
  };
}

const waitsIn = async (place: string) => ({
  line: await redis.zrange(keys.slotQueue(place), "0", "-1"),
  asked: await redis.zrange(keys.slotAsked(place), "0", "-1"),
});

describe("A place", () => {
  test.for([
    ["all workers", { total: 2 }, ["c1:U1", "c2:U2", "c3:U3"]],
    ["a channel", { perChannel: 2 }, ["c1:U1", "c1:U2", "c1:U3"]],
    ["a person", { perUser: 2 }, ["c1:U1", "c2:U1", "c3:U1"]],
  ] as const)(
    "of %s lets in as many as its limit, and another one when one has left",
    async ([, limits, [a, b, c]]) => {
      const enter = opened(limits);
      const first = await enter(a);
      expect(await enter(b)).toBeDefined();
      expect(await enter(c)).toBeUndefined();
      await first?.leave();
      expect(await enter(c)).toBeDefined();
    },
  );

  test("keeps the slot of a thread that asks once more while it is full", async () => {
    const enter = opened({ total: 1 });
    await enter("c1:U1");
    expect(await enter("c1:U1")).toBeDefined();
    expect(await enter("c2:U2")).toBeUndefined();
  });

  test("has room again when a worker that died has not renewed its slot for a minute", async () => {
    const enter = opened({ total: 1 });
    await enter("c1:U1");
    const [, expires = ""] = await redis.zrange(keys.slots("all"), "0", "-1", "WITHSCORES");
    expect(Math.abs(Number(expires) - Date.now() - 60_000)).toBeLessThan(30_000);
    const ttl = await redis.pttl(keys.slots("all"));
    expect(ttl).toBeGreaterThan(30_000);
    expect(ttl).toBeLessThanOrEqual(60_000);
    await redis.zadd(keys.slots("all"), 1, "memory:w:c1:c1-U1");
    expect(await enter("c2:U2")).toBeDefined();
    expect(await holdsSlot(redis, "memory:w:c1:c1-U1")).toBe(false);
    expect(await holdsSlot(redis, "memory:w:c2:c2-U2")).toBe(true);
  });

  test("holds up nobody for one that waited there and asks no more", async () => {
    const enter = opened({ total: 1 });
    const first = await enter("c1:U1");
    expect(await enter("c2:U2", 1)).toBeUndefined();
    for (const key of [keys.slotQueue("all"), keys.slotAsked("all")]) {
      const ttl = await redis.pttl(key);
      expect(ttl).toBeGreaterThan(0);
      expect(ttl).toBeLessThanOrEqual(2_000);
    }
    await redis.zadd(keys.slotAsked("all"), 1, "memory:w:c2:c2-U2");
    await first?.leave();
    expect(await enter("c3:U3", 2)).toBeDefined();
    expect(await waitsIn("all")).toEqual({ line: [], asked: [] });
  });
});

describe("A thread that waits for a slot", () => {
  test("waits in the narrowest of the full places only, and moves when that is another one", async () => {
    const enter = opened({ total: 2, perChannel: 1, perUser: 1 });
    const own = await enter("c1:U1");
    await enter("c2:U2");
    const thread = "memory:w:c2:c2-U1";
    expect(await enter("c2:U1")).toBeUndefined();
    const nobody = { line: [], asked: [] };
    expect(await waitsIn("user:memory:w:U1")).toEqual({ line: [thread], asked: [thread] });
    expect([await waitsIn("channel:memory:w:c2"), await waitsIn("all")]).toEqual([nobody, nobody]);
    await own?.leave();
    expect(await enter("c2:U1")).toBeUndefined();
    expect(await waitsIn("user:memory:w:U1")).toEqual(nobody);
    expect(await waitsIn("channel:memory:w:c2")).toEqual({ line: [thread], asked: [thread] });
  });

  test("keeps its place when it asks for a later turn, and has left the line when it is in", async () => {
    const enter = opened({ total: 1 });
    const first = await enter("c1:U1");
    await enter("c2:U2", 10);
    await enter("c3:U3", 20);
    await enter("c2:U2", 30);
    await first?.leave();
    expect(await enter("c3:U3", 20)).toBeUndefined();
    expect(await enter("c2:U2", 30)).toBeDefined();
    expect((await waitsIn("all")).line).toEqual(["memory:w:c3:c3-U3"]);
  });

  test("is passed by nobody who came later while there is room for one only", async () => {
    const enter = opened({ total: 2 });
    const first = await enter("c1:U1");
    await enter("c2:U2");
    await enter("c3:U3", 10);
    await first?.leave();
    expect(await enter("c4:U4", 20)).toBeUndefined();
    await (await enter("c3:U3", 10))?.leave();
    expect(await enter("c4:U4", 20)).toBeDefined();
  });

  test("by a schedule stands in no line, and comes after every person who does", async () => {
    const enter = opened({ total: 1 });
    const first = await enter("c1:U1");
    expect(await enter("c2:U2", 1, "scheduled")).toBeUndefined();
    expect(await waitsIn("all")).toEqual({ line: [], asked: [] });
    await enter("c3:U3", 20);
    await first?.leave();
    expect(await enter("c2:U2")).toBeUndefined();
    await (await enter("c3:U3", 20))?.leave();
    expect(await enter("c2:U2")).toBeDefined();
  });

  test("lets those behind it move up when it is taken out of the lines", async () => {
    const enter = opened({ perUser: 1, perChannel: 1 });
    const first = await enter("c1:U1");
    await enter("c1:U2", 10);
    await enter("c2:U1", 10);
    await leaveSlotQueues(redis, "memory:w:c1:c1-U2", new Set());
    await leaveSlotQueues(redis, "memory:w:c2:c2-U1", new Set(["U1"]));
    for (const place of ["channel:memory:w:c1", "user:memory:w:U1"])
      expect(await waitsIn(place)).toEqual({ line: [], asked: [] });
    await first?.leave();
    expect(await enter("c1:U3", 20)).toBeDefined();
  });
});

describe("A slot", () => {
  test("counts for the first person who waits in the thread, or else for who scheduled the first task", async () => {
    const slots = createSlots(redis, many, onError);
    const taken = async (user: string) => redis.zrange(keys.slots(`user:memory:w:${user}`), "0", "-1");
    await asks("memory:w:c:a", "U1", { scheduled: true });
    await asks("memory:w:c:a", "U2", { scheduled: true });
    await (await slots.enter("memory:w:c:a", 1))?.leave({ isOurs: false });
    expect([await taken("U1"), await taken("U2")]).toEqual([["memory:w:c:a"], []]);
    await asks("memory:w:c:b", "U1", { scheduled: true });
    await asks("memory:w:c:b", "U3");
    await asks("memory:w:c:b", "U4");
    await (await slots.enter("memory:w:c:b", 1))?.leave({ isOurs: false });
    expect([await taken("U3"), await taken("U4")]).toEqual([["memory:w:c:b"], []]);
    expect(await taken("U1")).toEqual(["memory:w:c:a"]);
  });

  test("of a turn that goes on without a message counts for nobody, and waits like a person's", async () => {
    const slots = createSlots(redis, { ...many, total: 1 }, onError);
    const first = await slots.enter("memory:w:c:a", 1);
    expect(await redis.keys("heddle:{slots}:user:*")).toEqual([]);
    expect(await slots.enter("memory:w:c:b", 7)).toBeUndefined();
    expect(await redis.zscore(keys.slotQueue("all"), "memory:w:c:b")).toBe("7");
    await first?.leave();
  });

  test("is renewed while it is held, and no longer", async () => {
    const enter = opened({ total: 1 });
    const slot = await enter("c1:U1");
    const thread = "memory:w:c1:c1-U1";
    const soon = Date.now() + 1_000;
    await redis.zadd(keys.slots("all"), soon, thread);
    vi.advanceTimersByTime(renewMs);
    // A renewal takes two commands on this connection. `expect.poll` would advance the time further.
    let expires = soon;
    for (let reads = 0; expires === soon && reads < 100; reads += 1)
      expires = Number(await redis.zscore(keys.slots("all"), thread));
    expect(expires).toBeGreaterThan(soon + renewMs);
    await slot?.leave();
    expect(vi.getTimerCount()).toBe(0);
    expect(await holdsSlot(redis, thread)).toBe(false);
  });

  test("is had again when it expired while Redis was away, beside whoever has entered since", async () => {
    const enter = opened({ total: 1 });
    const slot = await enter("c1:U1");
    const thread = "memory:w:c1:c1-U1";
    await redis.zadd(keys.slots("all"), 1, thread);
    const other = await enter("c2:U2");
    vi.advanceTimersByTime(renewMs);
    for (let reads = 0; !(await holdsSlot(redis, thread)) && reads < 100; reads += 1);
    expect(await holdsSlot(redis, thread)).toBe(true);
    expect(await waitsIn("all")).toEqual({ line: [], asked: [] });
    await other?.leave();
    expect(await enter("c3:U3")).toBeUndefined();
    await slot?.leave();
    expect(await enter("c3:U3")).toBeDefined();
  });

  test("stays with the worker that has gone on with the thread", async () => {
    const enter = opened({ total: 1 });
    const slot = await enter("c1:U1");
    await slot?.leave({ isOurs: false });
    expect(vi.getTimerCount()).toBe(0);
    expect(await enter("c2:U2")).toBeUndefined();
  });
});

describe("The place of a message in the queue", () => {
  const ahead = (thread: string, limits: Partial<SlotLimits>, line = 0) =>
    countAhead(redis, { before: async () => line }, { ...many, ...limits }, `memory:w:${thread}`, "U0");

  test("is behind the jobs that workers take before it, of which one at least is worked on", async () => {
    expect(await ahead("c0:new", {})).toBe(1);
    expect(await ahead("c0:new", {}, 3)).toBe(4);
  });

  test("is behind all who wait for a slot when it does not wait yet, and by its rank when it does", async () => {
    const enter = opened({ total: 1 });
    await enter("c1:U1");
    await enter("c2:U2", 10);
    await enter("c3:U3", 20);
    await enter("c4:U4", 30);
    expect(await ahead("c0:new", { total: 1 })).toBe(4);
    expect(await ahead("c3:c3-U3", { total: 1 })).toBe(2);
    expect(await ahead("c4:c4-U4", { total: 1 })).toBe(3);
  });

  test("does not depend on who waits where there is room, or where the thread has its slot", async () => {
    const enter = opened({ total: 1 });
    await enter("c1:U1");
    await enter("c2:U2", 10);
    await enter("c3:U3", 20);
    expect(await ahead("c0:new", { total: 2 })).toBe(1);
    expect(await ahead("c1:c1-U1", { total: 1 })).toBe(1);
  });
});
