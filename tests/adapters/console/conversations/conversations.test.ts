import { afterAll, beforeAll, expect, test } from "vitest";
import { Conversations } from "../../../../src/adapters/console/conversations/conversations.ts";
import { startRedis, type TestRedis } from "../../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test("A conversation shows what it can read, and keeps and tells of the rest", async () => {
  const redis = server.client();
  const told: string[] = [];
  const conversations = new Conversations(redis, Date.now, (place, why) => told.push(`${place}: ${why}`));
  const thread = "abcdefgh1234";
  const id = await conversations.add(thread, "one", { kind: "person", name: "Ada", text: "Hello." });
  await conversations.change(thread, id, (content) => ({ ...content, mark: "taken" }));
  const messages = `heddle:{local:console:main:${thread}}:local:messages`;
  await redis.hset(messages, "later", '{"v":2,"id":"later","kind":"poll"}');
  expect(await conversations.messages(thread)).toMatchObject([{ id, text: "Hello.", mark: "taken" }]);
  expect(await conversations.find(thread, ["later"])).toEqual([null]);
  expect(await conversations.change(thread, "later", (content) => content)).toBe(false);
  expect(await redis.hget(messages, "later")).toBe('{"v":2,"id":"later","kind":"poll"}');
  expect(told[0]).toBe(
    `Message later of the console's thread ${thread}: it is of a version that this Heddle does not know`,
  );
});

test("A conversation that goes on for ever keeps its newest 2,000 messages", async () => {
  const redis = server.client();
  const conversations = new Conversations(redis, Date.now);
  const thread = "abcdefgh5678";
  const old = Array.from({ length: 2_199 }, (_, place) => [
    `old${place}`,
    JSON.stringify({ id: `old${place}`, place: place - 5_000, at: 1, kind: "notice", markdown: "Tick." }),
  ]);
  await redis.hset(`heddle:{local:console:main:${thread}}:local:messages`, ...old.flat());
  await conversations.add(thread, "one", { kind: "person", name: "Ada", text: "Hello." });
  const left = await conversations.messages(thread);
  expect([left.length, left[0]?.id, left.at(-1)]).toMatchObject([2_000, "old200", { text: "Hello." }]);
});
