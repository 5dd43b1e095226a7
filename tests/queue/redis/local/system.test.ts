import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connectRedis, type RedisSettings } from "../../../../src/queue/redis/choose-server.ts";
import { isServed } from "../../../../src/queue/redis/local/socket.ts";
import type { RedisServer } from "../../../../src/queue/redis/server.ts";
import { startRedis } from "../../../fakes/redis.ts";

const found = await promisify(execFile)("sh", [
  "-c",
  "command -v valkey-server || command -v redis-server",
]).then(
  () => true,
  () => false,
);

let dataDir = "";
let opened: RedisServer[] = [];
let lines: string[] = [];
/** On a busy machine it says that it waits. */
const note = (text: string) => void (text.includes("does not answer yet") || lines.push(text));
const log = { info: note, warn: note };

beforeEach(async (context) => {
  if (!found) context.skip("neither valkey-server nor redis-server is on PATH");
  dataDir = await mkdtemp(join(tmpdir(), "heddle system "));
  opened = [];
  lines = [];
});

afterEach(async () => {
  for (const server of opened) await server.close();
  // A server that is ending may still be writing.
  await rm(dataDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});

async function open(settings: Partial<RedisSettings> = {}): Promise<RedisServer> {
  const server = await connectRedis({ dataDir, log, ...settings });
  opened.push(server);
  return server;
}

const socket = () => join(dataDir, "redis", "redis.sock");
const serverPid = async () => Number(await readFile(join(dataDir, "redis", "redis.pid"), "utf8"));

/** Another process that opens the server in `folder`; resolves when the program has written its first line. */
async function otherProcess(folder: string, program: string) {
  const module = new URL("../../../../src/queue/redis/choose-server.ts", import.meta.url);
  const opening = `
    const { connectRedis } = await import(${JSON.stringify(module)});
    const log = { info() {}, warn() {} };
    const server = await connectRedis({ dataDir: ".",log });
    const client = server.connect();`;
  const node = ["--input-type=module", "-e", opening + program];
  const child = spawn(process.execPath, node, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const line = String((await once(child.stdout, "data"))[0]);
  return { child, line, exited: once(child, "exit") };
}

describe("the server of the system", () => {
  test("keeps everything on disk, throws nothing away and is open to its user alone", async () => {
    const server = await open();
    const client = server.connect();
    const settings = await client.config("GET", "appendonly", "appendfsync", "maxmemory-policy", "save");
    expect(settings).toEqual(expect.arrayContaining(["yes", "everysec", "noeviction", ""]));
    expect((await stat(socket())).mode & 0o777).toBe(0o600);
    expect((await stat(join(dataDir, "redis"))).mode & 0o777).toBe(0o700);
    expect(server).toMatchObject({ kind: "system", warnings: [] });
    expect(lines).toEqual([`Redis: ${server.describe}.`]);
  });

  test("does not see our environment", async () => {
    process.env["HEDDLE_TEST_SECRET"] = "sesame";
    await open();
    delete process.env["HEDDLE_TEST_SECRET"];
    expect(await readFile(`/proc/${await serverPid()}/environ`, "utf8")).not.toContain("sesame");
  });

  test("is shared by a second start, which starts it again when the first one leaves", async () => {
    const first = await open();
    await first.connect().set("key", "value");
    const pid = await serverPid();
    const second = await open();
    expect(await serverPid()).toBe(pid);

    await first.close();
    expect(await second.connect().get("key")).toBe("value");
    expect(await serverPid()).not.toBe(pid);
    await second.close();
    expect(await isServed(socket())).toBe(false);
  });

  test("is one even for starts at the same moment", async () => {
    const servers = await Promise.all([open(), open(), open()]);
    await servers[0]?.connect().set("key", "value");
    expect(await servers[1]?.connect().get("key")).toBe("value");
    expect(await servers[2]?.connect().get("key")).toBe("value");
  });

  test("ends with a process that crashes, and the next start has its data", async () => {
    const owner = await otherProcess(dataDir, `await client.set("key", "value"); console.log("done");`);
    const { pid } = owner.child;
    owner.child.kill("SIGKILL");
    await owner.exited;
    // At once, so that it may meet the server while that is ending.
    const next = await open();
    expect(await next.connect().get("key")).toBe("value");
    // Not by its file, which the server that is ending may take away.
    const info = await next.connect().info("server");
    expect(Number(/process_id:(\d+)/.exec(info)?.[1] ?? expect.fail(info))).not.toBe(pid);
  });

  test("survives the crash of another process that uses it", async () => {
    const server = await open();
    const other = await otherProcess(dataDir, `await client.set("key", "value"); console.log("done");`);
    other.child.kill("SIGKILL");
    await other.exited;
    expect(await server.connect().get("key")).toBe("value");
  });

  test("starts with its data after it was killed with its owner, in spite of the dead socket", async () => {
    const owner = await otherProcess(dataDir, `await client.set("key", "value"); console.log("done");`);
    process.kill(owner.child.pid ?? 0, "SIGSTOP");
    process.kill(await serverPid(), "SIGKILL");
    owner.child.kill("SIGKILL");
    await owner.exited;
    expect(existsSync(socket())).toBe(true);

    const next = await open();
    expect(await next.connect().get("key")).toBe("value");
  });

  test("is started again when it is killed under us", async () => {
    const server = await open();
    const client = server.connect();
    await client.set("key", "value");
    process.kill(await serverPid(), "SIGKILL");
    expect(await client.get("key")).toBe("value");
  });

  test("is reached by a relative path where the absolute one is too long for a socket", async () => {
    const deep = join(dataDir, "x".repeat(60), "y".repeat(60));
    await mkdir(deep, { recursive: true });
    const { line, exited } = await otherProcess(
      deep,
      `console.log(await client.ping()); await server.close();`,
    );
    expect(line).toBe("PONG\n");
    await exited;
    await expect(open({ dataDir: deep })).rejects.toThrow(
      "set HEDDLE_DATA_DIR to a path of less than 108 bytes",
    );
  });

  test("says that the data folder cannot be used, and what to do", async () => {
    const file = join(dataDir, "file");
    await writeFile(file, "");
    await expect(open({ dataDir: file })).rejects.toThrow(
      /^The data folder .*file cannot be used \(EEXIST.*set HEDDLE_DATA_DIR to a folder that is\.$/,
    );
  });

  test("says why it did not start", async () => {
    await mkdir(join(dataDir, "redis", "appendonlydir"), { recursive: true });
    await writeFile(join(dataDir, "redis", "appendonlydir", "appendonly.aof.manifest"), "nonsense\n");
    await expect(open()).rejects.toThrow(
      /did not start in .*redis: .*AOF manifest.* Correct that, or set REDIS_URL\./,
    );
  });

  test("is found where only the package without a service is installed", async ({ skip }) => {
    const path = (
      await promisify(execFile)("sh", ["-c", "command -v redis-check-rdb || true"])
    ).stdout.trim();
    skip(!path, "there is no redis-check-rdb");
    const folder = join(dataDir, "bin");
    await mkdir(folder);
    await symlink(path, join(folder, "redis-check-rdb"));
    const server = await open({ searchPath: folder });
    expect(server.kind).toBe("system");
    expect(await server.connect().ping()).toBe("PONG");
  });

  test("is preferred in its Valkey version", async () => {
    const folder = join(dataDir, "bin");
    await mkdir(folder);
    await writeFile(
      join(folder, "valkey-server"),
      '#!/bin/sh\necho "* Valkey was asked" > redis.log; exit 1\n',
    );
    await chmod(join(folder, "valkey-server"), 0o755);
    const searchPath = `${folder}${delimiter}${process.env["PATH"]}`;
    await expect(open({ searchPath })).rejects.toThrow("Valkey was asked");
  });
});

describe("what the embedded server kept", () => {
  /** Keys of all types, in an embedded server that is gone again. */
  async function keep(): Promise<void> {
    const embedded = await open({ searchPath: "" });
    const client = embedded.connect();
    await client.set("text", Buffer.from([0, 255, 10]), "PX", 100_000);
    await client.hset("hash", { a: "1", b: "2" });
    await client.rpush("list", ...Array.from({ length: 2_500 }, (_, i) => String(i)));
    await client.sadd("set", "x", "y");
    await client.zadd("zset", 1.5, "m", "+inf", "n");
    await client.xadd("stream", "7-0", "k", "v", "k", "w");
    await client.xadd("stream", "9-0", "gone", "1");
    await client.xdel("stream", "9-0");
    await embedded.close();
    lines = [];
  }

  async function expectAll(server: RedisServer): Promise<void> {
    const client = server.connect();
    expect(await client.dbsize()).toBe(6);
    expect(await client.getBuffer("text")).toEqual(Buffer.from([0, 255, 10]));
    expect(await client.pttl("text")).toBeGreaterThan(90_000);
    expect(await client.hgetall("hash")).toEqual({ a: "1", b: "2" });
    expect(await client.lrange("list", 0, -1)).toEqual(Array.from({ length: 2_500 }, (_, i) => String(i)));
    expect((await client.smembers("set")).toSorted()).toEqual(["x", "y"]);
    expect(await client.zrange("zset", "0", "-1", "WITHSCORES")).toEqual(["m", "1.5", "n", "inf"]);
    expect(await client.xrange("stream", "-", "+")).toEqual([["7-0", ["k", "v", "k", "w"]]]);
    await expect(client.xadd("stream", "9-0", "k", "v")).rejects.toThrow("equal or smaller");
  }

  const files = () => join(dataDir, "redis", "embedded");

  test("is moved to a server of the system once, and its files are kept under another name", async () => {
    await keep();
    const server = await open();
    await expectAll(server);
    expect(lines[0]).toMatch(
      /^Moved 6 keys of the embedded Redis to Redis .*; its files stay as .*embedded\.moved\.$/,
    );
    expect(server.warnings).toEqual([]);
    expect(existsSync(files())).toBe(false);
    expect(existsSync(`${files()}.moved`)).toBe(true);
    await server.connect().del("hash");
    await server.close();
    expect(await (await open()).connect().exists("hash")).toBe(0);
  });

  test("is moved again from the start when the first move was interrupted", async () => {
    const server = await open();
    await server.connect().mset("embedded-redis:adoption", "begun", "list", "half");
    await server.close();
    await keep();
    await expectAll(await open());
  });

  test("is moved to the server that REDIS_URL names", async () => {
    const remote = await startRedis();
    try {
      await keep();
      await expectAll(await open({ url: remote.path }));
      expect(existsSync(`${files()}.moved`)).toBe(true);
    } finally {
      await remote.stop();
    }
  });

  test("is only told of by a command that reads, and moved by the next start", async () => {
    const remote = await startRedis();
    try {
      await keep();
      for (const settings of [{ url: remote.path }, {}]) {
        const reading = await open({ ...settings, adopts: false });
        expect(reading.warnings.join("\n")).toMatch(
          /embedded holds what the embedded Redis kept: the next start moves it to .*Redis/,
        );
        expect(await reading.connect().dbsize()).toBe(0);
        expect(existsSync(files())).toBe(true);
        await reading.close();
      }
      await expectAll(await open({ url: remote.path }));
    } finally {
      await remote.stop();
    }
  });

  test("is left alone where the other server has content, and the log says what to do", async () => {
    const server = await open();
    await server.connect().set("own", "1");
    await server.close();
    await keep();
    const again = await open();
    expect(again.warnings.join("\n")).toMatch(
      /embedded holds what the embedded Redis kept, .* has content of its own/,
    );
    expect(await again.connect().dbsize()).toBe(1);
    expect(existsSync(files())).toBe(true);
  });
});
