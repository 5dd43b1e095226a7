import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { InboundDeletion, InboundEdit } from "../../../src/chat/inbound.ts";
import { receiveMessageChange } from "../../../src/intake/receive/receive-message-change.ts";
import { claimSession } from "../../../src/queue/session/claim.ts";
import { deliver, readMailbox } from "../../../src/queue/session/mailbox/mailbox.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** A thread with one message in its mailbox, and who is told of what. */
async function threadWithMessage() {
  const redis = server.client();
  const place = { platform: "memory", workspace: "w", channel: "c" };
  const thread = { ...place, thread: randomUUID().slice(0, 8) };
  const id = `memory:w:c:${thread.thread}`;
  const ref = { ...place, message: `${thread.thread}-1` };
  const author = { id: "U1", name: "Ada", standing: "member", roles: [] } as const;
  const message = { role: "user", id: ref.message, author, text: "count", at: 1, ref } as const;
  const { id: authorId, name } = author;
  await deliver(
    redis,
    id,
    { ...message, author: { id: authorId, name } },
    { onlyIfSession: false, now: Date.now() },
  );
  const told: string[] = [];
  const options = {
    redis,
    queue: { wake: async () => void told.push("woken") },
    afterStop: async () => void told.push("stopped"),
  };
  const about = { thread, ref, author: { ...author, roles: [] } };
  return {
    id,
    told,
    edit: (text: string, at: number, more: Partial<InboundEdit> = {}) =>
      receiveMessageChange(options, { kind: "edit", ...about, text, at, ...more }),
    remove: (at: number, more: Partial<InboundDeletion> = {}) =>
      receiveMessageChange(options, { kind: "delete", ...about, at, ...more }),
    waiting: () => readMailbox(redis, id),
    take: async () => (await claimSession(redis, id)).take({ type: "turn-start", turn: "t1", at: 2 }),
  };
}

test("A message that waits is amended where it waits, and nobody needs to be woken for it", async () => {
  const { id, told, edit, remove } = await threadWithMessage();
  expect(await edit("count again", 2)).toEqual({ kind: "amended", thread: id });
  expect(await remove(3)).toEqual({ kind: "amended", thread: id });
  expect(told).toEqual([]);
});

test("A change of a message that a turn has taken is passed on, and its thread is woken, told twice or not", async () => {
  const { id, told, edit, take } = await threadWithMessage();
  await take();
  expect(await edit("count again", 2)).toEqual({ kind: "amended", thread: id });
  expect(await edit("count again", 2)).toEqual({ kind: "amended", thread: id, unchanged: true });
  expect(told).toEqual(["woken", "woken"]);
});

test("An edit that is told late undoes no later one, neither of a message that waits nor of one that is worked on", async () => {
  const { id, edit, waiting, take } = await threadWithMessage();
  expect(await edit("count to three", 4)).toEqual({ kind: "amended", thread: id });
  expect(await edit("count to two", 3)).toEqual({ kind: "amended", thread: id, unchanged: true });
  expect(await waiting()).toMatchObject([{ text: "count to three" }]);
  await take();
  expect(await edit("count to two", 3)).toEqual({ kind: "amended", thread: id, unchanged: true });
  expect(await edit("count to five", 6)).toEqual({ kind: "amended", thread: id });
  expect(await edit("count to four", 5)).toEqual({ kind: "amended", thread: id, unchanged: true });
  expect(await waiting()).toMatchObject([{ text: expect.stringMatching(/now reads:\)\ncount to five$/) }]);
});

test("An edit asks for a plan, or no longer, as the message itself would", async () => {
  const { edit, waiting, take } = await threadWithMessage();
  await edit("!plan move the report", 2);
  expect(await waiting()).toMatchObject([{ text: "move the report", plan: true }]);
  await edit("move the report", 3);
  expect(await waiting()).toMatchObject([{ text: "move the report" }]);
  expect((await waiting())[0]).not.toHaveProperty("plan");
  await take();
  await edit("!plan: move it to Postgres", 4);
  expect(await waiting()).toMatchObject([
    { text: expect.stringMatching(/now reads:\)\nmove it to Postgres$/), plan: true },
  ]);
});

test("Deleting all that a turn was asked stops it", async () => {
  const { id, told, remove, take } = await threadWithMessage();
  await take();
  expect(await remove(3)).toEqual({ kind: "stopping", thread: id });
  expect(told).toEqual(["stopped"]);
});

test("A change of a message that nobody works on means nothing", async () => {
  const { told, edit } = await threadWithMessage();
  const ref = { platform: "memory", workspace: "w", channel: "c", message: "of others" };
  expect(await edit("anything", 2, { ref })).toEqual({
    kind: "ignored",
    why: "nobody works on that message",
  });
  expect(told).toEqual([]);
});
