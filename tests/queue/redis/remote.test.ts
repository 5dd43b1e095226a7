import { mkdir } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, type TestContext } from "vitest";
import { connectRedis } from "../../../src/queue/redis/choose-server.ts";
import { measureClockAheadMs } from "../../../src/queue/redis/inspect.ts";
import type { SilenceLimits } from "../../../src/queue/redis/silence.ts";
import { parseRedisUrl } from "../../../src/queue/redis/url.ts";
import { freePort } from "../../fakes/free-port.ts";
import {
  hasRedisServer,
  noRedisServer,
  noTls,
  redisServers,
  type Servers,
} from "../../fakes/redis-servers.ts";
import { listen } from "../../fakes/listen.ts";

let servers: Servers;
beforeEach(async () => {
  servers = await redisServers();
});
afterEach(() => servers.stop());

/** A server as an operator would run it. */
function serve(context: TestContext, port: number, settings: Record<string, string>) {
  context.skip(!hasRedisServer, noRedisServer);
  return servers.start({ port: String(port), ...settings });
}

async function open(url: string, patienceMs = 25_000, caFile?: string, limits?: SilenceLimits) {
  const lines: string[] = [];
  // On a busy machine it says that it waits.
  const note = (text: string) => void (text.includes("does not answer yet") || lines.push(text));
  const log = { info: note, warn: note };
  const server = await connectRedis({
    url,
    dataDir: "unused",

    patienceMs,
    ...(caFile && { caFile }),
    ...(limits && { limits }),
    log,
  });
  onTestFinished(() => server.close());
  return { server, lines };
}

describe("the server that REDIS_URL names", () => {
  test("is warned about when its last write has failed", async (context) => {
    const port = await freePort();
    await serve(context, port, { appendonly: "yes" });
    const client = (await open(`redis://127.0.0.1:${port}`)).server.connect();
    const [, dir = ""] = await client.config("GET", "dir");
    // The snapshot cannot take the place of a folder.
    await mkdir(join(dir, "dump.rdb"), { recursive: true });
    await client.bgsave();
    while (!(await client.info("persistence")).includes("rdb_last_bgsave_status:err")) {
      expect(await client.ping()).toBe("PONG");
    }
    const { server } = await open(`redis://127.0.0.1:${port}`);
    expect(server.warnings).toContainEqual(
      expect.stringMatching(
        /could not write its snapshot the last time .*look at its log and at its disk\.$/,
      ),
    );
  });

  test("says that it is a replica, where a command waits for it to be none", async (context) => {
    const port = await freePort();
    const { client: operator } = await serve(context, port, {});
    const { server, lines } = await open(`redis://127.0.0.1:${port}`);
    const client = server.connect();
    await operator.replicaof("127.0.0.1", 1);
    const written = Promise.all([client.set("a", "1"), client.set("b", "1")]);
    const sentence = /^Redis takes no writes, since it is a replica.*name the primary or its sentinels/;
    await expect.poll(() => lines).toContainEqual(expect.stringMatching(sentence));
    // Every command meets it again and again.
    await delay(500);
    expect(lines.filter((line) => sentence.test(line))).toHaveLength(1);
    const start = open(`redis://127.0.0.1:${port}`);
    await expect(start).rejects.toThrow(/ is a replica and takes no writes\. Make it a primary, or name the/);
    await operator.call("replicaof", "no", "one");
    expect(await written).toEqual(["OK", "OK"]);
  });

  test("says why it takes no connection any more, once its password was changed", async (context) => {
    const port = await freePort();
    const { client: operator } = await serve(context, port, {});
    const { server, lines } = await open(`redis://127.0.0.1:${port}`);
    const client = server.connect();
    await client.ping();
    await operator.config("SET", "requirepass", "another");
    await operator.call("client", "kill", "type", "normal", "skipme", "yes");
    const sentence =
      "Redis refuses the connection: it wants a password. Put it into REDIS_URL (redis://:password@host:6379";
    await expect.poll(() => lines).toContainEqual(expect.stringContaining(sentence));
    await delay(500);
    expect(lines.filter((line) => line.includes("refuses the connection"))).toHaveLength(1);
    await operator.config("SET", "requirepass", "");
    await expect.poll(() => lines, { timeout: 5_000 }).toContain("Redis is back.");
    expect(await client.ping()).toBe("PONG");
  });

  test("tells its time", async (context) => {
    const port = await freePort();
    await serve(context, port, {});
    const { server } = await open(`redis://127.0.0.1:${port}`);
    const ahead = await measureClockAheadMs(server.connect(), () => Date.now() - 60_000);
    // Give or take half the way there and back, which a busy machine makes long.
    expect(Math.round(ahead / 60_000)).toBe(1);
  });

  test("is waited for, logged without its password, and warned about where it may lose data", async (context) => {
    const port = await freePort();
    // Before anything waits for a server that will not come.
    context.skip(!hasRedisServer, noRedisServer);
    const opening = open(`redis://:pa%2Fss@127.0.0.1:${port}/3`);
    await serve(context, port, {
      requirepass: "pa/ss",
      "maxmemory-policy": "allkeys-lru",
      appendonly: "no",
    });
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
    await serve(context, port, { user: "heddle on >word ~* &* +@all -info" });
    const { server } = await open(`redis://heddle:word@127.0.0.1:${port}`);
    expect(server.describe).toBe(`Redis of unknown version at redis://heddle@127.0.0.1:${port}/0`);
    expect(server.warnings).toEqual([
      expect.stringContaining("eviction policy and persistence are unchecked"),
    ]);
  });

  test.for([
    [
      ":wrong-one@",
      "it does not know this user with this password. Put the right user and password into REDIS_URL",
    ],
    ["nobody:wrong-one@", "it does not know this user with this password. Put the right user"],
    ["", "it wants a password. Put it into REDIS_URL (redis://:password@host:6379"],
  ])("is refused at once for the login %j, without repeating it", async ([login, why], context) => {
    const port = await freePort();
    await serve(context, port, { requirepass: "right" });
    const refusal = await open(`redis://${login}127.0.0.1:${port}`).catch((error: unknown) => error);
    expect(refusal).toMatchObject({
      name: "RedisUnavailable",
      message: expect.stringContaining(` is not usable: ${why}`),
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
    const silent = createServer((socket) => socket.on("error", () => undefined));
    const port = await listen(silent);
    onTestFinished(() => void silent.close());
    await expect(open(`redis://127.0.0.1:${port}`, 200)).rejects.toThrow("is not usable: no answer in time");
  });

  test.for([
    ["6.0.16", undefined],
    ["5.0.7", undefined],
    ["6.2.0", "Redis 6.2.0"],
  ])("of version %s is refused where BullMQ needs a newer one", async ([version, name]) => {
    const info = `redis_version:${version}\r\naof_enabled:1\r\n`;
    const old = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.on("data", (data) => {
        for (const command of String(data)
          .split(/\*\d+\r\n/)
          .slice(1))
          socket.write(/\binfo\b/i.test(command) ? `$${info.length}\r\n${info}\r\n` : "+OK\r\n");
      });
    });
    const port = await listen(old);
    onTestFinished(() => void old.close());
    const opened = open(`redis://127.0.0.1:${port}`).then(
      ({ server }) => server.describe,
      (error: unknown) => String(error),
    );
    expect(await opened).toContain(
      name ?? `RedisUnavailable: Redis ${version} is older than 6.2, which Heddle needs: upgrade it`,
    );
  });

  test("is refused in cluster mode", async (context) => {
    const port = await freePort();
    await serve(context, port, { "cluster-enabled": "yes", "cluster-port": String(await freePort()) });
    await expect(open(`redis://127.0.0.1:${port}`)).rejects.toThrow(
      "is a node of a cluster: write redis+cluster://",
    );
  });
});

/** Passes connections to the port on, until it holds back what clients send and sends something else in its place. */
async function startGarblingRelay(to: number) {
  const pairs = new Set<[Socket, Socket]>();
  const relay = createServer((client) => {
    const upstream = connect(to, "127.0.0.1");
    pairs.add([client, upstream]);
    for (const socket of [client, upstream]) socket.on("error", () => undefined);
    client.pipe(upstream).pipe(client);
    client.once("close", () => upstream.destroy());
  });
  const port = await listen(relay);
  onTestFinished(() => void relay.close());
  return {
    port,
    hold() {
      for (const [client, upstream] of pairs) client.unpipe(upstream).pause();
    },
    garble() {
      // A record of TLS whose content nobody has encrypted.
      const record = Buffer.concat([Buffer.from([23, 3, 3, 0, 32]), Buffer.alloc(32)]);
      for (const [, upstream] of pairs) upstream.write(record);
      pairs.clear();
    },
  };
}

describe("A server with TLS", () => {
  test("is trusted by the certificate in REDIS_CA, and by no other", async (context) => {
    context.skip(!hasRedisServer, noRedisServer);
    context.skip(noTls !== undefined, noTls);
    const encrypted = await redisServers({ tls: true });
    onTestFinished(() => encrypted.stop());
    const { port } = await encrypted.start({ requirepass: "word" });
    const url = `rediss://:word@127.0.0.1:${port}`;

    const { server } = await open(url, 25_000, encrypted.caFile);
    expect(await server.connect().ping()).toBe("PONG");
    await expect(open(url, 300)).rejects.toThrow(
      /self-signed certificate.*\. Name the file with the certificate of its authority in REDIS_CA/,
    );
    await expect(open(url, 300, join(encrypted.folder, "no.pem"))).rejects.toThrow(
      /^REDIS_CA names .*no\.pem, which cannot be read .*: correct it\.$/,
    );
  });

  test("may end a connection with two errors, and the process goes on over another one", async (context) => {
    context.skip(!hasRedisServer, noRedisServer);
    context.skip(noTls !== undefined, noTls);
    const encrypted = await redisServers({ tls: true });
    onTestFinished(() => encrypted.stop());
    const { port } = await encrypted.start();
    const relay = await startGarblingRelay(port);
    const limits = { tickMs: 50, askMs: 100, answerMs: 1_000 };
    const { server } = await open(`rediss://127.0.0.1:${relay.port}`, 25_000, encrypted.caFile, limits);
    const client = server.connect({ maxRetriesPerRequest: null });
    await client.ping();
    const uncaught: unknown[] = [];
    const note = (error: unknown) => void uncaught.push(error);
    process.on("uncaughtException", note);
    onTestFinished(() => void process.off("uncaughtException", note));
    relay.hold();
    // More than fits on the way, so that what is behind the server's alert stays unanswered.
    const written = client.set("key", Buffer.alloc(16_000_000));
    await expect.poll(() => client.stream.writableLength).toBeGreaterThan(0);
    relay.garble();
    expect(await written).toBe("OK");
    expect(uncaught).toEqual([]);
  });
});

describe("REDIS_URL", () => {
  test("may hold any user, password and database", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.nat(), (username, password, db) => {
        const login = `${encodeURIComponent(username)}:${encodeURIComponent(password)}`;
        const { target, place } = parseRedisUrl(`rediss://${login}@example.org:7000/${db}`);
        expect(target.options).toEqual({
          reconnectOnError: expect.any(Function),
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
    expect(parseRedisUrl(url).target.options).toMatchObject(options);
  });

  test.each([
    [
      "redis+cluster://:word@a:1,b,[::1]:3",
      {
        nodes: [
          { host: "a", port: 1 },
          { host: "b", port: 6379 },
          { host: "::1", port: 3 },
        ],
        options: { password: "word" },
      },
      "redis+cluster://a:1,b:6379,[::1]:3",
    ],
    [
      "rediss+sentinel://u:p@a,b:2/house/4",
      {
        options: {
          sentinels: [
            { host: "a", port: 26379 },
            { host: "b", port: 2 },
          ],
          name: "house",
          db: 4,
          username: "u",
          tls: {},
          sentinelTLS: {},
        },
      },
      "rediss+sentinel://u@a:26379,b:2/house/4",
    ],
  ])("%s names several servers", (url, target, place) => {
    expect(parseRedisUrl(url)).toMatchObject({ target, place });
  });

  test.each([
    "",
    "redis://:secret@a,b",
    "redis://:secret@a/0/1",
    "redis+cluster://:secret@a/1",
    "redis+cluster://:secret@a,,b",
    "redis+sentinel://:secret@a",
    "redis+sentinel://:secret@a:b/house",
    "redis+mesh://:secret@a",
    "example.org:6379",
    "http://:secret@example.org",
    "redis://:secret@",
    "redis://:secret@host/first",
  ])("%j is refused without being repeated", (url) => {
    expect(() => parseRedisUrl(url)).toThrow(/^REDIS_URL is not understood: expected redis:(?!.*secret)/);
  });
});
