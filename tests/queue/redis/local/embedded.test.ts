import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { RedisServerState } from "js-redis-server/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connectRedis } from "../../../../src/queue/redis/choose-server.ts";
import { loadSnapshot, saveSnapshot } from "../../../../src/queue/redis/local/snapshot.ts";
import type { RedisServer } from "../../../../src/queue/redis/server.ts";

let dataDir = "";
let opened: RedisServer[] = [];
let lines: string[] = [];
/** On a busy machine it says that it waits. */
const note = (text: string) => void (text.includes("does not answer yet") || lines.push(text));
const log = { info: note, warn: note };

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "heddle-embedded-"));
  opened = [];
  lines = [];
});

afterEach(async () => {
  for (const server of opened) await server.close();
  await rm(dataDir, { recursive: true, force: true });
});

async function open(settings: { production?: boolean; allowEmbedded?: boolean } = {}): Promise<RedisServer> {
  // With nothing on PATH there is no server of the system.
  const chosen = { dataDir, searchPath: "", production: false, allowEmbedded: false, log, ...settings };
  const server = await connectRedis(chosen);
  opened.push(server);
  return server;
}

describe("the embedded server", () => {
  test("says that it is for development, and what to install instead", async () => {
    const server = await open();
    expect(server.kind).toBe("embedded");
    expect(lines[0]).toMatch(/^Redis: embedded, for development only, at .*embedded\.sock\.$/);
    expect(lines[1]).toMatch(/is for development.*apt install valkey-server.*docker compose up.*REDIS_URL/);
  });

  test("is open to its user alone", async () => {
    await open();
    expect((await stat(join(dataDir, "redis", "embedded.sock"))).mode & 0o777).toBe(0o600);
  });

  test("is refused in production unless it is allowed", async () => {
    await expect(open({ production: true })).rejects.toThrow("EMBEDDED_REDIS=1");
    const server = await open({ production: true, allowEmbedded: true });
    expect(await server.connect().ping()).toBe("PONG");
  });

  test("is shared by a second start with the same folder", async () => {
    const [first, second] = [await open(), await open()];
    await first.connect().set("key", "value");
    expect(await second.connect().get("key")).toBe("value");
    await second.close();
    expect(await first.connect().get("key")).toBe("value");
  });

  test("has its data again after a restart", async () => {
    const before = await open();
    const client = before.connect();
    const bytes = Buffer.from([0, 10, 13, 0x85, 0xe2, 0x80, 0xa8, 255]);
    await client.set("text", "ø🛑\n");
    await client.set(Buffer.concat([Buffer.from("bytes"), bytes]), bytes);
    await client.hset("hash", { a: "1", b: bytes });
    await client.rpush("list", "one", "two", "one");
    await client.sadd("set", "x", "y");
    await client.zadd("zset", 1.5, "m", "+inf", "n");
    await client.set("short", "life", "PX", 100_000);
    await client.xadd("stream", "*", "k", "v");
    await before.close();
    expect((await stat(join(dataDir, "redis", "embedded.ndjson"))).mode & 0o777).toBe(0o600);

    const again = (await open()).connect();
    expect(await again.get("text")).toBe("ø🛑\n");
    expect(await again.getBuffer(Buffer.concat([Buffer.from("bytes"), bytes]))).toEqual(bytes);
    expect(await again.hgetallBuffer("hash")).toEqual({ a: Buffer.from("1"), b: bytes });
    expect(await again.lrange("list", 0, -1)).toEqual(["one", "two", "one"]);
    expect((await again.smembers("set")).toSorted()).toEqual(["x", "y"]);
    expect(await again.zrange("zset", "0", "-1", "WITHSCORES")).toEqual(["m", "1.5", "n", "inf"]);
    expect(await again.pttl("short")).toBeGreaterThan(90_000);
    expect(await again.exists("stream")).toBe(0);
  });

  test("refuses a damaged snapshot instead of starting without the data", async () => {
    await (await open()).close();
    const file = join(dataDir, "redis", "embedded.ndjson");
    await writeFile(file, '{"key":"a","type":"string","value":"1"}\n{"key":"b","type":"str');
    await expect(open()).rejects.toThrow(
      /damaged \(.*embedded\.ndjson, line 2\): move it away to start empty/,
    );
    expect(await readFile(file, "utf8")).toContain('"b"');
  });
});

test("a snapshot restores any database", async () => {
  const file = join(dataDir, "snapshot");
  const bytes = fc.uint8Array({ maxLength: 12 }).map((array) => Buffer.from(array));
  const entry = fc.oneof(
    fc.record({ type: fc.constant("string" as const), value: bytes }),
    fc.record({ type: fc.constant("list" as const), value: fc.array(bytes, { minLength: 1, maxLength: 4 }) }),
    fc.record({
      type: fc.constant("zset" as const),
      value: fc.array(
        fc.tuple(
          bytes,
          fc.double({ noNaN: true }).map((score) => score + 0),
        ),
        { minLength: 1, maxLength: 4 },
      ),
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(bytes, entry), { maxLength: 6 }), async (content) => {
      const before = new RedisServerState({ databaseCount: 1, activeExpiryIntervalMs: false });
      for (const [key, { type, value }] of content) {
        const database = before.getDatabase(0);
        database.delete(key);
        if (type === "string") database.setString(key, value);
        else if (type === "list") database.updateList(key, (list) => list.pushRight(value));
        else
          database.updateSortedSet(key, (zset) =>
            value.forEach(([member, score]) => zset.setScore(member, score)),
          );
      }
      await saveSnapshot(before.getDatabase(0), file);
      const after = new RedisServerState({ databaseCount: 1, activeExpiryIntervalMs: false });
      await loadSnapshot(after.getDatabase(0), file);
      expect(after.getDatabase(0).entriesSnapshot()).toEqual(before.getDatabase(0).entriesSnapshot());
      before.close();
      after.close();
    }),
    { numRuns: 60 },
  );
});
