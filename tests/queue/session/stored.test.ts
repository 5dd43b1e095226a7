import { readFileSync } from "node:fs";
import fc from "fast-check";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { replay } from "../../../src/agent/journal/replay.ts";
import type { JournalRecord } from "../../../src/agent/journal/journal.ts";
import { heddle, type UserMessage } from "../../../src/agent/messages.ts";
import { journalRecordSchema } from "../../../src/agent/journal/journal-schema.ts";
import { flushOutbox, hasUnsentEnding } from "../../../src/queue/outbox/flush.ts";
import { createRateLimiter } from "../../../src/queue/outbox/rate-limit.ts";
import { compileGuard } from "../../../src/queue/redis/compile-guard.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { listUnreadable, watchUnreadable } from "../../../src/queue/redis/unreadable.ts";
import { readJournal, readJournalSlice } from "../../../src/queue/session/journal/journal.ts";
import { claimSession } from "../../../src/queue/session/claim.ts";
import { deliver, readMailbox } from "../../../src/queue/session/mailbox/mailbox.ts";
import { deleteMessage, editMessage } from "../../../src/queue/session/mailbox/message-changes.ts";
import { readOpenQuestions } from "../../../src/queue/session/questions/open-questions.ts";
import { storeUnauthorized } from "../../../src/queue/session/mailbox/unauthorized.ts";
import { orderStop, readStop } from "../../../src/queue/turns/stops.ts";
import { memoryChat } from "../../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { journalRecords } from "./journal-records.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

let threads = 0;
const newThread = () => `memory:w:c:stored${++threads}`;
const author = { id: "U1", name: "Ada" };
const message = (n: number): UserMessage => ({
  role: "user",
  id: `m${n}`,
  author,
  text: `message ${n}`,
  at: n,
});
const said = (n: number): JournalRecord => ({ type: "user", message: message(n) });
const start: JournalRecord = { type: "turn-start", turn: "t", at: 1 };
const options = { onlyIfSession: false, now: 1 };

/** A connection, and what is told of it. */
function watched() {
  const redis = server.client();
  const lines: string[] = [];
  const onError = (error: unknown) => expect.unreachable(String(error));
  watchUnreadable(redis, { warn: (line) => lines.push(line), now: () => 0, onError });
  return { redis, lines };
}

/** What nobody can read, and what is said of it. */
const unreadable: [what: string, json: string, why: string][] = [
  ["cut short", '{"type":"turn-end","turn":"t","outc', "it is not JSON"],
  ["with a text where a number belongs", '{"type":"turn-start","turn":"t","at":"1"}', "at: "],
  ["of a type that no Heddle knows yet", '{"type":"checkpoint","at":1}', "type: "],
  ["of a later version", '{"v":2,"type":"turn-start","turn":"t","at":1}', "it is of a version"],
  ["that is no object", "7", "expected object"],
];

describe("A journal", () => {
  test("of the Heddle before this one is read as it was written", async () => {
    const lines = readFileSync(new URL("fixtures/journal-1.jsonl", import.meta.url), "utf8")
      .trimEnd()
      .split("\n");
    const { redis, lines: told } = watched();
    const thread = newThread();
    await redis.rpush(keys.log(thread), ...lines);
    expect(await readJournal(redis, thread)).toEqual(lines.map((line) => JSON.parse(line)));
    expect(new Set(lines.map((line) => JSON.parse(line).type)).size).toBe(13);
    expect(told).toEqual([]);
  });

  test("is read as it was written, whatever is in it, with fields that are not known yet", async () => {
    const redis = server.client();
    await fc.assert(
      fc.asyncProperty(fc.array(journalRecords, { maxLength: 8 }), async (records) => {
        const thread = newThread();
        const lease = await claimSession(redis, thread);
        const more = records.map((record) => ({ ...record, later: { more: [1] } }));
        await lease.append(more);
        const stored = JSON.parse(JSON.stringify(more));
        expect(await readJournal(redis, thread)).toEqual(stored);
        expect(await readJournal(redis, thread)).toEqual(stored);
      }),
      { numRuns: 100 },
    );
  });

  test.each(unreadable)(
    "goes on around a record %s, keeps it in its place and tells of it once",
    async (_, json, why) => {
      const { redis, lines } = watched();
      const thread = newThread();
      await (await claimSession(redis, thread)).append([start, said(1)]);
      await redis.rpush(keys.log(thread), json);
      // A claim knows what it has written itself, and reads what others left.
      const lease = await claimSession(redis, thread);
      await lease.append([said(2)]);

      const records = await readJournal(redis, thread);
      expect(records.map(({ type }) => type)).toEqual(["turn-start", "user", "unreadable", "user"]);
      expect(await readJournal(redis, thread)).toEqual(records);
      const slice = await readJournalSlice(redis, thread, { from: 2 }, 2);
      expect(slice).toEqual({ from: 2, length: 4, records: records.slice(2) });
      expect(await redis.lindex(keys.log(thread), 2)).toBe(json);
      expect(replay(records).turn?.asked.map(({ id }) => id)).toEqual(["m1", "m2"]);

      expect(lines).toHaveLength(1);
      expect(lines[0]).toContain(`Record 3 of the journal of ${thread} cannot be read (`);
      expect(lines[0]).toContain(why);
      await expect.poll(() => listUnreadable(redis)).toContainEqual(expect.stringContaining(lines[0] ?? ""));
    },
  );

  test("has a sentence of Heddle's where a message cannot be read", async () => {
    const { redis } = watched();
    const thread = newThread();
    const damaged = { type: "user", message: { ...message(1), author: "Ada" } };
    await redis.rpush(keys.log(thread), JSON.stringify(damaged));
    const [record] = await readJournal(redis, thread);
    expect(record).toMatchObject({ type: "user", message: { id: "m1", author: heddle, at: 1 } });
  });
});

test("What the guard of journals takes is what zod takes, however a record is damaged", () => {
  const isRecord = compileGuard(journalRecordSchema);
  const damage = fc.tuple(
    fc.nat(40),
    fc.constantFrom(undefined, null, 1, "text", [], {}, true, [1], Infinity),
  );
  fc.assert(
    fc.property(journalRecords, fc.array(damage, { maxLength: 2 }), (record, damages) => {
      let value: unknown = JSON.parse(JSON.stringify(record));
      for (const [at, by] of damages) value = replacedAt(value, at, by);
      expect(isRecord(value)).toBe(journalRecordSchema.safeParse(value).success);
    }),
    { numRuns: 2_000 },
  );
});

/** The value with another one in the place of one of its parts, counted in the order of its JSON. */
function replacedAt(value: unknown, at: number, by: unknown): unknown {
  let left = at;
  return JSON.parse(JSON.stringify(value, (_key, part: unknown) => (left-- === 0 ? by : part)) ?? "null");
}

describe("A mailbox", () => {
  test("is emptied around a message that is not JSON, and the turn tells people so", async () => {
    const { redis, lines } = watched();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    await redis.rpush(keys.mail(thread), '{"type":"user","message":{"ro');
    await deliver(redis, thread, message(2), options);
    expect((await readMailbox(redis, thread)).map(({ id }) => id)).toEqual(["m1", "m2"]);
    expect(await editMessage(redis, thread, { message: "m2", author, at: 3, text: "two" })).toBe("changed");
    expect(await deleteMessage(redis, thread, { message: "m1", author, at: 3 })).toBe("withdrawn");

    const lease = await claimSession(redis, thread);
    const { taken } = await lease.take(start);
    expect(taken.map(({ text }) => text)).toEqual([
      "(Here stood a message that cannot be read. Tell people so, and ask them to send it again.)",
      "two",
    ]);
    expect(taken[0]?.author).toEqual(heddle);
    expect((await readJournal(redis, thread)).map(({ type }) => type)).toEqual([
      "turn-start",
      "unreadable",
      "user",
      "user",
    ]);
    expect(await redis.lindex(keys.log(thread), 1)).toBe('{"type":"user","message":{"ro');
    expect(await redis.llen(keys.mail(thread))).toBe(0);
    expect(lines).toContainEqual(
      expect.stringContaining(`Record 2 of the journal of ${thread} cannot be read`),
    );
  });

  test("gives a message of a later version as one that cannot be read, under its id", async () => {
    const { redis } = watched();
    const thread = newThread();
    await redis.rpush(keys.mail(thread), JSON.stringify({ v: 2, type: "user", message: message(1) }));
    const lease = await claimSession(redis, thread);
    const { taken } = await lease.take(start);
    expect(taken).toMatchObject([{ id: "m1", author: heddle, at: 1 }]);
    const { turn } = replay(await readJournal(redis, thread));
    expect(turn?.asked).toEqual(taken);
  });

  test("keeps what it cannot read of people without permission", async () => {
    const { redis } = watched();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    await storeUnauthorized(redis, thread, "m9", { author, text: "psst", at: 2 });
    await redis.rpush(keys.unauthorized(thread), "{broken", '{"message":"m8","quote":{"text":"x","at":3}}');
    const { taken } = await (await claimSession(redis, thread)).take(start);
    expect(taken[0]?.enclosed?.overheard).toEqual([{ author, text: "psst", at: 2 }]);
    expect(await redis.lrange(keys.log(thread), 0, -1)).toContain("{broken");
  });
});

test("A stop order that cannot be read stops nothing, and a new one takes its place", async () => {
  const { redis, lines } = watched();
  const thread = newThread();
  await redis.set(keys.stop(thread), "{broken");
  await deliver(redis, thread, message(1), options);
  expect(await readStop(redis, thread)).toBeUndefined();
  expect(lines).toEqual([
    `The stop order of ${thread} cannot be read (it is not JSON): it is kept and left out.`,
  ]);
  const lease = await claimSession(redis, thread);
  expect(await lease.take(start)).toMatchObject({ taken: [{ id: "m1" }], stop: undefined });
  await deliver(redis, thread, message(2), options);
  expect(await orderStop(redis, thread, { by: "Bob", at: 5 })).toBe("ordered");
  expect(await readStop(redis, thread)).toMatchObject({ by: "Bob", at: 5 });
});

test("A question in the head that cannot be read is left out of those that are open", async () => {
  const { redis, lines } = watched();
  const thread = newThread();
  const question = {
    ...{ kind: "approval", why: "w", id: "q1", callId: "c", tool: "bash" },
    ...{ requester: author, askedAt: 1, expiresAt: 2 },
  };
  await redis.hset(keys.head(thread), "question:q1", JSON.stringify(question), "question:q2", "{}");
  expect(await readOpenQuestions(redis, thread)).toEqual([question]);
  expect(lines[0]).toContain(`The field question:q2 of the head of ${thread} cannot be read (`);
});

test("An outbox does all that it can read, and keeps the rest without waiting for it", async () => {
  const { redis, lines } = watched();
  const thread = newThread();
  const chat = memoryChat();
  const ref = { platform: "memory", workspace: "w", channel: "c", message: "m1" };
  const stored = {
    "t:answer": JSON.stringify({ do: "post", message: { kind: "answer", markdown: "Done." }, attempts: 0 }),
    // Its removal compares the text that was stored.
    "t:mark:m1": JSON.stringify({ later: 1, do: "mark", ref, mark: "answered" }),
    "t:offer": '{"do":"post","message":{"kind":"answ',
    "t:poll": JSON.stringify({ do: "poll", choices: [] }),
    "t:progress": JSON.stringify({ v: 2, do: "settle", message: null, since: 1 }),
  };
  await redis.hset(keys.outbox(thread), stored);
  await flush(redis, thread, chat);
  expect(chat.shown.map(({ message: shown }) => shown.markdown)).toEqual(["Done."]);
  const { "t:offer": offer, "t:poll": poll, "t:progress": progress } = stored;
  expect(await redis.hgetall(keys.outbox(thread))).toEqual({
    "t:offer": offer,
    "t:poll": poll,
    "t:progress": progress,
  });
  expect(await hasUnsentEnding(redis, thread)).toBe(false);
  expect(lines).toHaveLength(3);
  await flush(redis, thread, chat);
  expect(lines).toHaveLength(3);
});

async function flush(redis: Redis, thread: string, chat: ReturnType<typeof memoryChat>) {
  const { rest } = await flushOutbox(await claimSession(redis, thread), {
    redis,
    surface: chat.surface,
    output: createRateLimiter(redis),
    signal: AbortSignal.timeout(5_000),
    progressQuiet: Promise.resolve(true),
    now: Date.now,
    onProblem: (problem, error) => expect.unreachable(`${problem} ${String(error)}`),
  });
  await rest;
}
