import type { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { UserMessage } from "../../../src/agent/messages.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { claimSession } from "../../../src/queue/session/claim.ts";
import { readJournal } from "../../../src/queue/session/journal/journal.ts";
import { readListedAt, unlist } from "../../../src/queue/session/lists/sweep-list.ts";
import { deliver, readMailbox } from "../../../src/queue/session/mailbox/mailbox.ts";
import { rememberMessages } from "../../../src/queue/session/mailbox/message-threads.ts";
import { deleteSession } from "../../../src/queue/session/manage-session.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
beforeEach(() => server.client().flushall());
afterAll(() => server.stop());

const thread = "memory:w:c:t";
const place = { platform: "memory", workspace: "w", channel: "c" };
const message = (id: string, at: number): UserMessage => ({
  ...{ role: "user", id, text: id, at },
  author: { id: "U1", name: "Ada" },
});

async function say(id: string, at: number) {
  const delivery = await deliver(server.client(), thread, message(id, at), { onlyIfSession: false, now: at });
  await rememberMessages(server.client(), thread, [{ ...place, message: id }]);
  return delivery;
}

/** A thread whose only turn is over. */
async function finishThread(): Promise<void> {
  await say("old", 1);
  const redis = server.client();
  const listed = await readListedAt(redis, thread);
  const lease = await claimSession(redis, thread);
  await lease.take({ type: "turn-start", turn: "t1", at: 1 });
  await lease.append([], { fields: { status: "idle" } });
  await unlist(redis, thread, listed);
}

/** The same connection, which does something before its `nth` command. */
function interrupt(nth: number, work: () => Promise<unknown>): { redis: Redis; commands(): number } {
  let commands = 0;
  const redis = new Proxy(server.client(), {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        commands += 1;
        if (commands === nth) await work();
        return value.apply(target, args);
      };
    },
  });
  return { redis, commands: () => commands };
}

test("Nothing of a thread that is deleted is left but that it was", async () => {
  await finishThread();
  expect(await deleteSession(server.client(), thread, 2)).toBe(true);
  expect(await server.client().keys("*")).toEqual([keys.deleted]);
});

test("A message that is accepted while its thread is deleted is in its mailbox afterwards, and the thread is listed", async () => {
  const outcomes = new Set<boolean>();
  for (let nth = 1; ; nth += 1) {
    await server.client().flushall();
    await finishThread();
    const { redis, commands } = interrupt(nth, () => say("new", 2));
    const isDeleted = await deleteSession(redis, thread, 2);
    if (commands() < nth) break;
    outcomes.add(isDeleted);
    const left = isDeleted ? [] : ["old"];
    const said = (await readJournal(server.client(), thread)).flatMap((record) =>
      record.type === "user" ? [record.message.id] : [],
    );
    expect([nth, said]).toEqual([nth, left]);
    expect([nth, (await readMailbox(server.client(), thread)).map(({ id }) => id)]).toEqual([nth, ["new"]]);
    expect([nth, await readListedAt(server.client(), thread)]).toEqual([nth, "2"]);
    expect(await server.client().zscore(keys.threads, thread)).toBe("2");
    expect(await say("new", 3)).toMatchObject({ kind: "duplicate" });
  }
  expect(outcomes).toEqual(new Set([true, false]));
});

test("A turn that begins while its thread is deleted goes on", async () => {
  for (let nth = 1; ; nth += 1) {
    await server.client().flushall();
    await finishThread();
    const { redis, commands } = interrupt(nth, async () => {
      await say("new", 2);
      await (await claimSession(server.client(), thread)).take({ type: "turn-start", turn: "t2", at: 2 });
    });
    await deleteSession(redis, thread, 2);
    if (commands() < nth) break;
    expect([nth, await server.client().hget(keys.head(thread), "status")]).toEqual([nth, "running"]);
    expect((await readJournal(server.client(), thread)).at(-1)).toMatchObject({ message: { id: "new" } });
  }
});
