import { randomUUID } from "node:crypto";
import fc from "fast-check";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { replay } from "../../../../src/agent/journal/replay.ts";
import type { JournalRecord } from "../../../../src/agent/journal/journal.ts";
import { noUsage } from "../../../../src/agent/model.ts";
import { keys } from "../../../../src/queue/redis/keys.ts";
import { findCancelled } from "../../../../src/queue/session/mailbox/cancelled-messages.ts";
import { claimSession } from "../../../../src/queue/session/claim.ts";
import { LeaseLost, type SessionLease } from "../../../../src/queue/session/lease.ts";
import {
  addTail,
  type LoadedJournal,
  loadJournal,
} from "../../../../src/queue/session/journal/load-journal.ts";
import { serializeSnapshot } from "../../../../src/queue/session/journal/snapshot.ts";
import { oneTurn } from "../../../agent/turn-records.ts";
import { startRedis, type TestRedis } from "../../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const newThread = () => `memory:w:c:${randomUUID().slice(0, 8)}`;
const author = { id: "U1", name: "Ada" };

async function load(redis: Redis, thread: string): Promise<LoadedJournal & { lease: SessionLease }> {
  const lease = await claimSession(redis, thread);
  return { ...(await loadJournal(redis, thread, lease.found.journal)), lease };
}

/** As a worker does between two turns, however short the journal is. */
async function keep({ lease, replay: replayed, lastEnd, withdrawn }: Awaited<ReturnType<typeof load>>) {
  const { messages, chosenModel } = replayed.history();
  const count = withdrawn.before + withdrawn.messages.length;
  return lease.keepSnapshot((position) =>
    serializeSnapshot({ position, messages, chosenModel, lastEnd, withdrawn: count }),
  );
}

async function store(redis: Redis, thread: string, records: readonly JournalRecord[]): Promise<void> {
  for (let at = 0; at < records.length; at += 1_000) {
    const lines = records.slice(at, at + 1_000).map((record) => JSON.stringify(record));
    await redis.rpush(keys.log(thread), ...lines);
  }
}

/** What the next turn begins with is what all records together say. */
function expectState(loaded: LoadedJournal, records: readonly JournalRecord[]): void {
  expect(loaded.replay.isWhole()).toBe(true);
  expect(loaded.replay.history()).toEqual(replay(records));
  expect(loaded.lastEnd).toEqual(records.findLast(({ type }) => type === "turn-end"));
  const all = findCancelled(records);
  expect(loaded.withdrawn.before + loaded.withdrawn.messages.length).toBe(all.length);
  expect(loaded.withdrawn.messages).toEqual(all.slice(loaded.withdrawn.before));
}

/** An answered turn of six records; some are only seen from far behind. */
function aTurn(n: number): JournalRecord[] {
  const turn = `t${n}`;
  const at = n;
  const call = { id: `c${n}`, name: "bash", input: { command: "date" } };
  const base = { role: "assistant", id: `a${n}`, model: "m" } as const;
  const enclosed = n === 3 ? { enclosed: { model: "test/other" } } : {};
  const withdrawn: JournalRecord[] =
    n % 1_000 === 7
      ? [
          { type: "user", message: { role: "user", id: `w${n}`, author, text: "no", at } },
          { type: "withdrawn", id: `w${n}`, reason: "stopped" },
        ]
      : [];
  const summary: JournalRecord[] =
    n % 100 === 99
      ? [
          {
            ...{ type: "summary", keep: 6, usage: noUsage, at },
            message: { role: "summary", text: `until ${n}` },
          },
        ]
      : [];
  return [
    ...withdrawn,
    { type: "turn-start", turn, at },
    { type: "user", message: { role: "user", id: `m${n}`, author, text: `task ${n}`, ...enclosed, at } },
    ...summary,
    {
      ...{ type: "assistant", step: 1, usage: noUsage, at },
      message: { ...base, stop: "tool-calls", parts: [{ type: "tool-call", call }] },
    },
    { type: "tool-start", callId: call.id, at },
    {
      ...{ type: "tool-result", durationMs: 1, at },
      message: { role: "tool", callId: call.id, name: "bash", status: "ok", text: `day ${n}` },
    },
    { type: "turn-end", turn, outcome: { kind: "answered", text: "", steps: 1, usage: noUsage }, at },
  ];
}

describe("A snapshot", () => {
  test("leaves to the next claim what the whole journal would, whatever came before and behind it", async () => {
    const redis = server.client();
    await fc.assert(
      fc.asyncProperty(fc.array(oneTurn, { maxLength: 8 }), fc.array(fc.boolean()), async (turns, kept) => {
        const thread = newThread();
        for (const [index, turn] of turns.entries()) {
          const loaded = await load(redis, thread);
          await loaded.lease.append(turn);
          if (!kept[index]) continue;
          const { records, chars } = loaded.lease.written();
          addTail(loaded, records, chars);
          loaded.withdrawn.messages.push(...findCancelled(turn));
          expect(await keep(loaded)).toBe(turns.slice(0, index + 1).flat().length);
        }
        // Also in the middle of a turn.
        await store(redis, thread, turns[0]?.slice(0, -1) ?? []);
        const all = JSON.parse(JSON.stringify([...turns.flat(), ...(turns[0]?.slice(0, -1) ?? [])]));
        expectState(await load(redis, thread), all);
      }),
      { numRuns: 100 },
    );
  });

  test("spares a claim the records before it, and leaves them where they are", async () => {
    const redis = server.client();
    const thread = newThread();
    const records = Array.from({ length: 400 }, (_, n) => aTurn(n)).flat();
    await store(redis, thread, records);
    await keep(await load(redis, thread));
    const more = aTurn(400);
    await store(redis, thread, more);
    const { lease, ...loaded } = await load(redis, thread);
    expect(lease.found.journal.records).toHaveLength(more.length);
    expectState(loaded, [...records, ...more]);
    // For people, for searches, and for an older Heddle, which reads all of them.
    expect(await redis.llen(keys.log(thread))).toBe(records.length + more.length);
  });

  test("is read in pieces when it has many messages", async () => {
    const redis = server.client();
    const thread = newThread();
    const records = Array.from({ length: 700 }, (_, n) => aTurn(n)).flat();
    const long = records.filter(({ type }) => type !== "summary");
    await store(redis, thread, long);
    await keep(await load(redis, thread));
    const { lease, ...loaded } = await load(redis, thread);
    expect(lease.found.journal.snapshot?.messages).toEqual([]);
    expectState(loaded, long);
  });

  test("of a worker that has lost the session does not take the place of a newer one", async () => {
    const redis = server.client();
    const thread = newThread();
    await store(redis, thread, aTurn(1));
    const old = await load(redis, thread);
    const next = await load(redis, thread);
    await next.lease.append(aTurn(2));
    addTail(next, next.lease.written().records, 0);
    expect(await keep(next)).toBe(12);
    await expect(keep(old)).rejects.toThrow(LeaseLost);
    expectState(await load(redis, thread), [...aTurn(1), ...aTurn(2)]);
    expect(await redis.keys(`*{${thread}}:snapshot:*`)).toEqual([]);
  });

  test("stays right when an older Heddle, which knows of none, goes on with the session", async () => {
    const redis = server.client();
    const thread = newThread();
    await store(redis, thread, aTurn(1));
    await keep(await load(redis, thread));
    // It claims, and appends to the log and nothing else.
    await redis.hincrby(keys.head(thread), "epoch", 1);
    await store(redis, thread, [...aTurn(2), ...aTurn(7)]);
    expectState(await load(redis, thread), [...aTurn(1), ...aTurn(2), ...aTurn(7)]);
  });

  test.each([
    ["gone", (redis: Redis, key: string) => redis.del(key)],
    ["damaged", (redis: Redis, key: string) => redis.lset(key, 1, '{"role":"user"}')],
    ["cut short", (redis: Redis, key: string) => redis.ltrim(key, 0, 0)],
    ["of a later version", (redis: Redis, key: string) => redis.lset(key, 0, '{"v":2,"position":3}')],
    ["of another journal", (redis: Redis, key: string) => redis.lset(key, 0, longer)],
  ])("that is %s costs nothing but time", async (_, damage) => {
    const redis = server.client();
    const thread = newThread();
    const records = [...aTurn(1), ...aTurn(7), ...aTurn(3)];
    await store(redis, thread, records);
    await keep(await load(redis, thread));
    await damage(redis, keys.snapshot(thread));
    expectState(await load(redis, thread), records);
  });

  test("expires with its session", async () => {
    const redis = server.client();
    const thread = newThread();
    await store(redis, thread, aTurn(1));
    await redis.hset(keys.head(thread), "status", "idle");
    await redis.expire(keys.head(thread), 1_000);
    await keep(await load(redis, thread));
    const left = await redis.ttl(keys.snapshot(thread));
    expect(left).toBeGreaterThan(900);
    expect(left).toBeLessThanOrEqual(1_000);
    await claimSession(redis, thread, { expireSeconds: 5_000 });
    expect(await redis.ttl(keys.snapshot(thread))).toBeGreaterThan(4_900);
  });
});

const longer = JSON.stringify({ position: 1_000, messages: 0, withdrawn: 0 });

describe("A long journal without a snapshot", () => {
  test("is read from before its last summary on, and what stands far behind that is known all the same", async () => {
    const redis = server.client();
    const thread = newThread();
    const records = Array.from({ length: 2_050 }, (_, n) => aTurn(n)).flat();
    await store(redis, thread, records);
    const { lease, ...loaded } = await load(redis, thread);
    expect(loaded.replay.history().chosenModel).toBe("test/other");
    expectState(loaded, records);
    expect(loaded.tail.records).toBeLessThan(1_000);
    expect(lease.found.journal.records).toBeUndefined();
  });

  test("is read from before an earlier summary where the turn with the last one was refused", async () => {
    const redis = server.client();
    const thread = newThread();
    const records = Array.from({ length: 2_000 }, (_, n) => aTurn(n)).flat();
    const end = records.at(-1);
    if (end?.type !== "turn-end") throw new Error("The last turn has ended.");
    const refused = { ...end, outcome: { ...end.outcome, kind: "refused", text: "no" } } as const;
    const journal = [...records.slice(0, -1), refused, ...aTurn(2_000)];
    await store(redis, thread, journal);
    const loaded = await load(redis, thread);
    expectState(loaded, journal);
    expect(loaded.tail.records).toBeLessThan(2_000);
  });

  test("is read whole when nothing of it was ever summarised", async () => {
    const redis = server.client();
    const thread = newThread();
    const records = Array.from({ length: 1_000 }, (_, n) =>
      aTurn(n).filter(({ type }) => type !== "summary"),
    );
    await store(redis, thread, records.flat());
    expectState(await load(redis, thread), records.flat());
  });
});
