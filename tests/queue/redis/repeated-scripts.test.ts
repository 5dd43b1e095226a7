import { globSync } from "node:fs";
import { basename } from "node:path";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JournalRecord } from "../../../src/agent/journal/journal.ts";
import type { UserMessage } from "../../../src/agent/messages.ts";
import { noUsage } from "../../../src/agent/model.ts";
import type { MessageMark } from "../../../src/chat/outbound.ts";
import { SurfaceError } from "../../../src/chat/surface.ts";
import { watchSchema } from "../../../src/config/watch.ts";
import { takeFromWindow } from "../../../src/hooks/loop-limit.ts";
import { createChannelWatch } from "../../../src/hooks/watch/channel-watch.ts";
import { type BudgetSettings, createBudgets } from "../../../src/queue/budgets/budgets.ts";
import { createLivePublisher } from "../../../src/queue/outbox/live-events.ts";
import { markMessage } from "../../../src/queue/outbox/message-marks.ts";
import { createRequestLimit } from "../../../src/queue/outbox/request-limit.ts";
import { createRateLimiter } from "../../../src/queue/outbox/rate-limit.ts";
import { channels, keys } from "../../../src/queue/redis/keys.ts";
import { touchSession } from "../../../src/queue/session/expiry.ts";
import { claimSession } from "../../../src/queue/session/claim.ts";
import { deleteSession } from "../../../src/queue/session/manage-session.ts";
import { deliver } from "../../../src/queue/session/mailbox/mailbox.ts";
import { deleteMessage, editMessage } from "../../../src/queue/session/mailbox/message-changes.ts";
import { decide } from "../../../src/queue/session/questions/open-questions.ts";
import { unlist } from "../../../src/queue/session/lists/sweep-list.ts";
import { storeUnauthorized } from "../../../src/queue/session/mailbox/unauthorized.ts";
import { moveWaiting, removeWaiting } from "../../../src/queue/session/mailbox/waiting-messages.ts";
import { createSlots } from "../../../src/queue/turns/slots.ts";
import { orderStop } from "../../../src/queue/turns/stops.ts";
import { orderUndo } from "../../../src/queue/undo/order.ts";
import { openAuditLog } from "../../../src/telemetry/audit/log.ts";
import { memoryChat } from "../../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

/**
 * A command that was sent over a connection which is given up is sent again over the next one, and a frozen Redis that
 * goes on may run both: then callers hear the second answer alone.
 */
let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** A client whose scripts run twice, all of them or the first ones. */
function openRepeating(most = Number.POSITIVE_INFINITY): Redis {
  let runs = 0;
  const client = server.client();
  const repeat =
    (command: string) =>
    async (...args: (string | number)[]) => {
      if (++runs <= most) await client.call(command, ...args);
      return await client.call(command, ...args);
    };
  return Object.assign(client, { evalsha: repeat("EVALSHA"), eval: repeat("EVAL") });
}

const thread = "memory:w:c:t";
const ref = { platform: "memory", workspace: "w", channel: "c", thread: "t", message: "m1" };
const ada = { id: "U1", name: "Ada" };
const say = (n: number): UserMessage => ({ role: "user", id: `m${n}`, author: ada, text: `${n}`, at: n });
const anyhow = { onlyIfSession: false, now: 1 };
const { signal } = new AbortController();
const fail = (error: unknown) => expect.unreachable(String(error));

const began = { type: "turn-start", turn: "t", at: 1 } as const;
/** A turn works on the first message, or on the first two. */
async function begin(redis: Redis, messages = 1) {
  for (let n = 1; n <= messages; n += 1) await deliver(redis, thread, say(n), anyhow);
  const lease = await claimSession(redis, thread);
  await lease.take(began);
}
const ask = (redis: Redis) => redis.hset(keys.head(thread), "question:q", "{}");

const budgetSettings: BudgetSettings = {
  ...{ timeZone: "UTC", keepDays: 10, extensionPercent: 50 },
  ...{ day: { cost: 10 }, user: {}, users: {}, channel: {}, channels: {} },
};
const day = "2026-01-01";

/** Sets a dollar aside, and charges it. @returns what people are told */
async function pay(redis: Redis): Promise<string[]> {
  const warnings: string[] = [];
  const budgets = createBudgets({
    ...{ redis, settings: budgetSettings, now: () => Date.parse(day), onError: fail },
    warn: (_thread, { markdown }) => warnings.push(markdown),
  });
  const held = await budgets.turnBudget(thread, undefined).reserve({ cost: 1, tokens: 10 });
  if (!held.ok) return [held.usedUp.limit];
  await held.settle({ ...noUsage, input: 10, cost: 0.5, calls: 1 }, "model");
  return warnings;
}

async function write(redis: Redis, isEarly: boolean): Promise<string> {
  let writes = 0;
  return await createRateLimiter(redis).write(memoryChat().surface, ref, "final", signal, async () => {
    writes += 1;
    if (isEarly && writes === 1) throw new SurfaceError("rate-limited", "too early", { retryAfterMs: 20 });
    return `written after ${writes}`;
  });
}

const takeEvent = (redis: Redis, message: string) =>
  takeFromWindow(redis, {
    ...{ trigger: "t", key: "k", message, now: 1 },
    limit: { events: 1, minutes: 1 },
  });

/** One message after the other, in time to be gathered. */
function hear(redis: Redis, message: string): Promise<unknown> {
  const watch = createChannelWatch({
    ...{ redis, queue: { wake: async () => {} }, now: () => Date.parse(day), onProblem: fail },
    settings: () => ({ ...watchSchema.parse({ task: "Help." }), debounceSeconds: 600 }),
  });
  const place = { platform: "memory", workspace: "w", channel: "c" };
  return watch.judge({
    ...{ kind: "message", text: "hi", attachments: [], addressed: "none", at: 1 },
    ...{ thread: { ...place, thread: message }, ref: { ...place, message } },
    author: { ...ada, standing: "member", roles: [] },
  });
}

const bot = { platform: "memory", bot: "token" };
const botSettings = { most: 1, reserve: 0, windowMs: 60_000, mostInvalid: 1, invalidWindowMs: 60_000 };

interface Case {
  /** The scripts that it runs first of all. */
  scripts: string[];
  what: string;
  before?(redis: Redis): Promise<unknown>;
  work(redis: Redis): Promise<unknown>;
  /** What the caller is told by one run, and by two where that is something else. */
  told: unknown;
  toldTwice?: unknown;
}

const cases: Case[] = [
  {
    ...{ scripts: ["deliver"], what: "a message" },
    work: (redis) => deliver(redis, thread, say(1), anyhow),
    told: { kind: "accepted", position: 0 },
    toldTwice: { kind: "duplicate" },
  },
  {
    ...{ scripts: ["edit"], what: "an edit of a message that waits" },
    before: (redis) => deliver(redis, thread, say(1), anyhow),
    work: (redis) => editMessage(redis, thread, { message: "m1", author: ada, at: 2, text: "new" }),
    told: "changed",
    toldTwice: "repeated",
  },
  {
    ...{ scripts: ["edit"], what: "an edit that a turn is told of" },
    before: (redis) => begin(redis),
    work: (redis) => editMessage(redis, thread, { message: "m1", author: ada, at: 2, text: "new" }),
    told: "passed-on",
    toldTwice: "repeated",
  },
  {
    ...{ scripts: ["delete"], what: "the deletion of a message that waits" },
    before: (redis) => deliver(redis, thread, say(1), anyhow),
    work: (redis) => deleteMessage(redis, thread, { message: "m1", author: ada, at: 2 }),
    told: "withdrawn",
    toldTwice: "repeated",
  },
  {
    ...{ scripts: ["delete"], what: "a deletion that stops a turn" },
    before: (redis) => begin(redis),
    work: (redis) => deleteMessage(redis, thread, { message: "m1", author: ada, at: 2 }),
    told: "stopping",
    toldTwice: "repeated",
  },
  {
    ...{ scripts: ["delete"], what: "a deletion that a turn is told of" },
    before: (redis) => begin(redis, 2),
    work: (redis) => deleteMessage(redis, thread, { message: "m1", author: ada, at: 2 }),
    told: "passed-on",
    toldTwice: "repeated",
  },
  {
    ...{ scripts: ["remove-waiting"], what: "a message that waits out of the queue" },
    before: (redis) => deliver(redis, thread, say(1), anyhow),
    work: (redis) => removeWaiting(redis, thread, "m1"),
    told: "removed",
    toldTwice: "repeated",
  },
  {
    ...{ scripts: ["move-waiting"], what: "a message at another place in the queue" },
    before: async (redis) => {
      for (const n of [1, 2, 3]) await deliver(redis, thread, say(n), anyhow);
    },
    work: (redis) => moveWaiting(redis, thread, "m3", 2),
    told: { place: 2, count: 3 },
  },
  {
    ...{ scripts: ["stop"], what: "a stop" },
    before: (redis) => begin(redis),
    work: (redis) => orderStop(redis, thread, { by: "Ada", at: 2 }),
    told: "ordered",
    toldTwice: "repeated",
  },
  {
    ...{ scripts: ["decide"], what: "a decision" },
    before: ask,
    work: (redis) => decide(redis, thread, "q", { kind: "approved", by: ada, at: 2 }, 2),
    told: { kind: "decided" },
    toldTwice: { kind: "earlier", decision: { kind: "approved", by: ada, at: 2 } },
  },
  {
    ...{ scripts: ["order-undo"], what: "an order to undo" },
    before: (redis) => begin(redis),
    work: (redis) => orderUndo(redis, thread, { v: 1, id: "1", do: "show", turns: 1, by: ada, at: 2 }, ""),
    told: true,
  },
  {
    ...{ scripts: ["store-unauthorized"], what: "a message of somebody without permission" },
    before: (redis) => begin(redis),
    work: (redis) => storeUnauthorized(redis, thread, "m2", { author: ada, text: "2", at: 2 }),
    told: undefined,
  },
  {
    ...{ scripts: ["claim", "take", "append", "snapshot"], what: "a claim and the writes of its holder" },
    async before(redis) {
      await begin(redis);
      await deliver(redis, thread, say(2), anyhow);
    },
    async work(redis) {
      const lease = await claimSession(redis, thread);
      const { taken, withdrawn } = await lease.take(began);
      await lease.append([{ type: "decision", question: "q", decision: { kind: "expired", at: 3 }, at: 3 }], {
        fields: { status: "idle" },
        outbox: { key: "{}" },
      });
      // The end of a turn whose stop came late, and the turn with what is newer.
      const newer: JournalRecord[] = [
        { type: "turn-start", turn: "2", at: 4 },
        { type: "user", message: say(4) },
      ];
      await lease.append(newer, { fields: { status: "running" } });
      const written = lease.written().records.map(({ type }) => type);
      const position = await lease.keepSnapshot(async function* () {
        yield ["{}"];
      });
      return [lease.claimsWithoutProgress, taken.map(({ id }) => id), withdrawn, written, position];
    },
    told: [1, ["m2"], [], ["turn-start", "user", "decision", "turn-start", "user"], 7],
  },
  {
    ...{ scripts: ["claim", "confirm"], what: "the word that a holder is at it" },
    before: (redis) => begin(redis),
    work: async (redis) => await (await claimSession(redis, thread)).confirm(),
    told: true,
  },
  {
    ...{ scripts: ["touch"], what: "the life of a session" },
    before: (redis) => begin(redis),
    work: (redis) => touchSession(redis, thread, 1_000),
    told: undefined,
  },
  {
    ...{ scripts: ["unlist"], what: "a thread that has something to do later" },
    before: (redis) => deliver(redis, thread, say(1), anyhow),
    work: (redis) => unlist(redis, thread, "1", 5),
    told: undefined,
  },
  {
    ...{ scripts: ["delete-session"], what: "a session that is deleted" },
    before: (redis) => claimSession(redis, thread),
    work: (redis) => deleteSession(redis, thread, 2),
    told: true,
  },
  {
    ...{ scripts: ["enter-slot"], what: "a slot" },
    before: (redis) => deliver(redis, thread, say(1), anyhow),
    async work(redis) {
      const slots = createSlots(redis, { perUser: 1, perChannel: 1, total: 1 }, fail);
      const [slot, other] = [await slots.enter(thread, 1), await slots.enter("memory:w:c:other", 1)];
      await slot?.leave();
      return [slot !== undefined, other !== undefined];
    },
    told: [true, false],
  },
  {
    ...{ scripts: ["reserve", "charge"], what: "what a model call may use and has used" },
    before: (redis) => redis.hset(keys.usage(day), { "all cost": 8_500_000 }),
    work: pay,
    told: [expect.stringContaining("80 % of the budget")],
  },
  {
    ...{ scripts: ["reserve"], what: "a budget that is used up" },
    before: (redis) => redis.hset(keys.usage(day), { "all cost": 9_500_000 }),
    work: pay,
    told: [expect.stringContaining("everybody together")],
  },
  {
    ...{ scripts: ["acquire-write"], what: "a write to a channel" },
    work: (redis) => write(redis, false),
    told: "written after 1",
  },
  {
    ...{ scripts: ["acquire-write", "pause"], what: "a write to a channel that is to be left alone" },
    work: (redis) => write(redis, true),
    told: "written after 2",
  },
  {
    ...{ scripts: ["acquire-request"], what: "a request of a bot" },
    async work(redis) {
      // It does without a Redis that is not connected yet.
      await redis.ping();
      return createRequestLimit(redis, bot, botSettings).acquire(true);
    },
    told: { kind: "go" },
  },
  {
    ...{ scripts: ["refuse-requests"], what: "a pause of all requests of a bot" },
    async work(redis) {
      await redis.ping();
      return createRequestLimit(redis, bot, botSettings).pause(60_000);
    },
    told: undefined,
  },
  {
    ...{ scripts: ["mark"], what: "a mark" },
    async work(redis) {
      const marks: MessageMark[] = [];
      const surface = {
        ...memoryChat().surface,
        mark: async (_ref: unknown, mark: MessageMark) => void marks.push(mark),
      };
      const deps = { redis, output: createRateLimiter(server.client()), surface };
      await markMessage(deps, ref, "taken", signal);
      await markMessage(deps, ref, "answered", signal);
      return marks;
    },
    told: ["taken", "answered"],
  },
  {
    ...{ scripts: ["take-from-window"], what: "an event of a trigger with a limit against loops" },
    work: (redis) => takeEvent(redis, "m1"),
    told: { isBeyond: false },
  },
  {
    ...{ scripts: ["take-from-window"], what: "an event beyond that limit" },
    before: (redis) => takeEvent(redis, "m1"),
    work: (redis) => takeEvent(redis, "m2"),
    told: { isBeyond: true, first: true },
  },
  {
    ...{ scripts: ["join-burst"], what: "something said in a watched channel" },
    before: (redis) => hear(redis, "m1"),
    work: (redis) => hear(redis, "m2"),
    told: expect.objectContaining({ kind: "taken", thread: "memory:w:c:m1" }),
  },
  {
    ...{ scripts: ["append-audit"], what: "the audit log" },
    async work(redis) {
      const log = openAuditLog(redis, () => 1, fail);
      await log.append({ what: "stopped", thread, by: ada });
      await log.close();
    },
    told: undefined,
  },
];

/** All keys and what they hold, without times and random names. */
async function readAll(redis: Redis): Promise<Record<string, unknown>> {
  const hide = (text: string) =>
    text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "<id>").replaceAll(/\b1[78]\d{11}\b/g, "<time>");
  const read: Record<string, (key: string) => Promise<unknown>> = {
    string: (key) => redis.get(key),
    hash: (key) => redis.hgetall(key),
    list: (key) => redis.lrange(key, 0, -1),
    set: async (key) => (await redis.smembers(key)).toSorted(),
    zset: (key) => redis.zrange(key, "0", "-1", "WITHSCORES"),
    stream: (key) => redis.xrange(key, "-", "+"),
  };
  const found: Record<string, unknown> = {};
  for (const key of (await redis.keys("*")).toSorted()) {
    const value = await read[await redis.type(key)]?.(key);
    found[hide(key)] = JSON.parse(hide(JSON.stringify(value)));
  }
  return found;
}

test.each(cases)("$scripts run twice keep $what once", async ({ before, work, told, toldTwice = told }) => {
  const once = server.client();
  const run = async (redis: Redis) => {
    await once.flushall();
    await before?.(once);
    return { told: await work(redis), kept: await readAll(once) };
  };
  const [first, second] = [await run(once), await run(openRepeating())];
  expect(first.told).toEqual(told);
  expect(second.told).toEqual(toldTwice);
  expect(second.kept).toEqual(first.kept);
});

test("A write that is counted twice delays the next one, and no more", async () => {
  const budget = { burst: 1, intervalMs: 40 };
  const { surface } = memoryChat();
  const budgets = { messages: budget, edits: budget, marks: budget };
  const slow = { ...surface, limits: { ...surface.limits, budget: budgets } };
  const place = { ...ref, channel: "slow" };
  // The first of them asks for its write by a script that is loaded, and so runs twice.
  await createRateLimiter(server.client()).write(slow, place, "final", signal, async () => 0);
  const output = createRateLimiter(openRepeating(1));
  for (const n of [1, 2]) expect(await output.write(slow, place, "final", signal, async () => n)).toBe(n);
  expect(await server.client().exists(keys.waitQueue(place, "messages"))).toBe(0);
});

test("Of what is only shown at this moment, viewers hear twice", async () => {
  const heard: string[] = [];
  const subscriber = server.server.connect();
  subscriber.on("message", (_channel, text) => heard.push(text));
  await subscriber.subscribe(channels.live(thread));
  createLivePublisher(openRepeating(), thread, fail)({ type: "text", delta: "a" });
  await expect.poll(() => heard).toHaveLength(2);
});

test("Every script that writes is run twice here", () => {
  const scripts = globSync("src/{hooks,queue}/**/scripts/*.lua").concat(globSync("src/telemetry/**/*.lua"));
  const covered = new Set([...cases.flatMap((one) => one.scripts), "publish"]);
  const reading = ["survey"];
  expect([...covered, ...reading].toSorted()).toEqual(
    scripts.map((file) => basename(file, ".lua")).toSorted(),
  );
});
