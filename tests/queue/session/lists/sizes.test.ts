import type { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { describeSizes } from "../../../../src/commands/doctor/redis.ts";
import { keys } from "../../../../src/queue/redis/keys.ts";
import { readSizes } from "../../../../src/queue/session/lists/sizes.ts";
import { startRedis, type TestRedis } from "../../../fakes/redis.ts";

describe.each([
  ["the machine's Redis", false],
  ["the embedded Redis", true],
])("On %s", (_server, embedded) => {
  let server: TestRedis;
  let redis: Redis;
  beforeAll(async () => {
    server = await startRedis({ embedded });
    redis = server.client();
  });
  afterAll(() => server.stop());
  beforeEach(() => redis.flushdb());

  /** A thread with so many records in its journal, and so many messages waiting. */
  async function thread(name: string, records: number, waiting = 0): Promise<string> {
    const id = `slack:T1:C1:${name}`;
    await redis.zadd(keys.threads, Date.now(), id);
    await redis.rpush(keys.log(id), ...Array.from({ length: records }, () => "x".repeat(1_000)));
    if (waiting > 0)
      await redis.rpush(keys.mail(id), ...Array.from({ length: waiting }, () => "y".repeat(1_000)));
    return id;
  }

  test("the largest journals and mailboxes are named", async () => {
    for (let n = 0; n < 6; n++) await thread(`small${n}`, 1);
    const longest = await thread("longest", 70, 1);
    const long = await thread("long", 50, 3);
    const sizes = await readSizes(redis);
    expect(sizes.sessions).toBe(8);
    expect(sizes.journals).toHaveLength(5);
    expect(sizes.journals.slice(0, 2)).toMatchObject([
      { thread: longest, records: 70 },
      { thread: long, records: 50 },
    ]);
    expect(sizes.mailboxes).toMatchObject([
      { thread: long, records: 3 },
      { thread: longest, records: 1 },
    ]);
    if (embedded) return;
    expect(sizes.journals[0]?.bytes).toBeGreaterThan(70_000);
    expect(sizes.memory?.used).toBeGreaterThan(100_000);

    await redis.rpush(keys.snapshot(long), "z".repeat(200_000));
    const [largest] = (await readSizes(redis)).journals;
    expect(largest).toMatchObject({ thread: long, records: 50 });
    expect(largest?.bytes).toBeGreaterThan(250_000);
  });

  test("nothing that blocks Redis is asked, however many sessions there are", async () => {
    await redis.zadd(
      keys.threads,
      ...Array.from({ length: 1_500 }, (_, n) => [n, `slack:T1:C1:${n}`]).flat(),
    );
    await thread("newest", 2);
    const asked: string[] = [];
    const { sendCommand } = redis;
    redis.sendCommand = (command, ...rest) => {
      asked.push(command.name);
      return sendCommand.call(redis, command, ...rest);
    };
    const { sessions, journals } = await readSizes(redis);
    redis.sendCommand = sendCommand;
    expect([sessions, journals.length]).toEqual([1_501, 1]);
    expect([...new Set(asked)].toSorted()).toEqual(["info", "llen", "memory", "zcard", "zrange"]);
    expect(asked.length).toBeLessThan(3_020);
  });
});

test("doctor tells how full Redis is, and warns before it is", () => {
  const sizes = {
    memory: { used: 50 * 1_048_576, limit: 100 * 1_048_576 },
    sessions: 7,
    journals: [{ thread: "slack:T1:C1:1", records: 120, bytes: 2_097_152 }],
    mailboxes: [],
  };
  expect(describeSizes(sizes)).toEqual({
    level: "ok",
    text: "50.0 MiB used, of 100.0 MiB; 7 sessions; largest journal: 120 records, 2.0 MiB (slack:T1:C1:1)",
  });
  const full = { ...sizes, memory: { used: 81 * 1_048_576, limit: 100 * 1_048_576 } };
  expect(describeSizes(full)).toMatchObject({
    level: "warning",
    text: expect.stringMatching(/^nearly full: .*maxmemory/),
  });
});
