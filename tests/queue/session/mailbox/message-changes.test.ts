import { afterAll, beforeAll, expect, test } from "vitest";
import type { UserMessage } from "../../../../src/agent/messages.ts";
import { channels } from "../../../../src/queue/redis/keys.ts";
import { claimSession } from "../../../../src/queue/session/claim.ts";
import { deliver } from "../../../../src/queue/session/mailbox/mailbox.ts";
import { deleteMessage } from "../../../../src/queue/session/mailbox/message-changes.ts";
import { startRedis, type TestRedis } from "../../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const author = { id: "U1", name: "Ada" };
const message = (id: string): UserMessage => ({ role: "user", id, author, text: id, at: 1 });

/** A thread whose turn works on the first of these messages; the others come after it has taken that one. */
async function working(thread: string, [first = "", ...others]: string[]) {
  const redis = server.client();
  const options = { onlyIfSession: false, now: 1 };
  await deliver(redis, thread, message(first), options);
  const lease = await claimSession(redis, thread);
  await lease.take({ type: "turn-start", turn: "t", at: 1 });
  for (const id of others) await deliver(redis, thread, message(id), options);
  return redis;
}

/** The threads whose worker is told at once that there is a stop, until the subscriber has heard of `last`. */
async function listen(last: string) {
  const subscriber = server.client().duplicate();
  const heard: string[] = [];
  const all = new Promise<string[]>((resolve) => {
    subscriber.on("message", (_channel, thread: string) => {
      if (thread === last) resolve(heard);
      else heard.push(thread);
    });
  });
  await subscriber.subscribe(channels.stops);
  return async () => {
    await server.client().publish(channels.stops, last);
    const threads = await all;
    subscriber.disconnect();
    return threads;
  };
}

test("The worker of a turn whose only message is deleted is told at once, also when the deletion is repeated", async () => {
  const redis = await working("memory:w:c:only", ["a"]);
  const readStopChannel = await listen("end 1");
  expect(await deleteMessage(redis, "memory:w:c:only", { message: "a", author, at: 2 })).toBe("stopping");
  expect(await deleteMessage(redis, "memory:w:c:only", { message: "a", author, at: 2 })).toBe("repeated");
  expect(await readStopChannel()).toEqual(["memory:w:c:only", "memory:w:c:only"]);
});

test("A deletion that stops nothing tells no worker of a stop", async () => {
  const redis = await working("memory:w:c:more", ["a", "b"]);
  const readStopChannel = await listen("end 2");
  expect(await deleteMessage(redis, "memory:w:c:more", { message: "a", author, at: 2 })).toBe("passed-on");
  expect(await deleteMessage(redis, "memory:w:c:more", { message: "b", author, at: 2 })).toBe("withdrawn");
  expect(await deleteMessage(redis, "memory:w:c:more", { message: "z", author, at: 2 })).toBe("too-late");
  expect(await readStopChannel()).toEqual([]);
});
