import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { connectRedis } from "../../../src/queue/redis/choose-server.ts";
import { connectWithRetry } from "../../../src/queue/redis/connect-with-retry.ts";
import { followPrimaries } from "../../../src/queue/redis/primaries.ts";
import { parseRedisUrl } from "../../../src/queue/redis/url.ts";
import { whileAnswering } from "../../../src/queue/redis/while-answering.ts";
import { hasRedisServer, noRedisServer, redisServers, type Servers } from "../../fakes/redis-servers.ts";

const quiet = { info: () => undefined, warn: () => undefined };

describe("A cluster", () => {
  let servers: Servers;
  beforeEach(async (context) => {
    context.skip(!hasRedisServer, noRedisServer);
    servers = await redisServers();
  });
  afterEach(() => servers?.stop());

  test("is not told as lost when Heddle ends", async () => {
    const { servers: nodes } = await servers.cluster();
    const { target } = parseRedisUrl(`redis+cluster://127.0.0.1:${nodes[0].port}`);
    const told: string[] = [];
    const log = { ...quiet, warn: (line: string) => void told.push(line) };
    const link = await connectWithRetry(target, { patienceMs: 30_000, mayBeLate: true, log });
    if (!link.ok) throw new Error(link.cause);
    // So that it is connected to each of them.
    for (const key of ["a", "b", "c", "d", "e", "f"]) await link.control.set(key, key);
    const ended = once(link.control, "end");
    link.control.disconnect();
    await ended;
    await setImmediate();
    expect(told).toEqual([]);
  });

  test("without a primary is waited for at the start, and then refused by one sentence that says what to do", async () => {
    const cluster = await servers.smallCluster();
    await cluster.lose();
    const opened = connectRedis({ url: cluster.url, dataDir: "unused", patienceMs: 1_000, log: quiet });
    await expect(opened).rejects.toThrow(
      /is not usable: its cluster has no primary that takes commands\. Look at its nodes .*\.$/,
    );
    // Where it has one in time, nothing is said.
    const waiting = connectRedis({ url: cluster.url, dataDir: "unused", patienceMs: 30_000, log: quiet });
    await cluster.bringBack();
    const server = await waiting;
    onTestFinished(() => server.close());
    expect(server.isAnswering()).toBe(true);
  });

  test("is told once when its primary goes and once when it is back", async () => {
    const cluster = await servers.smallCluster();
    const { target } = parseRedisUrl(cluster.url);
    const link = await connectWithRetry(target, { patienceMs: 30_000, mayBeLate: true, log: quiet });
    if (!link.ok) throw new Error(link.cause);
    onTestFinished(() => link.control.disconnect());
    const told: string[] = [];
    let heard = Promise.withResolvers<void>();
    const tell = (line: string) => {
      told.push(line);
      heard.resolve();
    };
    const primaries = followPrimaries(link.control, { info: tell, warn: tell }, 1_000);
    onTestFinished(primaries.end);
    await cluster.lose();
    await heard.promise;
    expect(primaries.isThere()).toBe(false);
    heard = Promise.withResolvers();
    await cluster.bringBack();
    await heard.promise;
    expect(primaries.isThere()).toBe(true);
    expect(told).toEqual([
      expect.stringContaining("has no primary that takes commands"),
      expect.stringContaining("takes commands again"),
    ]);
  });
});

test("Who waits for something for as long as Redis may be away is told what becomes of it", async () => {
  const never = new Promise<never>(() => undefined);
  const away = { awayMs: 500, silentMs: 60_000, problem: "It is kept." };
  const gone = { redis: { status: "reconnecting" as const }, isAnswering: () => true };
  await expect(whileAnswering(never, gone, away)).rejects.toThrow("It is kept.");
});
