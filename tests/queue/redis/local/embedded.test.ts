import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { Redis } from "ioredis";
import { ClientSession, RedisServerState } from "js-redis-server/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { StopOrder } from "../../../../src/agent/events.ts";
import { connectRedis } from "../../../../src/queue/redis/choose-server.ts";
import { createRecordingExecutor } from "../../../../src/queue/redis/local/embedded/executor.ts";
import { compact } from "../../../../src/queue/redis/local/embedded/files.ts";
import { serveEmbedded } from "../../../../src/queue/redis/local/embedded/server.ts";
import type { RedisServer } from "../../../../src/queue/redis/server.ts";
import { readRedisTime } from "../../../../src/queue/redis/time.ts";
import { deliver } from "../../../../src/queue/session/mailbox/mailbox.ts";
import { orderStop, watchStops } from "../../../../src/queue/turns/stops.ts";

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

async function open(): Promise<RedisServer> {
  // With nothing on PATH there is no server of the system.
  const server = await connectRedis({ dataDir, searchPath: "", log });
  opened.push(server);
  return server;
}

const files = () => join(dataDir, "redis", "embedded");

describe("the embedded server", () => {
  test("says each time what it does not promise, and what to install instead", async () => {
    for (let start = 1; start <= 2; start++) {
      lines = [];
      const server = await open();
      expect(server.kind).toBe("embedded");
      expect(lines[0]).toMatch(/^Redis: embedded, at .*embedded\.sock\.$/);
      expect(lines[1]).toMatch(
        /power loss up to a second.*this one machine only.*apt install valkey-server.*docker compose up.*REDIS_URL/,
      );
      await server.close();
    }
  });

  test("is open to its user alone", async () => {
    await open();
    expect((await stat(join(dataDir, "redis", "embedded.sock"))).mode & 0o777).toBe(0o600);
    expect((await stat(join(files(), "1.log"))).mode & 0o777).toBe(0o600);
  });

  test("is shared by a second start, which goes on with its data when the first one leaves", async () => {
    const [first, second] = [await open(), await open()];
    await first.connect().set("key", "value");
    expect(await second.connect().get("key")).toBe("value");
    await first.close();
    const client = second.connect();
    expect(await client.get("key")).toBe("value");
    await client.set("key", "other");
    await second.close();
    expect(await (await open()).connect().get("key")).toBe("other");
  });

  test("tells who watches of a stop, with the time of its own clock", async () => {
    const server = await open();
    const redis = server.connect();
    const thread = "memory:w:c:t";
    const message = { role: "user", id: "m1", author: { id: "U1", name: "Ada" }, text: "go", at: 1 } as const;
    await deliver(redis, thread, message, { onlyIfSession: false, now: 1 });
    const stops = await watchStops(redis, server.connect(), () => undefined);
    const { promise: order, resolve } = Promise.withResolvers<StopOrder>();
    stops.listen(thread, resolve);
    const before = await readRedisTime(redis);
    await orderStop(redis, thread, { by: "Bob", at: 2 });
    const { heardAt = 0, ...heard } = await order;
    expect(heard).toEqual({ by: "Bob", at: 2, seq: 2 });
    expect(heardAt).toBeGreaterThanOrEqual(before);
    await stops.close();
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
    await client.xadd("stream", "7-0", "k", "v");
    await before.close();

    const again = (await open()).connect();
    expect(await again.get("text")).toBe("ø🛑\n");
    expect(await again.getBuffer(Buffer.concat([Buffer.from("bytes"), bytes]))).toEqual(bytes);
    expect(await again.hgetallBuffer("hash")).toEqual({ a: Buffer.from("1"), b: bytes });
    expect(await again.lrange("list", 0, -1)).toEqual(["one", "two", "one"]);
    expect((await again.smembers("set")).toSorted()).toEqual(["x", "y"]);
    expect(await again.zrange("zset", "0", "-1", "WITHSCORES")).toEqual(["m", "1.5", "n", "inf"]);
    expect(await again.pttl("short")).toBeGreaterThan(90_000);
    expect(await again.xrange("stream", "-", "+")).toEqual([["7-0", ["k", "v"]]]);
  });

  test("has after a kill all that it answered, down to the last command", async () => {
    const module = new URL("../../../../src/queue/redis/choose-server.ts", import.meta.url);
    const program = `
      const { connectRedis } = await import(${JSON.stringify(String(module))});
      const log = { info() {}, warn() {} };
      const server = await connectRedis({ dataDir: ${JSON.stringify(dataDir)}, searchPath: "", log });
      const client = server.connect();
      for (let n = 1; ; n++) {
        await client.multi().rpush("list", n).set("last", n).exec();
        process.stdout.write(n + "\\n");
      }`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    for await (const chunk of child.stdout) {
      output += String(chunk);
      if (output.includes("\n50\n")) child.kill("SIGKILL");
    }
    expect(output).toContain("\n50\n");
    const answered = Number(output.split("\n").at(-2));
    const client = (await open()).connect();
    const kept = await client.llen("list");
    expect(kept).toBeGreaterThanOrEqual(answered);
    expect(await client.get("last")).toBe(String(kept));
  });

  test("serves again, with its data, when its thread alone has died", async () => {
    const created = Promise.withResolvers<Worker>();
    process.once("worker", created.resolve);
    const client = (await open()).connect();
    const thread = await created.promise;
    await client.set("key", "kept");
    // As Node does for an exception in it, and when its heap is full.
    thread.emit("error", new Error("ran out of memory"));
    await thread.terminate();
    expect(await client.get("key")).toBe("kept");
    expect(await client.set("after", "1")).toBe("OK");
    expect(lines.join("\n")).toMatch(/The embedded Redis has failed: Error: ran out of memory\./);
  });

  test("refuses damaged files instead of starting without the data", async () => {
    const server = await open();
    await server.connect().set("a", "1");
    await server.connect().set("b", "2");
    await server.close();
    const file = join(files(), "1.log");
    const content = await readFile(file, "latin1");
    await writeFile(file, content.replace('"a"', '"x"'), "latin1");
    await expect(open()).rejects.toThrow(/1\.log is damaged at byte 24: restore it, or move its folder away/);
    expect(await readFile(file, "latin1")).toContain('"b"');
  });

  test("goes on with what an older Heddle kept, and leaves its file under another name", async () => {
    await mkdir(join(dataDir, "redis"), { mode: 0o700 });
    const snapshot = join(dataDir, "redis", "embedded.ndjson");
    const kept = [
      { key: "text", type: "string", value: "one", expiresAt: Date.now() + 100_000 },
      { key: "list", type: "list", value: ["a", "b"] },
      { key: "hash", type: "hash", value: [["f", "v"]] },
      { key: "zset", type: "zset", value: [["m", "Infinity"]] },
    ];
    await writeFile(snapshot, kept.map((line) => `${JSON.stringify(line)}\n`).join(""));
    await (await open()).close();
    expect(existsSync(snapshot)).toBe(false);
    expect(existsSync(`${snapshot}.taken-over`)).toBe(true);
    const client = (await open()).connect();
    expect(await client.lrange("list", 0, -1)).toEqual(["a", "b"]);
    expect(await client.hgetall("hash")).toEqual({ f: "v" });
    expect(await client.zscore("zset", "m")).toBe("inf");
    expect(await client.pttl("text")).toBeGreaterThan(90_000);
  });
});

describe("the files of the embedded server", () => {
  test("are replaced by one that is as large as what is kept, while commands go on", async () => {
    await mkdir(files(), { recursive: true });
    const replaced = Promise.withResolvers<void>();
    const serve = () =>
      serveEmbedded({
        address: join(dataDir, "redis", "embedded.sock"),
        folder: files(),
        oldSnapshot: join(dataDir, "none"),
        rewriteBytes: 100_000,
        async compact(before) {
          compact(files(), before);
          setImmediate(replaced.resolve);
        },
        warn: (text) => lines.push(text),
      });
    const server = await serve();
    const client = new Redis(join(dataDir, "redis", "embedded.sock"));
    let n = 0;
    const isReplaced = () => existsSync(join(files(), "2.base"));
    while (!isReplaced()) await client.set("key", `${++n} ${"x".repeat(1_000)}`);
    await replaced.promise;
    await client.set("after", "1");
    client.disconnect();
    await server.close();
    expect(existsSync(join(files(), "1.log"))).toBe(false);
    expect((await stat(join(files(), "2.base"))).size).toBeLessThan(2_000);
    const next = await serve();
    const again = new Redis(join(dataDir, "redis", "embedded.sock"));
    expect([await again.get("key"), await again.get("after")]).toEqual([`${n} ${"x".repeat(1_000)}`, "1"]);
    again.disconnect();
    await next.close();
    expect(lines).toEqual([]);
  });

  test("that cannot be written make a write an error, and are written when that is possible again", async () => {
    const records: string[] = [];
    let isFull = false;
    const written = {
      append: (effects: readonly object[]) => void records.push(JSON.stringify(effects)),
      failure: () => (isFull ? "ENOSPC" : undefined),
    };
    const state = new RedisServerState({ compatibility: "valkey-8.0", activeExpiryIntervalMs: false });
    const session = new ClientSession({ server: state, executor: createRecordingExecutor(state, written) });
    const run = async (...words: string[]) => {
      const [name = Buffer.of(), ...args] = words.map((each) => Buffer.from(each));
      return JSON.stringify(await session.execute(name, args));
    };
    expect(await run("SET", "a", "1")).toContain("OK");
    isFull = true;
    expect(await run("SET", "a", "2")).toMatch(/cannot write its files: ENOSPC.*MISCONF/);
    expect(await run("EVAL", "return redis.call('SET', KEYS[1], '2')", "1", "a")).toContain("MISCONF");
    expect(await run("STRLEN", "a")).toContain("1");
    isFull = false;
    expect(await run("SET", "a", "33")).toContain("OK");
    expect(records).toHaveLength(2);
    session.close();
    state.close();
  });
});
