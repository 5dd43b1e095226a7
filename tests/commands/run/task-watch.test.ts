import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { noUsage } from "../../../src/agent/model.ts";
import { createAsker } from "../../../src/agent/questions.ts";
import { watchTask } from "../../../src/commands/run/task-watch.ts";
import type { LiveEvent } from "../../../src/progress/live-event.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { claimSession } from "../../../src/queue/session/claim.ts";
import { deliver } from "../../../src/queue/session/mailbox/mailbox.ts";
import { askQuestion } from "../../../src/queue/session/questions/open-questions.ts";
import { orderStop } from "../../../src/queue/turns/stops.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const author = { id: "U1", name: "Ada" };

/** A task that no worker has taken, and what looks tell of it. */
async function task() {
  const redis = server.client();
  const thread = `local:console:main:${randomUUID().slice(0, 8)}`;
  await deliver(
    redis,
    thread,
    { role: "user", id: "m1", author, text: "paint it", at: 10 },
    { onlyIfSession: false, now: 1 },
  );
  const told: (LiveEvent | undefined)[] = [];
  const look = watchTask(redis, thread, 0, (event) => told.push(event));
  return { redis, thread, look, told, lease: await claimSession(redis, thread) };
}

test("A look at a task tells of the question that it has open, and how it has ended", async () => {
  const { redis, thread, lease, look, told } = await task();
  await look();
  await lease.take({ type: "turn-start", turn: "t1", at: 1 });
  await look();
  expect(told).toEqual([]);

  const call = { id: "c1", name: "ask_user", input: {} };
  const ask = createAsker(author, 1_000, () => 2);
  const question = ask(call, { kind: "choice", text: "Which?", choices: ["Red"] });
  const message = { role: "assistant", id: "a1", model: "m", stop: "tool-calls" } as const;
  await lease.append(
    [
      {
        ...{ type: "assistant", step: 1, usage: noUsage, at: 2 },
        message: { ...message, parts: [{ type: "tool-call", call }] },
      },
      { type: "question", question, at: 2 },
    ],
    askQuestion(question, { kind: "question", markdown: "Which?" }),
  );
  await look();
  expect(told.splice(0)).toEqual([{ type: "question", step: 1, question, call }]);

  // What one look has read no later one reads again.
  for (const position of [0, 1, 2]) await redis.lset(keys.log(thread), position, "{broken");
  const outcome = { kind: "answered", text: "Red it is.", steps: 2, usage: noUsage } as const;
  const post = JSON.stringify({ do: "post", message: { kind: "answer", markdown: "" }, attempts: 0 });
  await lease.append([{ type: "turn-end", turn: "t1", outcome, at: 3 }], {
    ...{ fields: { status: "idle" }, outbox: { "t1:answer": post } },
  });
  // The event comes when everything is posted.
  for (const _ of [1, 2, 3]) await look();
  await lease.append([], { outbox: { [`question:${question.id}`]: null, "t1:answer": null } });
  // It may be on its way.
  await look();
  expect(told).toEqual([]);
  await look();
  const closing = { kind: "answer", markdown: "Red it is.", footer: "2 steps" };
  expect(told).toEqual([{ type: "turn-end", turn: "t1", outcome, messages: ["m1"], closing }]);
});

test("A look at a task tells that it was stopped before anybody took it", async () => {
  const { redis, thread, lease, look, told } = await task();
  await orderStop(redis, thread, { by: "Bob", at: 20 });
  await lease.take({ type: "turn-start", turn: "t1", at: 1 });
  await look();
  await look();
  expect(told).toMatchObject([{ type: "turn-end", outcome: { kind: "stopped", order: { by: "Bob" } } }]);
});

test("A look at a task tells when nothing is left of it", async () => {
  const { redis, look, told } = await task();
  await redis.flushall();
  await look();
  await look();
  expect(told).toEqual([undefined]);
});
