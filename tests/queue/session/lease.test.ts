import { setTimeout } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { UserMessage } from "../../../src/agent/messages.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { readJournal } from "../../../src/queue/session/journal/journal.ts";
import { touchSession } from "../../../src/queue/session/expiry.ts";
import { claimSession, claimUnheldSession, tryClaimSession } from "../../../src/queue/session/claim.ts";
import { LeaseLost } from "../../../src/queue/session/lease.ts";
import { deliver, readMailbox } from "../../../src/queue/session/mailbox/mailbox.ts";
import { deleteMessage, editMessage } from "../../../src/queue/session/mailbox/message-changes.ts";
import { listSessions } from "../../../src/queue/session/lists/sessions.ts";
import { readListedAt, unlist } from "../../../src/queue/session/lists/sweep-list.ts";
import { storeUnauthorized } from "../../../src/queue/session/mailbox/unauthorized.ts";
import { orderStop, readStop } from "../../../src/queue/turns/stops.ts";
import { compareClaims } from "../../../src/sandbox/sandbox.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

let threads = 0;
const newThread = () => `memory:w:c:t${++threads}`;
const message = (n: number): UserMessage => ({
  role: "user",
  id: `m${n}`,
  author: { id: "U1", name: "Ada" },
  text: `message ${n}`,
  at: n,
});
const options = { onlyIfSession: false, now: 1 };
const ada = { id: "U1", name: "Ada" };

describe("A mailbox", () => {
  test("takes a message once, however often it is delivered", async () => {
    const redis = server.client();
    const thread = newThread();
    expect(await deliver(redis, thread, message(1), options)).toEqual({ kind: "accepted", position: 0 });
    expect(await deliver(redis, thread, message(1), options)).toEqual({ kind: "duplicate" });
    const lease = await claimSession(redis, thread);
    await lease.take({ type: "turn-start", turn: "t", at: 1 });
    expect(await deliver(redis, thread, message(1), options)).toEqual({ kind: "duplicate" });
    expect(await deliver(redis, thread, message(2), options)).toEqual({ kind: "accepted", position: 1 });
  });

  test("whose session has expired is on no list any more when a turn ends elsewhere", async () => {
    const redis = server.client();
    const [old, alive] = [newThread(), newThread()];
    await deliver(redis, old, message(1), { ...options, now: Date.now() - 21_000 });
    await deliver(redis, alive, message(1), { ...options, now: Date.now() });
    await touchSession(redis, alive, 10);
    const listed = (await listSessions(redis)).map(({ thread }) => thread);
    expect(listed).toContain(alive);
    expect(listed).not.toContain(old);
  });

  test("takes a follow-up only where a session is alive", async () => {
    const redis = server.client();
    const thread = newThread();
    expect(await deliver(redis, thread, message(1), { ...options, onlyIfSession: true })).toEqual({
      kind: "no-session",
    });
    await deliver(redis, thread, message(2), options);
    expect(await deliver(redis, thread, message(1), { ...options, onlyIfSession: true })).toMatchObject({
      kind: "accepted",
    });
  });

  test("opens, whatever broken characters people put into their names and words", async () => {
    const redis = server.client();
    const thread = newThread();
    // Half an emoji, as it is left when a text is cut in the middle of one.
    const broken = "😀".slice(0, 1);
    const author = { id: "U1", name: `Ada${broken}` };
    await deliver(redis, thread, { ...message(1), author, text: broken }, options);
    await storeUnauthorized(redis, thread, "m2", { author, text: `psst ${broken}`, at: 2 });
    await deliver(redis, thread, message(3), options);
    const edit = { message: "m3", author, at: 4, text: `message 3${broken}` };
    expect(await editMessage(redis, thread, edit)).toBe("changed");
    expect(await orderStop(redis, thread, { by: author.name, at: 1 })).toBe("ordered");
    expect(await orderStop(redis, thread, { by: author.name, at: 2 })).toBe("ordered");
    const lease = await claimSession(redis, thread);
    const { taken, withdrawn } = await lease.take({ type: "turn-start", turn: "t", at: 4 });
    expect(withdrawn.map(({ text }) => text)).toEqual(["\uFFFD"]);
    expect(taken.map(({ text }) => text)).toEqual(["message 3\uFFFD"]);
    expect(await deleteMessage(redis, thread, { message: "m3", author, at: 5 })).toBe("stopping");
  });

  test("gives up only what is older than a stop order", async () => {
    const redis = server.client();
    const thread = newThread();
    for (const n of [1, 2, 3]) await deliver(redis, thread, message(n), options);
    expect(await orderStop(redis, thread, { by: "Bob", at: 2 })).toBe("ordered");
    const lease = await claimSession(redis, thread);
    const { taken, withdrawn } = await lease.take({ type: "turn-start", turn: "t", at: 1 });
    expect([withdrawn.map(({ at }) => at), taken.map(({ at }) => at)]).toEqual([[1, 2], [3]]);
    expect((await readJournal(redis, thread)).map(({ type }) => type)).toEqual([
      "user",
      "withdrawn",
      "user",
      "withdrawn",
      "turn-start",
      "user",
    ]);
  });

  test.each([
    ["as they were given", [5, 9], { by: "Bob at 9", at: 9 }],
    ["the other way round", [9, 5], { by: "Bob at 9", at: 9 }],
    ["at the same time", [9, 9], { by: "Eve, who told it later", at: 9 }],
  ])("is stopped by the newest of several orders, told %s", async (_how, times, newest) => {
    const redis = server.client();
    const thread = newThread();
    for (const n of [1, 7, 10]) await deliver(redis, thread, message(n), options);
    for (const [index, at] of times.entries()) {
      const by = times.indexOf(at) === index ? `Bob at ${at}` : "Eve, who told it later";
      expect(await orderStop(redis, thread, { by, at })).toBe("ordered");
    }
    expect(await readStop(redis, thread)).toMatchObject(newest);
    const { taken, withdrawn, stop } = await (await claimSession(redis, thread)).take();
    expect(stop).toMatchObject(newest);
    expect([withdrawn.map(({ at }) => at), taken.map(({ at }) => at)]).toEqual([[1, 7], [10]]);
  });

  test("stays stopped by the newest order when a deletion comes late", async () => {
    const redis = server.client();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    const lease = await claimSession(redis, thread);
    await lease.append([], { fields: { status: "running" } });
    await lease.take({ type: "turn-start", turn: "t", at: 1 });
    await orderStop(redis, thread, { by: "Bob", at: 9 });
    const deletion = { message: "m1", author: { id: "U1", name: "Ada" }, at: 5 };
    expect(await deleteMessage(redis, thread, deletion)).toBe("stopping");
    await deliver(redis, thread, message(7), options);
    expect(await lease.take()).toMatchObject({ withdrawn: [{ id: "m7" }], stop: { by: "Bob" } });
  });

  test("is stopped by a deletion that is newer than the order known", async () => {
    const redis = server.client();
    const thread = newThread();
    await deliver(redis, thread, message(3), options);
    const lease = await claimSession(redis, thread);
    await lease.take({ type: "turn-start", turn: "t", at: 1 });
    await orderStop(redis, thread, { by: "Bob", at: 2 });
    const deletion = { message: "m3", author: ada, at: 5 };
    expect(await deleteMessage(redis, thread, deletion)).toBe("stopping");
    expect(await deleteMessage(redis, thread, deletion)).toBe("repeated");
    expect(await readStop(redis, thread)).toMatchObject({ by: "Ada, who deleted the message", at: 5 });
  });

  test("lets a turn go on without a message that is deleted while another one waits", async () => {
    const redis = server.client();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    const lease = await claimSession(redis, thread);
    await lease.take({ type: "turn-start", turn: "t", at: 1 });
    await deliver(redis, thread, message(2), options);
    expect(await deleteMessage(redis, thread, { message: "m1", author: ada, at: 5 })).toBe("passed-on");
    expect((await lease.take()).taken.map(({ text }) => text)).toEqual([
      "message 2",
      expect.stringContaining("Ada has deleted"),
    ]);
  });

  test("knows only the messages of the running turn as its work, and none of an earlier one", async () => {
    const redis = server.client();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    const lease = await claimSession(redis, thread);
    await lease.take({ type: "turn-start", turn: "t1", at: 1 });
    await lease.append([], { fields: { status: "idle" } });
    await deliver(redis, thread, message(2), options);
    await lease.take({ type: "turn-start", turn: "t2", at: 2 });
    expect(await deleteMessage(redis, thread, { message: "m1", author: ada, at: 5 })).toBe("too-late");
    expect(await deleteMessage(redis, thread, { message: "m2", author: ada, at: 6 })).toBe("stopping");
  });

  test("has no other work in a correction, or in the note of a deletion", async () => {
    const redis = server.client();
    const thread = newThread();
    for (const n of [1, 2]) await deliver(redis, thread, message(n), options);
    const lease = await claimSession(redis, thread);
    await lease.take({ type: "turn-start", turn: "t", at: 1 });
    expect(await editMessage(redis, thread, { message: "m1", author: ada, at: 4, text: "else" })).toBe(
      "passed-on",
    );
    await lease.take();
    expect(await deleteMessage(redis, thread, { message: "m2", author: ada, at: 5 })).toBe("passed-on");
    await lease.take();
    expect(await deleteMessage(redis, thread, { message: "m1", author: ada, at: 6 })).toBe("stopping");
  });

  test("is stopped by the deletion of its only message, also while an edit of that waits to be read", async () => {
    const redis = server.client();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    const lease = await claimSession(redis, thread);
    await lease.take({ type: "turn-start", turn: "t", at: 1 });
    await editMessage(redis, thread, { message: "m1", author: ada, at: 4, text: "else" });
    expect(await deleteMessage(redis, thread, { message: "m1", author: ada, at: 5 })).toBe("stopping");
    expect(await readMailbox(redis, thread)).toEqual([]);
  });

  test("keeps what is newer than a stop in its order while the rest is withdrawn", async () => {
    const redis = server.client();
    const thread = newThread();
    for (const n of [1, 7, 8, 9]) await deliver(redis, thread, message(n), options);
    await orderStop(redis, thread, { by: "Bob", at: 2 });
    const lease = await claimSession(redis, thread);
    expect((await lease.withdraw()).map(({ id }) => id)).toEqual(["m1"]);
    expect((await readMailbox(redis, thread)).map(({ id }) => id)).toEqual(["m7", "m8", "m9"]);
    expect((await readJournal(redis, thread)).map(({ type }) => type)).toEqual(["user", "withdrawn"]);
  });

  test("lists its thread also for a message that is told again, since its first worker may have died before", async () => {
    const redis = server.client();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    await redis.zrem(keys.waiting, thread);
    await deliver(redis, thread, message(1), options);
    expect(await readListedAt(redis, thread)).toBe("1");
  });

  test("leaves the list of threads with something to do, unless it was listed anew meanwhile", async () => {
    const redis = server.client();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    const listed = await readListedAt(redis, thread);
    await deliver(redis, thread, message(2), { ...options, now: 2 });
    await unlist(redis, thread, listed);
    expect(await readListedAt(redis, thread)).toBe("2");
    await unlist(redis, thread, "2", 50);
    expect(await readListedAt(redis, thread)).toBe("50");
    await unlist(redis, thread, "50");
    expect(await readListedAt(redis, thread)).toBeNull();
  });

  test("reads as its last edit, also when an earlier one is told again after it", async () => {
    const redis = server.client();
    const thread = newThread();
    const author = { id: "U1", name: "Ada" };
    const [first, last] = [5, 6].map((at) => ({ message: "m1", author, at, text: `edited at ${at}` }));
    if (!first || !last) throw new Error("There are two edits.");
    await deliver(redis, thread, message(1), options);
    const told = [];
    for (const edit of [first, last, first]) told.push(await editMessage(redis, thread, edit));
    expect(told).toEqual(["changed", "changed", "repeated"]);
    const lease = await claimSession(redis, thread);
    const { taken } = await lease.take({ type: "turn-start", turn: "t", at: 7 });
    expect(taken.map(({ text }) => text)).toEqual(["edited at 6"]);
  });

  test("has nothing to stop when nothing waits or runs, and keeps no order for later", async () => {
    const redis = server.client();
    const thread = newThread();
    expect(await orderStop(redis, thread, { by: "Bob", at: 9 })).toBe("nothing");
    await deliver(redis, thread, message(1), options);
    const lease = await claimSession(redis, thread);
    expect((await lease.take({ type: "turn-start", turn: "t", at: 1 })).taken).toHaveLength(1);
  });
});

describe("A write that the client repeats because its answer was lost", () => {
  /** A client whose connection breaks after Redis has run the next script, before the answer arrives. */
  function forgetful() {
    const redis = server.client();
    const evalsha = redis.evalsha.bind(redis);
    let loses = 0;
    const repeated = async (sha: string, count: number, ...args: (string | number)[]) => {
      const answer = await evalsha(sha, count, ...args);
      if (loses === 0) return answer;
      loses -= 1;
      return evalsha(sha, count, ...args);
    };
    return {
      redis: Object.assign(redis, { evalsha: repeated }),
      loseNext() {
        loses = 1;
      },
    };
  }

  test("claims a session once, so that a Redis that restarts is not taken for a turn that crashes", async () => {
    const { redis, loseNext } = forgetful();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    await (await claimSession(redis, thread)).take({ type: "turn-start", turn: "t", at: 1 });
    await claimSession(redis, thread);
    loseNext();
    const lease = await claimSession(redis, thread);
    expect(lease.claimsWithoutProgress).toBe(2);
    await lease.append([], { fields: { handover: "1" } });
  });

  test("is applied once", async () => {
    const { redis, loseNext } = forgetful();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    const lease = await claimSession(redis, thread);
    loseNext();
    expect((await lease.take({ type: "turn-start", turn: "t", at: 1 })).taken).toHaveLength(1);
    loseNext();
    await lease.append([{ type: "nudge", message: message(9) }]);
    await deliver(redis, thread, message(2), options);
    await orderStop(redis, thread, { by: "Bob", at: 2 });
    loseNext();
    expect(await lease.take(undefined, [{ type: "nudge", message: message(8) }])).toMatchObject({
      ...{ taken: [], withdrawn: [{ id: "m2" }], stop: { by: "Bob" } },
    });
    expect((await readJournal(redis, thread)).map(({ type }) => type)).toEqual([
      "turn-start",
      "user",
      "nudge",
      "nudge",
      "user",
      "withdrawn",
    ]);
    expect(lease.written().records).toEqual(await readJournal(redis, thread));
  });
});

describe("A claim", () => {
  test("knows the journal that it has found and what it writes itself without reading it again", async () => {
    const redis = server.client();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    const lease = await claimSession(redis, thread);
    expect(lease.found.journal).toEqual({ length: 0, records: [] });
    await lease.take({ type: "turn-start", turn: "t", at: 1 });
    await lease.append([{ type: "nudge", message: message(9) }]);
    const { records, chars } = lease.written();
    expect(records).toEqual(await readJournal(redis, thread));
    expect(chars).toBe((await redis.lrange(keys.log(thread), 0, -1)).join("").length);
    expect(lease.written()).toEqual({ records: [], chars: 0 });

    const { found } = await claimSession(redis, thread);
    expect(found.journal.records).toEqual(await redis.lrange(keys.log(thread), 0, -1));
  });

  test("knows of a stop order, of what must be shown and of the head what it has found", async () => {
    const redis = server.client();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    await (await claimSession(redis, thread)).append([], { fields: { cost: "1" }, outbox: { a: "{}" } });
    await orderStop(redis, thread, { by: "Bob", at: 2 });
    const { found } = await claimSession(redis, thread, { expireSeconds: 1_000 });
    expect(found).toMatchObject({ head: { cost: "1" }, outbox: { a: "{}" }, stop: { by: "Bob", at: 2 } });
    expect(await redis.ttl(keys.head(thread))).toBeGreaterThan(900);
  });

  test("by one who runs nothing leaves a session alone that runs a turn or has something to show", async () => {
    const redis = server.client();
    const expire = { expireSeconds: 1_000 };
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    const holder = await claimUnheldSession(redis, thread, expire);
    await holder?.append([], { outbox: { a: "{}" } });
    expect(await claimUnheldSession(redis, thread, expire)).toBeUndefined();
    await holder?.append([], { outbox: { a: null } });
    await holder?.take({ type: "turn-start", turn: "a", at: 1 });
    expect(await claimUnheldSession(redis, thread, expire)).toBeUndefined();
    expect(await holder?.holds()).toBe(true);
    await holder?.append([], { fields: { status: "idle" } });
    const next = await claimUnheldSession(redis, thread, expire);
    expect(await next?.holds()).toBe(true);
    await expect(holder?.append([])).rejects.toThrow(LeaseLost);
  });

  test("by one who runs nothing takes a turn that was handed over, which is handed over still", async () => {
    const redis = server.client();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    const worker = await claimSession(redis, thread, { holder: "{}" });
    await worker.take({ type: "turn-start", turn: "a", at: 1 });
    await worker.append([], { fields: { handover: "1" } });
    expect(await claimUnheldSession(redis, thread, { expireSeconds: 1_000 })).toBeDefined();
    const { found, claimsWithoutProgress } = await claimSession(redis, thread, { holder: "{}" });
    expect(Object.keys(found.head).filter((field) => field.startsWith("lost:"))).toEqual([]);
    expect(claimsWithoutProgress).toBe(1);
    expect(await claimUnheldSession(redis, thread, { expireSeconds: 1_000 })).toBeUndefined();
  });

  test("by a worker leaves another one alone that has just said that it is at a turn, and no other", async () => {
    const redis = server.client();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    const tries = (holder: string, graceMs = 60_000) =>
      tryClaimSession(redis, thread, { holder, graceMs, expireSeconds: 1_000 });
    const first = await tries('"a"');
    // It is not in the middle of a turn yet.
    const second = await tries('"b"');
    expect([await first?.confirm(), await second?.confirm()]).toEqual([false, true]);
    await second?.take({ type: "turn-start", turn: "a", at: 1 });
    expect(await tries('"a"')).toBeUndefined();
    expect(await second?.confirm()).toBe(true);
    // Itself again, and one that takes what has not been confirmed for a moment.
    const again = await tries('"b"');
    expect(await again?.confirm()).toBe(true);
    await setTimeout(5);
    expect(await tries('"a"', 1)).toBeDefined();
    expect(await again?.confirm()).toBe(false);
  });

  test("by a worker takes at once what was handed over, and what one of an earlier release left", async () => {
    const redis = server.client();
    const claiming = { holder: '"b"', graceMs: 60_000, expireSeconds: 1_000 };
    const [handed, left] = [newThread(), newThread()];
    for (const thread of [handed, left]) await deliver(redis, thread, message(1), options);
    const worker = await claimSession(redis, handed, { holder: '"a"' });
    await worker.take({ type: "turn-start", turn: "a", at: 1 });
    await worker.append([], { fields: { handover: "1" } });
    expect(await tryClaimSession(redis, handed, claiming)).toBeDefined();
    const earlier = await claimSession(redis, left, { holder: '"a"' });
    await earlier.take({ type: "turn-start", turn: "a", at: 1 });
    await redis.hdel(keys.head(left), "confirmedAt");
    expect(await tryClaimSession(redis, left, claiming)).toBeDefined();
  });

  test("fences every write of the one before it", async () => {
    const redis = server.client();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    const first = await claimSession(redis, thread);
    const second = await claimSession(redis, thread);
    await expect(first.append([{ type: "turn-start", turn: "a", at: 1 }])).rejects.toThrow(LeaseLost);
    await expect(first.take()).rejects.toThrow(LeaseLost);
    await expect(first.withdraw()).rejects.toThrow(LeaseLost);
    await second.append([{ type: "turn-start", turn: "b", at: 1 }]);
    expect(await readJournal(redis, thread)).toEqual([{ type: "turn-start", turn: "b", at: 1 }]);
  });

  test("removes what it has done from the outbox, but nothing that has taken its place", async () => {
    const redis = server.client();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    const lease = await claimSession(redis, thread);
    await lease.append([], { outbox: { same: "1", replaced: "1" } });
    await lease.append([], { outbox: { replaced: "2" } });
    await lease.append([], { done: { same: "1", replaced: "1" } });
    expect(await redis.hgetall(keys.outbox(thread))).toEqual({ replaced: "2" });
  });

  test("of a session in which nothing runs is no failed try, however often it comes", async () => {
    const redis = server.client();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    const first = await claimSession(redis, thread);
    await first.take({ type: "turn-start", turn: "t", at: 1 });
    await first.append([], { fields: { status: "idle" } });
    for (let n = 0; n < 5; n += 1) expect((await claimSession(redis, thread)).claimsWithoutProgress).toBe(1);
  });

  test("counts claims without progress, but not hand-overs", async () => {
    const redis = server.client();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    const first = await claimSession(redis, thread);
    await first.take({ type: "turn-start", turn: "t", at: 1 });
    const counts: number[] = [];
    for (let n = 0; n < 3; n += 1) counts.push((await claimSession(redis, thread)).claimsWithoutProgress);
    expect(counts).toEqual([1, 2, 3]);
    const last = await claimSession(redis, thread);
    await last.append([], { fields: { handover: "1" } });
    expect((await claimSession(redis, thread)).claimsWithoutProgress).toBe(4);
    await (await claimSession(redis, thread)).append([{ type: "turn-start", turn: "x", at: 1 }]);
    expect((await claimSession(redis, thread)).claimsWithoutProgress).toBe(1);
  });
});

test("Whatever is delivered, taken, withdrawn and claimed in any order, each message is logged once and in order", async () => {
  const redis = server.client();
  const action = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant("deliver" as const), n: fc.nat(30) }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constantFrom("take" as const, "withdraw" as const), holder: fc.nat(2) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("stop" as const), at: fc.nat(30) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("claim" as const), holder: fc.nat(2) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 30 }), async (actions) => {
      const thread = newThread();
      const holders = await Promise.all([0, 1, 2].map(() => claimSession(redis, thread)));
      const accepted: string[] = [];
      for (const step of actions) {
        if (step.do === "deliver") {
          const delivery = await deliver(redis, thread, message(step.n), options);
          expect(delivery.kind).toBe(accepted.includes(`m${step.n}`) ? "duplicate" : "accepted");
          if (delivery.kind === "accepted") accepted.push(`m${step.n}`);
        } else if (step.do === "stop") await orderStop(redis, thread, { by: "Bob", at: step.at });
        else if (step.do === "claim") holders[step.holder] = await claimSession(redis, thread);
        else {
          const lease = holders[step.holder];
          const write =
            step.do === "take" ? lease?.take({ type: "turn-start", turn: "t", at: 1 }) : lease?.withdraw();
          await write?.catch((error: unknown) => expect(error).toBeInstanceOf(LeaseLost));
        }
      }
      const last = await claimSession(redis, thread);
      await last.take();
      const logged = (await readJournal(redis, thread)).flatMap((record) =>
        record.type === "user" ? [record.message.id] : [],
      );
      expect(logged.toSorted()).toEqual(accepted.toSorted());
      expect(new Set(logged).size).toBe(logged.length);
      const withdrawn = new Set(
        (await readJournal(redis, thread)).flatMap((record) =>
          record.type === "withdrawn" ? [record.id] : [],
        ),
      );
      const kept = (ids: string[]) => ids.filter((id) => !withdrawn.has(id));
      expect(kept(logged)).toEqual(kept(accepted));
    }),
    { numRuns: 60 },
  );
});

describe("The time to live of a session", () => {
  /** A session that has something under every key that expires with it, and a stop order, which has a time of its own. */
  async function filled() {
    const redis = server.client();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    const expiring = [
      ...[keys.head(thread), keys.log(thread), keys.outbox(thread), keys.notes("thread", thread)],
      ...[keys.schedules(thread), keys.asked(thread), keys.jobs(thread), keys.unauthorized(thread)],
    ];
    const lease = await claimSession(redis, thread);
    await lease.take({ type: "turn-start", turn: "t", at: 1 });
    await lease.append([], { outbox: { a: "{}" } });
    await storeUnauthorized(redis, thread, "m2", { author: ada, text: "psst", at: 2 });
    for (const key of [keys.notes("thread", thread), keys.schedules(thread), keys.jobs(thread)])
      await redis.hset(key, "a", "{}");
    await orderStop(redis, thread, { by: "Bob", at: 2 });
    const ttls = () => Promise.all(expiring.map((key) => redis.ttl(key)));
    return { redis, thread, ttls, stopTtl: () => redis.ttl(keys.stop(thread)) };
  }
  const near = (seconds: number) => expect.toSatisfy((ttl: number) => ttl <= seconds && ttl > seconds - 60);

  test("begins again, for all that belongs to it, with a claim that names one and at the end of a turn", async () => {
    const { redis, thread, ttls, stopTtl } = await filled();
    await claimSession(redis, thread, { expireSeconds: 5_000 });
    expect(await ttls()).toEqual(Array.from({ length: 8 }, () => near(5_000)));
    await touchSession(redis, thread, 3_000);
    expect(await ttls()).toEqual(Array.from({ length: 8 }, () => near(3_000)));
    expect(await stopTtl()).toEqual(near(86_400));
  });

  test("stays as it is with a claim that names none", async () => {
    const { redis, thread, ttls } = await filled();
    await touchSession(redis, thread, 3_000);
    await claimSession(redis, thread);
    expect(await ttls()).toEqual(Array.from({ length: 8 }, () => near(3_000)));
  });
});

test("A delivery tells whether the thread has questions open and whether scheduled tasks wait", async () => {
  const redis = server.client();
  const thread = newThread();
  const lease = await claimSession(redis, thread);
  const scheduled: UserMessage = { ...message(1), scheduled: true };
  const accepted = (position: number) => ({ kind: "accepted", position });
  expect(await deliver(redis, thread, scheduled, options)).toEqual({ ...accepted(0), hasScheduled: true });
  expect(await deliver(redis, thread, message(2), options)).toEqual({ ...accepted(1), hasScheduled: true });
  await lease.append([], { fields: { "question:q": "{}" } });
  const both = { hasQuestions: true, hasScheduled: true };
  expect(await deliver(redis, thread, message(2), options)).toEqual({ kind: "duplicate", ...both });
  await lease.take();
  expect(await deliver(redis, thread, message(3), options)).toEqual({ ...accepted(0), hasQuestions: true });
  await lease.append([], { fields: { "question:q": "" } });
  expect(await deliver(redis, thread, message(4), options)).toEqual(accepted(1));
  const later = { ...scheduled, id: "m5" };
  expect(await deliver(redis, thread, later, options)).toEqual({ ...accepted(2), hasScheduled: true });
});

test("A message that waits is gone when its author deletes it, and reads as edited; the others stay as they are", async () => {
  const redis = server.client();
  const thread = newThread();
  for (const n of [1, 2, 3]) await deliver(redis, thread, message(n), options);
  const remove = (id: string) => deleteMessage(redis, thread, { message: id, author: ada, at: 9 });
  expect([await remove("m2"), await remove("m2"), await remove("m9")]).toEqual([
    ...["withdrawn", "repeated", "too-late"],
  ]);
  const edit = { message: "m3", author: ada, at: 9, text: "message 3, please" };
  expect(await editMessage(redis, thread, edit)).toBe("changed");
  expect(await editMessage(redis, thread, { ...edit, message: "m9" })).toBe("too-late");
  expect(await readMailbox(redis, thread)).toMatchObject([message(1), { ...message(3), text: edit.text }]);
  expect(await readStop(redis, thread)).toBeUndefined();
});

test("A deletion that reaches no turn stops nothing, and one that a turn is told of leaves the order of an earlier stop", async () => {
  const redis = server.client();
  const thread = newThread();
  for (const n of [1, 2]) await deliver(redis, thread, message(n), options);
  const lease = await claimSession(redis, thread);
  await lease.take({ type: "turn-start", turn: "t", at: 1 });
  expect(await deleteMessage(redis, thread, { message: "m1", author: ada, at: 9 })).toBe("passed-on");
  expect(await readStop(redis, thread)).toBeUndefined();
  await lease.append([], { fields: { status: "idle" } });
  expect(await deleteMessage(redis, thread, { message: "m2", author: ada, at: 9 })).toBe("too-late");
  expect(await readStop(redis, thread)).toBeUndefined();
});

describe("A claim", () => {
  /** Claims the thread once more; gives the order of claims in which workers see it. */
  const claim = async (thread: string) => (await claimSession(server.client(), thread)).claim;

  test("is newer than every one before, also than those that a Redis knows no more which was restored from a copy", async () => {
    const redis = server.client();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    const claims = [await claim(thread)];
    const copy = await redis.dumpBuffer(keys.head(thread));
    for (let n = 0; n < 20; n += 1) claims.push(await claim(thread));
    await setTimeout(claims.length);
    await redis.restore(keys.head(thread), 0, copy, "REPLACE");
    claims.push(await claim(thread));
    expect(claims.toSorted(compareClaims)).toEqual(claims);
    expect(new Set(claims.map(({ epoch }) => epoch)).size).toBe(claims.length);
  });

  test("is newer than the one before also where the clock was set back", async () => {
    const redis = server.client();
    const thread = newThread();
    await deliver(redis, thread, message(1), options);
    const later = Date.now() + 3_600_000;
    await redis.hset(keys.head(thread), { epoch: later });
    expect((await claim(thread)).epoch).toBe(later + 1);
  });
});

test("A turn reads an edit of what it works on once, behind what was written before the edit", async () => {
  const redis = server.client();
  const thread = newThread();
  await deliver(redis, thread, message(1), options);
  const lease = await claimSession(redis, thread);
  await lease.take({ type: "turn-start", turn: "t", at: 1 });
  await deliver(redis, thread, message(2), options);
  const edit = { message: "m1", author: ada, at: 9, text: "message 1, please" };
  const told = [await editMessage(redis, thread, edit), await editMessage(redis, thread, edit)];
  expect(told).toEqual(["passed-on", "repeated"]);
  const { taken } = await lease.take();
  expect(taken.map(({ text }) => text)).toEqual(["message 2", expect.stringContaining(edit.text)]);
});

test("A turn reads a message that is edited again and again as it is in the end, behind all that was written before", async () => {
  const redis = server.client();
  const thread = newThread();
  for (const n of [1, 2]) await deliver(redis, thread, message(n), options);
  const lease = await claimSession(redis, thread);
  await lease.take({ type: "turn-start", turn: "t", at: 1 });
  const edit = (n: number, at: number) =>
    editMessage(redis, thread, { message: `m${n}`, author: ada, at, text: `${n} at ${at}` });
  await edit(1, 4);
  await edit(2, 4);
  await deliver(redis, thread, message(3), options);
  expect([await edit(1, 6), await edit(1, 5)]).toEqual(["passed-on", "repeated"]);
  const { taken } = await lease.take();
  expect(taken.map(({ text }) => text.split("\n").at(-1))).toEqual(["2 at 4", "message 3", "1 at 6"]);
});

test("A session that may still be alive stays on the list when a turn ends elsewhere", async () => {
  const redis = server.client();
  const [working, ending] = [newThread(), newThread()];
  await deliver(redis, working, message(1), { ...options, now: Date.now() - 15_000 });
  await deliver(redis, ending, message(1), { ...options, now: Date.now() });
  await touchSession(redis, ending, 10);
  expect((await listSessions(redis)).map(({ thread }) => thread)).toContain(working);
});
