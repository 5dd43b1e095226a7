import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import * as fc from "fast-check";
import { describe, expect, onTestFinished, test, type TestContext } from "vitest";
import { connectRedis } from "../../../src/queue/redis/connect.ts";
import { parseRedisUrl } from "../../../src/queue/redis/remote.ts";

const which = promisify(execFile)("sh", ["-c", "command -v redis-server || command -v valkey-server"]);
const binary = await which.then(
  ({ stdout }) => stdout.trim(),
  () => undefined,
);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}

const noBinary = "neither valkey-server nor redis-server is on PATH";

/** A server as an operator would run it, on a port; does not wait until it is ready. */
function serve(context: TestContext, port: number, ...settings: string[]): void {
  if (binary === undefined) return context.skip(noBinary);
  const server = spawn(binary, ["--bind", "127.0.0.1", "--port", String(port), "--save", "", ...settings]);
  const exited = once(server, "exit");
  onTestFinished(async () => {
    server.kill("SIGKILL");
    await exited;
  });
}

async function open(url: string, patienceMs = 5_000) {
  const lines: string[] = [];
  const note = (text: string) => void lines.push(text);
  const log = { info: note, warn: note };
  const server = await connectRedis({
    url,
    dataDir: "unused",
    production: true,
    allowEmbedded: false,
    patienceMs,
    log,
  });
  onTestFinished(() => server.close());
  return { server, lines };
}

describe("the server that REDIS_URL names", () => {
  test("is waited for, logged without its password, and warned about where it may lose data", async (context) => {
    const port = await freePort();
    // Before anything waits for a server that will not come.
    context.skip(binary === undefined, noBinary);
    const opening = open(`redis://:pa%2Fss@127.0.0.1:${port}/3`);
    serve(context, port, "--requirepass", "pa/ss", "--maxmemory-policy", "allkeys-lru", "--appendonly", "no");
    const { server, lines } = await opening;

    expect(server.kind).toBe("url");
    expect(server.describe).toMatch(new RegExp(`^(Redis|Valkey) [\\d.]+ at redis://127.0.0.1:${port}/3$`));
    expect(lines).toEqual([`Redis: ${server.describe}.`, ...server.warnings]);
    expect(server.warnings).toEqual([
      expect.stringMatching(/maxmemory-policy allkeys-lru\): set maxmemory-policy noeviction\.$/),
      expect.stringMatching(/no append-only file.*set appendonly yes and appendfsync everysec\.$/),
    ]);
    const client = server.connect();
    expect(await client.client("INFO")).toContain(" db=3 ");
  });

  test("is used with a user of its own and without INFO where that is forbidden", async (context) => {
    const port = await freePort();
    serve(context, port, "--user", ..."heddle on >word ~* &* +@all -info".split(" "));
    const { server } = await open(`redis://heddle:word@127.0.0.1:${port}`);
    expect(server.describe).toBe(`Redis of unknown version at redis://heddle@127.0.0.1:${port}/0`);
    expect(server.warnings).toEqual([
      expect.stringContaining("eviction policy and persistence are unchecked"),
    ]);
  });

  test("is refused at once when the password is wrong, without repeating it", async (context) => {
    const port = await freePort();
    serve(context, port, "--requirepass", "right");
    const refusal = await open(`redis://:wrong-one@127.0.0.1:${port}`).catch((error: unknown) => error);
    expect(refusal).toMatchObject({
      name: "RedisUnavailable",
      message: expect.stringContaining("WRONGPASS"),
    });
    expect(String(refusal)).not.toContain("wrong-one");
  });

  test("is never replaced by another one when it is unreachable", async () => {
    const port = await freePort();
    await expect(open(`redis://user:secret@localhost:${port}`, 200)).rejects.toThrow(
      new RegExp(
        `^Redis at redis://user@localhost:${port}/0 \\(REDIS_URL\\) is not usable: .*ECONNREFUSED.*Start that`,
      ),
    );
  });

  test("is refused when it accepts the connection and says nothing", async () => {
    const silent = createServer((socket) => socket.on("error", () => undefined)).listen(0, "127.0.0.1");
    await once(silent, "listening");
    onTestFinished(() => void silent.close());
    const address = silent.address();
    const port = typeof address === "object" && address ? address.port : 0;
    await expect(open(`redis://127.0.0.1:${port}`, 200)).rejects.toThrow("is not usable: no answer in time");
  });

  test("is refused in cluster mode", async (context) => {
    const port = await freePort();
    const folder = await mkdtemp(join(tmpdir(), "heddle-cluster-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    serve(context, port, "--cluster-enabled", "yes", "--cluster-config-file", join(folder, "nodes.conf"));
    await expect(open(`redis://127.0.0.1:${port}`)).rejects.toThrow(
      "runs in cluster mode, which Heddle does not support",
    );
  });
});

describe("REDIS_URL", () => {
  test("may hold any user, password and database", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.nat(), (username, password, db) => {
        const login = `${encodeURIComponent(username)}:${encodeURIComponent(password)}`;
        const { options, place } = parseRedisUrl(`rediss://${login}@example.org:7000/${db}`);
        expect(options).toEqual({
          host: "example.org",
          port: 7000,
          db,
          tls: {},
          ...(username && { username }),
          ...(password && { password }),
        });
        expect(place).toBe(`rediss://${username && `${username}@`}example.org:7000/${db}`);
      }),
    );
  });

  test.each([
    ["redis://example.org", { host: "example.org", port: 6379, db: 0 }],
    ["redis://[::1]:7000/1", { host: "::1", port: 7000, db: 1 }],
    ["redis://:50%off@host", { host: "host", port: 6379, db: 0, password: "50%off" }],
    ["unix:///run/redis.sock", { path: "/run/redis.sock" }],
    ["/run/redis.sock", { path: "/run/redis.sock" }],
  ])("%s is understood", (url, options) => {
    expect(parseRedisUrl(url).options).toEqual(options);
  });

  test.each([
    "",
    "example.org:6379",
    "http://:secret@example.org",
    "redis://:secret@",
    "redis://:secret@host/first",
  ])("%j is refused without being repeated", (url) => {
    expect(() => parseRedisUrl(url)).toThrow(/^REDIS_URL is not understood: expected redis:(?!.*secret)/);
  });
});
