import { Queue, Worker } from "bullmq";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connectRedis } from "../../../src/queue/redis/choose-server.ts";
import { queuePrefix } from "../../../src/queue/redis/keys.ts";
import { lookSeconds } from "../../../src/queue/turns/turn-worker.ts";
import {
  caughtUp,
  hasRedisServer,
  noRedisServer,
  redisServers,
  type Servers,
} from "../../fakes/redis-servers.ts";

let servers: Servers;
const closers: (() => Promise<void>)[] = [];
beforeEach(async (context) => {
  context.skip(!hasRedisServer, noRedisServer);
  servers = await redisServers();
});
afterEach(async () => {
  if (!hasRedisServer) return;
  for (const close of closers.splice(0).toReversed()) await close();
  await servers.stop();
});

async function open(url: string, more: { sentinelPassword?: string; patienceMs?: number } = {}) {
  const server = await connectRedis({
    ...{ url, dataDir: "unused", patienceMs: 25_000, ...more },
    log: { info: () => undefined, warn: () => undefined },
  });
  closers.push(() => server.close());
  return server;
}

/** Longer than BullMQ waits for the answer of a worker's blocking command before it makes the connection anew. */
const awayMs = 2_000;

/** A queue whose jobs wait for the test: what was added before a failover must be done after it. */
async function jobsOn(server: Awaited<ReturnType<typeof open>>) {
  const client = () => server.connect({ maxRetriesPerRequest: null });
  // The prefix lies on the first primary of a cluster.
  const prefix = queuePrefix;
  const queue = new Queue<number>("jobs", { connection: client(), prefix });
  const done = new Set<number>();
  const worker = new Worker<number>("jobs", async (job) => void done.add(job.data), {
    ...{ connection: client(), prefix, drainDelay: lookSeconds },
  });
  queue.on("error", () => undefined);
  worker.on("error", () => undefined);
  closers.push(async () => {
    await worker.close(true);
    await queue.close();
  });
  return {
    add: (number: number) => queue.add("job", number),
    isDone: (number: number) => expect.poll(() => done.has(number)).toBe(true),
  };
}

describe("A cluster", () => {
  test("is used through any of its nodes, and rides out the death of a primary", async () => {
    const { servers: nodes, replica } = await servers.cluster(undefined, awayMs);
    const [first, second] = nodes;
    const server = await open(`redis+cluster://127.0.0.1:1,127.0.0.1:${second.port}`);
    expect(server.describe).toMatch(/^(Redis|Valkey) [\d.]+ at redis\+cluster:\/\/127/);
    const client = server.connect({ maxRetriesPerRequest: null });
    // Slots of all three.
    const names = ["a", "b", "c", "d", "e", "f"];
    await Promise.all(names.map((name) => client.set(name, name)));
    const jobs = await jobsOn(server);
    await jobs.add(1);
    await jobs.isDone(1);

    const heard: string[] = [];
    const subscriber = server.connect();
    subscriber.on("message", (_channel, text) => heard.push(text));
    await subscriber.subscribe("news");

    await caughtUp(first, replica);
    await first.kill();
    expect(await Promise.all(names.map((name) => client.get(name)))).toEqual(names);
    await Promise.all(names.map((name) => client.set(name, "new")));
    expect(await replica.client.info("replication")).toContain("role:master");
    await jobs.add(2);
    await jobs.isDone(2);
    await expect
      .poll(async () => {
        await client.publish("news", "still here");
        return heard[0];
      })
      .toBe("still here");
  });

  test("that is none, and one that is named as a single server, are told apart", async () => {
    const { port } = await servers.start();
    await expect(open(`redis+cluster://127.0.0.1:${port}`)).rejects.toThrow(
      /cluster support disabled\. It is no cluster: write redis:\/\/ instead of redis\+cluster:\/\//,
    );
  });
});

describe("A sentinel", () => {
  test("names the primary, and the next one when it dies", async () => {
    const passwords = { primary: "data", sentinel: "watch" };
    const { primary, replica, sentinel } = await servers.sentinel(passwords);
    const list = `127.0.0.1:1,127.0.0.1:${sentinel.port}`;
    const server = await open(`redis+sentinel://:data@${list}/house/1`, { sentinelPassword: "watch" });
    const client = server.connect({ maxRetriesPerRequest: null });
    await client.set("key", "value");
    const jobs = await jobsOn(server);
    await jobs.add(1);
    await jobs.isDone(1);
    await caughtUp(primary, replica);

    await primary.kill();
    await client.set("after", "it");
    expect(await client.get("key")).toBe("value");
    await replica.client.select(1);
    expect(await replica.client.mget("key", "after")).toEqual(["value", "it"]);
    await jobs.add(2);
    await jobs.isDone(2);
  });

  test("that hangs with its primary is passed over for the others, and what was sent waits for the next primary", async () => {
    const { primary, replica, sentinel } = await servers.sentinel();
    const hung = await servers.start();
    const url = `redis+sentinel://127.0.0.1:${sentinel.port}/house`;
    const server = await open(url.replace("//", `//127.0.0.1:${hung.port},`));
    const client = server.connect({ maxRetriesPerRequest: null });
    const idle = server.connect({ maxRetriesPerRequest: null });
    await Promise.all([client.set("key", "value"), idle.ping()]);
    await caughtUp(primary, replica);
    hung.freeze();
    primary.freeze();
    expect(await client.incr("number")).toBe(1);
    // The old primary would take it, and lose it when it learns that it is a replica.
    primary.thaw();
    await idle.set("idle", "kept");
    expect(await replica.client.mget("key", "number", "idle")).toEqual(["value", "1", "kept"]);
  });

  test("that does not know the name, or wants a password, is told of", async () => {
    const { sentinel } = await servers.sentinel({ primary: "data", sentinel: "watch" });
    const place = `127.0.0.1:${sentinel.port}`;
    const opened = (name: string, sentinelPassword?: string) =>
      open(`redis+sentinel://:data@${place}/${name}`, {
        patienceMs: 500,
        ...(sentinelPassword && { sentinelPassword }),
      });
    await expect(opened("home", "watch")).rejects.toThrow(
      /no sentinel names a primary: ERR No such master .*\. Correct the name that follows the sentinels/,
    );
    await expect(opened("house")).rejects.toThrow(
      /no sentinel names a primary: it wants a password\. Put it into .*REDIS_SENTINEL_PASSWORD/,
    );
  });
});
