import type { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { listQuestions } from "../../../src/operations/questions/questions.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { claimSession } from "../../../src/queue/session/claim.ts";
import { askQuestion, decide } from "../../../src/queue/session/questions/open-questions.ts";
import { enqueueForSweep } from "../../../src/queue/session/lists/sweep-list.ts";
import { deliver } from "../../../src/queue/session/mailbox/mailbox.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = server.client();
});
beforeEach(() => redis.flushall());
afterAll(() => server.stop());

const threadOf = (n: number) => `memory:w:c:t${n}`;
const by = { id: "U1", name: "Ada" };
const dayMs = 86_400_000;

/** A turn that asks whether a call may run. */
async function ask(n: number, id = `q${n}`): Promise<void> {
  const expiresAt = Date.now() + dayMs;
  const thread = threadOf(n);
  const question = {
    ...({ kind: "approval", id, callId: "c1", tool: "bash", why: "It leaves the house." } as const),
    ...{ requester: by, askedAt: Date.now(), expiresAt },
  };
  const lease = await claimSession(redis, thread);
  await lease.append(
    [{ type: "question", question, at: 1 }],
    askQuestion(question, { kind: "question", markdown: "" }),
  );
  await enqueueForSweep(redis, thread, Date.now(), { at: expiresAt });
}

/** Threads in which messages wait. */
async function queueUp(count: number): Promise<void> {
  for (let n = 1; n <= count; n += 1) {
    const message = { role: "user", id: `m${n}`, author: by, text: "Task", at: n } as const;
    await deliver(redis, threadOf(n), message, { onlyIfSession: false, now: n });
    await enqueueForSweep(redis, threadOf(n), n);
  }
}

const open = async (now = Date.now()) =>
  (await listQuestions(redis, "requester", (text) => text, now)).map(({ thread }) => thread).toSorted();

/** How many commands it takes. */
async function costOf(work: () => Promise<unknown>): Promise<number> {
  const sum = async () => {
    const stats = await redis.info("commandstats");
    return [...stats.matchAll(/cmdstat_(?!info)[\w|]+:calls=(\d+)/g)].reduce(
      (all, [, n]) => all + Number(n),
      0,
    );
  };
  const before = await sum();
  await work();
  return (await sum()) - before;
}

test("A list of questions costs what is open, not what waits", async () => {
  await queueUp(1_200);
  for (const n of [2_001, 2_002, 2_003]) await ask(n);
  expect(await open()).toEqual([threadOf(2_001), threadOf(2_002), threadOf(2_003)]);
  // Two for the list, and for each question its head, its decision and the end of its journal.
  expect(await costOf(() => open())).toBeLessThanOrEqual(2 + 3 * 5);
  expect(
    await costOf(() => listQuestions(redis, "requester", (text) => text, Date.now(), [threadOf(2_001)])),
  ).toBeLessThanOrEqual(5);
});

test("What is decided is listed no more, and leaves the list when its thread cannot be about to ask", async () => {
  await ask(1);
  await ask(2);
  await decide(redis, threadOf(1), "q1", { kind: "approved", by, at: 1 }, Date.now());
  expect(await open()).toEqual([threadOf(2)]);
  expect(await redis.zcard(keys.asking)).toBe(2);
  const later = Date.now() + 3 * 60_000;
  expect(await open(later)).toEqual([threadOf(2)]);
  expect(await redis.zrange(keys.asking, "0", "-1")).toEqual([threadOf(2)]);
  // What was asked anew meanwhile stays.
  await ask(1, "another");
  expect(await open(later)).toEqual([threadOf(1), threadOf(2)]);
});

test("A thread is listed before its question is written, so that a crash in between hides none", async () => {
  await redis.set(keys.askingWhole, "1");
  const lease = await claimSession(redis, threadOf(1));
  await claimSession(redis, threadOf(1));
  const question = {
    kind: "choice",
    id: "q",
    callId: "c",
    tool: "ask_user",
    text: "Which?",
  } as const;
  const asked = { ...question, choices: ["a"], requester: by, askedAt: 1, expiresAt: Date.now() + dayMs };
  const change = askQuestion(asked, { kind: "question", markdown: "" });
  await expect(lease.append([{ type: "question", question: asked, at: 1 }], change)).rejects.toThrow();
  expect(await redis.zrange(keys.asking, "0", "-1")).toEqual([threadOf(1)]);
  expect(await open()).toEqual([]);
});

test("Where there is no list, or an older Heddle has listed nothing, it is made whole", async () => {
  await queueUp(50);
  for (const n of [2_001, 2_002]) await ask(n);
  await redis.del(keys.asking, keys.askingWhole);
  expect(await open()).toEqual([threadOf(2_001), threadOf(2_002)]);
  // Of an older Heddle: found when the list is looked at the next time.
  await ask(2_003);
  await redis.zrem(keys.asking, threadOf(2_003));
  expect(await open()).not.toContain(threadOf(2_003));
  expect(await redis.ttl(keys.askingWhole)).toBeLessThanOrEqual(600);
  await redis.del(keys.askingWhole);
  expect(await open()).toContain(threadOf(2_003));
  expect(await costOf(() => open())).toBeLessThanOrEqual(2 + 3 * 5);
});
