import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connectRedis, type RedisSettings } from "../../../../src/queue/redis/choose-server.ts";
import { isServed } from "../../../../src/queue/redis/local/socket.ts";
import type { RedisServer } from "../../../../src/queue/redis/server.ts";

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
  const server = await connectRedis({ dataDir, production: true, allowEmbedded: false, log, ...settings });
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
    const server = await connectRedis({ dataDir: ".", production: true, allowEmbedded: false, log });
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
    expect(await serverPid()).not.toBe(pid);
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

  test("is asked for when production has no Redis at all", async () => {
    await expect(open({ searchPath: "" })).rejects.toThrow(
      /There is no Redis: REDIS_URL is not set.*apt install/,
    );
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
