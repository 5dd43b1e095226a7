import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Speaker } from "../../../src/agent/messages.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { touchSession } from "../../../src/queue/session/expiry.ts";
import { createRedisNotes } from "../../../src/queue/session/notes.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const ada = { id: "U1", name: "Ada" };
const bob = { id: "U2", name: "Bob" };
let clock = 0;
let channels = 0;
const newChannel = () => `c${++channels}`;

/** The notes as a turn in this thread sees them while these people speak. */
function notesOf(channel: string, thread: string, ...speakers: Speaker[]) {
  const problems: string[] = [];
  const notes = createRedisNotes({
    redis: server.client(),
    thread: `memory:w:${channel}:${thread}`,
    speakers: () => speakers,
    now: () => ++clock,
    onProblem: (problem) => problems.push(problem),
  });
  return { notes, problems };
}

const texts = async ({ notes }: ReturnType<typeof notesOf>) => (await notes.list()).map(({ text }) => text);
const fact = (scope: "thread" | "channel" | "user", text: string) => ({ scope, category: "general", text });

describe("A note", () => {
  test("is seen in its thread, its channel, or wherever its person speaks", async () => {
    const channel = newChannel();
    const here = notesOf(channel, "t1", ada);
    await here.notes.add(fact("thread", "of the thread"));
    await here.notes.add(fact("channel", "of the channel"));
    await here.notes.add(fact("user", `of Ada in ${channel}`));
    const own = `of Ada in ${channel}`;
    expect(await texts(here)).toEqual(["of the thread", "of the channel", own]);
    expect(await texts(notesOf(channel, "t2", bob))).toEqual(["of the channel"]);
    expect(await texts(notesOf(newChannel(), "t1", bob, ada))).toEqual([own]);
    expect(await texts(notesOf(newChannel(), "t1", bob))).toEqual([]);
    const mine = await here.notes.list();
    for (const { scope, id } of mine) if (scope === "user") await here.notes.remove(id);
  });

  test("is not seen in another workspace, where the same ids mean others", async () => {
    const notesIn = (thread: string) =>
      createRedisNotes({
        ...{ redis: server.client(), thread, speakers: () => [ada], now: () => ++clock },
        onProblem: () => undefined,
      });
    const here = notesIn("discord:10:20:30");
    const ids: string[] = [];
    for (const scope of ["thread", "channel", "user"] as const)
      ids.push((await here.add(fact(scope, "x"))).id);
    for (const thread of ["discord:11:20:30", "discord:dm:20:30", "slack:10:20:30"]) {
      const there = notesIn(thread);
      expect(await there.list()).toEqual([]);
      for (const id of ids) {
        expect(await there.update(id, { text: "y" })).toBeUndefined();
        expect(await there.remove(id)).toBe(false);
      }
    }
    expect(await here.list()).toHaveLength(3);
  });

  test("has the author who spoke last, also when it is about them", async () => {
    const channel = newChannel();
    const { notes } = notesOf(channel, "t1", bob, ada, bob);
    expect(await notes.add(fact("thread", "x"))).toMatchObject({ author: "Bob" });
    const { id } = await notes.add(fact("user", "likes tabs"));
    expect(await texts(notesOf(channel, "t2", ada))).toEqual([]);
    expect(await texts(notesOf(channel, "t2", bob))).toEqual(["likes tabs"]);
    expect(await notes.remove(id)).toBe(true);
  });

  test("is changed in its place and forgotten, from wherever it is seen", async () => {
    const channel = newChannel();
    const first = notesOf(channel, "t1", ada);
    const { id } = await first.notes.add({ scope: "channel", category: "decision", text: "tabs" });
    const second = notesOf(channel, "t2", bob);
    expect(await second.notes.update(id, { text: "spaces" })).toMatchObject({
      id,
      scope: "channel",
      category: "decision",
      author: "Bob",
    });
    expect(await texts(first)).toEqual(["spaces"]);
    const elsewhere = notesOf(newChannel(), "t1", ada);
    expect(await elsewhere.notes.update(id, { text: "mine" })).toBeUndefined();
    expect(await elsewhere.notes.remove(id)).toBe(false);
    expect(await second.notes.remove(id)).toBe(true);
    expect(await texts(first)).toEqual([]);
  });

  test("is not lost when many write at once", async () => {
    const channel = newChannel();
    const writers = Array.from({ length: 20 }, () => notesOf(channel, "t1", ada));
    await Promise.all(writers.map(({ notes }, n) => notes.add(fact("channel", `fact ${n}`))));
    expect(await texts(notesOf(channel, "t1", ada))).toHaveLength(20);
  });

  test("expires with its thread, but not with its channel", async () => {
    const channel = newChannel();
    const redis = server.client();
    const { notes } = notesOf(channel, "t1", ada);
    await notes.add(fact("thread", "x"));
    await notes.add(fact("channel", "x"));
    await touchSession(redis, `memory:w:${channel}:t1`, 100);
    expect(await redis.ttl(keys.notes("thread", `memory:w:${channel}:t1`))).toBeGreaterThan(50);
    expect(await redis.ttl(keys.notes("channel", `memory:w:${channel}`))).toBe(-1);
  });
});

describe("A damaged entry", () => {
  test.each(["no JSON {", '{"id":"n1","text":7}'])(
    "is set aside and told, and nothing is lost: %s",
    async (damaged) => {
      const channel = newChannel();
      const redis = server.client();
      const key = keys.notes("channel", `memory:w:${channel}`);
      const here = notesOf(channel, "t1", ada);
      await here.notes.add(fact("channel", "whole"));
      await redis.hset(key, "n1", damaged);
      expect(await texts(here)).toEqual(["whole"]);
      expect(here.problems).toEqual([expect.stringContaining(`unreadable:n1 of ${key}`)]);
      await here.notes.add(fact("channel", "after"));
      expect(await texts(here)).toEqual(["whole", "after"]);
      expect(await redis.hget(key, "unreadable:n1")).toBe(damaged);
      expect(await here.notes.remove("unreadable:n1")).toBe(false);
      // Told once, not with every turn.
      expect(here.problems).toHaveLength(1);
    },
  );
});
