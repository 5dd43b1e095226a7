import { afterAll, beforeAll, expect, test } from "vitest";
import type { UserMessage } from "../../../../src/agent/messages.ts";
import { createDowntime } from "../../../../src/queue/session/gateway-last-seen.ts";
import { claimSession } from "../../../../src/queue/session/claim.ts";
import { deliver } from "../../../../src/queue/session/mailbox/mailbox.ts";
import { deleteMessage, editMessage } from "../../../../src/queue/session/mailbox/message-changes.ts";
import { startRedis, type TestRedis } from "../../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const place = { platform: "memory", workspace: "w", channel: "c" };
const author = { id: "U1", name: "Ada" };
const ids = (messages: { ref: { message: string } }[]) => messages.map(({ ref }) => ref.message);

test("Open are the messages that wait or are worked on, as they read now, and the progress of the turn", async () => {
  const redis = server.client();
  const { open } = createDowntime(redis, Date.now);
  const thread = { ...place, thread: "t" };
  const id = "memory:w:c:t";
  const says = (name: string, at: number, more: Partial<UserMessage> = {}) =>
    deliver(
      redis,
      id,
      { role: "user", id: name, author, text: name, at, ...more },
      { onlyIfSession: false, now: 1 },
    );
  const start = (turn: string) => ({ type: "turn-start", turn, at: 1 }) as const;
  const progress = { ...place, message: "progress" };

  await says("long ago", 1);
  const lease = await claimSession(redis, id);
  await lease.take(start("first"));
  await lease.append([], { fields: { status: "idle" } });
  expect(await open("memory", ["w"])).toEqual([]);

  for (const [at, name] of ["a", "b", "c"].entries()) await says(name, 2 + at);
  await lease.take(start("second"));
  await lease.append([], { fields: { progress: JSON.stringify(progress) } });
  await editMessage(redis, id, { message: "a", author, at: 6, text: "a, please" });
  await lease.take();
  await deleteMessage(redis, id, { message: "b", author, at: 7 });
  await lease.take();
  await says("d", 8);
  await editMessage(redis, id, { message: "c", author, at: 9, text: "c, please" });
  await says("a planned task", 10, { scheduled: true });
  await says("d~continue", 11);

  const written = (text: string) => ({ author, text });
  expect(await open("memory", ["v", "w"])).toEqual([
    { thread, ref: { ...place, message: "a" }, written: written("a, please") },
    { thread, ref: { ...place, message: "c" }, written: written("c, please") },
    { thread, ref: { ...place, message: "d" }, written: written("d") },
    { thread, ref: progress },
  ]);
  expect(await open("memory", ["v"])).toEqual([]);
  expect(await open("elsewhere", ["w"])).toEqual([]);

  await lease.append([], { fields: { status: "idle", progress: "" } });
  expect(ids(await open("memory", ["w"]))).toEqual(["d"]);
});

test("A message reads as its edit, however long the turn has worked since it was asked", async () => {
  const redis = server.client();
  const { open } = createDowntime(redis, Date.now);
  const id = "memory:w:c:long";
  const message: UserMessage = { role: "user", id: "a", author, text: "a", at: 1 };
  await deliver(redis, id, message, { onlyIfSession: false, now: 1 });
  const lease = await claimSession(redis, id);
  await lease.take({ type: "turn-start", turn: "long", at: 1 });
  await lease.append(
    Array.from({ length: 150 }, () => ({ type: "tool-start", callId: "1", at: 2 }) as const),
  );
  await editMessage(redis, id, { message: "a", author, at: 3, text: "a, please" });
  await lease.take();
  const found = await open("memory", ["w"]);
  expect(found.filter(({ thread }) => thread.thread === "long")).toMatchObject([
    { written: { text: "a, please" } },
  ]);
});
