import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { JournalRecord } from "../../../src/agent/journal/journal.ts";
import type { AssistantMessage } from "../../../src/agent/messages.ts";
import { noUsage } from "../../../src/agent/model.ts";
import { threadId, type ThreadRef } from "../../../src/chat/threads.ts";
import { createRatings, ratingActionId, readRatingAction } from "../../../src/queue/budgets/ratings.ts";
import { readUsage } from "../../../src/queue/budgets/usage.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());
beforeEach(() => server.client().flushall());

const thread: ThreadRef = { platform: "slack", workspace: "T", channel: "C", thread: "1" };
const answeredAt = Date.UTC(2026, 5, 1, 23, 30);

/** Ratings in a zone in which the answer was given on the next day already. */
async function answered(turn: string, model: string) {
  const redis = server.client();
  const message: AssistantMessage = { role: "assistant", id: "a", parts: [], model, stop: "end" };
  const records: JournalRecord[] = [
    { type: "turn-start", turn, at: answeredAt },
    { type: "assistant", step: 1, message, usage: noUsage, at: answeredAt },
    {
      type: "turn-end",
      turn,
      outcome: { kind: "answered", text: "42", steps: 1, usage: noUsage },
      at: answeredAt,
    },
  ];
  await redis.rpush(keys.log(threadId(thread)), ...records.map((record) => JSON.stringify(record)));
  return createRatings(redis, { timeZone: "Europe/Berlin", keepDays: 10 });
}

const counted = async () =>
  (await readUsage(server.client(), ["2026-06-02"])).map(({ dimension, id, ratings }) => ({
    ...{ of: `${dimension} ${id}`.trim() },
    ...ratings,
  }));

test("Each person's latest opinion of an answer counts, by model and on the day of the answer", async () => {
  const ratings = await answered("t1", "test/model");
  await ratings.rate(thread, "Uada", { turn: "t1", rating: "liked" });
  await ratings.rate(thread, "Uada", { turn: "t1", rating: "liked" });
  await ratings.rate(thread, "Ubob", { turn: "t1", rating: "liked" });
  expect(await ratings.rate(thread, "Ubob", { turn: "t1", rating: "disliked" })).toBe("counted");
  expect(await counted()).toEqual([
    { of: "all", liked: 1, disliked: 1 },
    { of: "model test/model", liked: 1, disliked: 1 },
  ]);
  expect(await server.client().ttl(keys.usage("2026-06-02"))).toBeGreaterThan(0);
});

test("An answer that the journal does not know cannot be rated", async () => {
  const ratings = await answered("t1", "test/model");
  expect(await ratings.rate(thread, "Uada", { turn: "t2", rating: "liked" })).toBe("unknown-answer");
  expect(await counted()).toEqual([]);
});

test("A button's id tells the opinion and the turn, and no other button does", () => {
  expect(readRatingAction(ratingActionId("ab12", "disliked"))).toEqual({ turn: "ab12", rating: "disliked" });
  expect(["rate:loved:ab12", "rate:liked:", "continue:ab12"].map(readRatingAction)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
