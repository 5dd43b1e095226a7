/** Connections that do nothing, or next to nothing, shut nobody out: the real console on real sockets. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { networkOf } from "../../../../src/adapters/console/server/client-address.ts";
import { consoleLimits } from "../../../../src/adapters/console/server/connections.ts";
import { startRedis, type TestRedis } from "../../../fakes/redis.ts";
import { call, openStream } from "../requests.ts";
import { startConsole, type TestConsole } from "../start-console.ts";

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

/** The promise is five seconds, on a machine with nothing else to do. */
const promiseMs = 5 * 5_000;

/** Opens that many connections from an address of this machine. */
async function occupy(console: TestConsole, count: number, first: string, from = "127.0.0.1") {
  const { hostname, port } = new URL(console.url);
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (let n = 0; n < count; n += 1) {
    const socket = connect({ host: hostname, port: Number(port), localAddress: from });
    // Those that are closed for others say so.
    socket.on("error", () => {});
    socket.resume();
    sockets.push(socket);
    await once(socket, "connect");
    if (first) socket.write(first);
  }
  return sockets;
}

async function answersInTime(console: TestConsole): Promise<void> {
  const started = performance.now();
  for (const path of ["/healthz", "/readyz", "/", "/api/status"]) {
    const { status } = await call(console.url, path, { headers: { connection: "close" } });
    // There is no worker here.
    expect([path, status]).toEqual([path, path === "/readyz" ? 503 : 200]);
  }
  expect(performance.now() - started).toBeLessThan(promiseMs);
}

describe("a console full of connections", () => {
  test.each([
    ["that send nothing", ""],
    ["that send a header a byte at a time", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: a"],
    [
      "that never send the body they promise",
      "POST /x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n",
    ],
  ])("answers all the same beside 256 %s", async (_, first) => {
    await using console = await startConsole({ redis });
    const sockets = await occupy(console, 256, first);
    await answersInTime(console);
    if (first.includes("X-Slow")) for (const socket of sockets) socket.write("a");
    await answersInTime(console);
    for (const socket of sockets) socket.destroy();
  });

  test("answers beside more than it holds, from many addresses", async () => {
    await using console = await startConsole({ redis });
    for (let n = 2; n < 8; n += 1) await occupy(console, 100, "", `127.0.0.${n}`);
    await answersInTime(console);
  });

  test("keeps the streams of pages, whatever else comes", async () => {
    await using console = await startConsole({ redis });
    using page = await openStream(console.url, "/api/events");
    await page.next("threads");
    await occupy(console, consoleLimits.address + 50, "");
    const json = { text: "hello", key: "first-key" };
    const sent = { method: "POST", json, headers: { connection: "close" } };
    expect((await call(console.url, "/api/threads/abcdefgh12345678/messages", sent)).status).toBe(200);
    expect(await page.next("thread")).toMatchObject({ id: "abcdefgh12345678" });
  });

  test("closes the longest open one of an address beyond its limit, and lets a named proxy have more", async () => {
    const count = consoleLimits.address + 10;
    await using strict = await startConsole({ redis });
    const [first] = await occupy(strict, count, "");
    if (!first) throw new Error("nothing was opened");
    if (!first.closed) await once(first, "close");

    await using behind = await startConsole({ redis, proxies: ["127.0.0.0/8"] });
    const sockets = await occupy(behind, count, "");
    await answersInTime(behind);
    expect(sockets.filter((socket) => socket.readableEnded || socket.destroyed)).toEqual([]);
  });

  test("ends a header that takes longer than ten seconds", async () => {
    await using console = await startConsole({ redis });
    const [slow] = await occupy(console, 1, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n");
    const answer: string[] = [];
    slow?.on("data", (data) => answer.push(String(data)));
    if (slow) await once(slow, "close");
    expect(answer.join("")).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("takes a file for longer than half a minute, and no other body, nor one of somebody unknown", async () => {
    const token = "correct-horse-battery";
    await using console = await startConsole({ redis, token });
    const body = "a".repeat(1024 * 1024);
    const begin = async (path: string, length: number, as = `Authorization: Bearer ${token}\r\n`) => {
      const type = path.startsWith("attachments") ? "application/octet-stream" : "application/json";
      const head =
        `POST /api/v1/threads/abcdefgh12345678/${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n` +
        `Content-Type: ${type}\r\nContent-Length: ${length}\r\n${as}\r\n`;
      const [socket] = await occupy(console, 1, `${head}a`);
      if (!socket) throw new Error("nothing was opened");
      const answer: string[] = [];
      socket.on("data", (data) => answer.push(String(data)));
      return { socket, closed: once(socket, "close"), read: () => answer.join("") };
    };
    const started = performance.now();
    const [slow, small, stranger, text] = await Promise.all([
      begin("attachments?name=a.bin", body.length),
      begin("attachments?name=b.bin", 2),
      begin("attachments?name=a.bin", body.length, ""),
      begin("messages", body.length / 2),
    ]);
    await Promise.all([small.closed, stranger.closed, text.closed]);
    expect(performance.now() - started).toBeGreaterThan(29_000);
    expect(small.read()).toMatch(/^HTTP\/1\.1 408 [^]*took too long/);
    expect(stranger.read()).toMatch(/^HTTP\/1\.1 401 /);
    expect(text.read()).toMatch(/^HTTP\/1\.1 408 [^]*took too long/);
    // Longer than Node takes to look for what is late.
    await delay(2_000);
    slow.socket.write(body.slice(1));
    await expect.poll(slow.read, { timeout: 10_000 }).toMatch(/^HTTP\/1\.1 200 [^]*"id":/);
  });
});

test.each([
  ["203.0.113.7", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:db8::1", "2001:db8:0:0"],
  ["fe80::1%eth0", "fe80:0:0:0"],
  ["::1", "0:0:0:0"],
])("%s is of the network %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});
