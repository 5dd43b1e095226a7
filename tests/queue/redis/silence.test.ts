import { createServer } from "node:net";
import { setImmediate, setTimeout as delay } from "node:timers/promises";
import { Queue, Worker } from "bullmq";
import type { Redis } from "ioredis";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { connectRedis } from "../../../src/queue/redis/choose-server.ts";
import { openClient } from "../../../src/queue/redis/client.ts";
import { queuePrefix } from "../../../src/queue/redis/keys.ts";
import { silences } from "../../../src/queue/redis/silence.ts";
import { openTurnQueue } from "../../../src/queue/turns/wake-queue.ts";
import { listen } from "../../fakes/listen.ts";
import { caughtUp, hasRedisServer, noRedisServer, redisServers } from "../../fakes/redis-servers.ts";
import { startSilentRelay } from "../../fakes/silent-relay.ts";
import { startTroubledRelay } from "../../fakes/troubled-relay.ts";

/** A tenth of those of production. */
const limits = { tickMs: 50, askMs: 100, answerMs: 400 };

beforeEach((context) => context.skip(!hasRedisServer, noRedisServer));

/** A Redis behind a proxy, with what it says in the log. */
async function openBehindRelay() {
  const servers = await redisServers();
  onTestFinished(() => servers.stop());
  const direct = await servers.start();
  const relay = await startSilentRelay({ port: direct.port, host: "127.0.0.1" });
  onTestFinished(() => relay.close());
  const { server, lines } = await open(`redis://127.0.0.1:${relay.port}`);
  return { server, lines, relay, direct };
}

async function open(url: string, of = limits) {
  const lines: string[] = [];
  const note = (text: string) => void lines.push(text);
  const server = await connectRedis({
    ...{ url, dataDir: "unused", production: true, allowEmbedded: false, limits: of },
    log: { info: note, warn: note },
  });
  onTestFinished(() => server.close());
  lines.splice(0);
  return { server, lines };
}

const connect = (server: { connect(options: object): Redis }) =>
  server.connect({ maxRetriesPerRequest: null });

/** Connections that this process gives up from here on. */
function countSilences() {
  let count = 0;
  const note = () => void (count += 1);
  silences.subscribe(note);
  onTestFinished(() => silences.unsubscribe(note));
  return () => count;
}

/** What a subscriber hears, published again and again until it does. */
async function hears(subscriber: Redis, publisher: Redis, text: string) {
  const heard: string[] = [];
  subscriber.on("message", (_channel, message) => heard.push(message));
  await expect
    .poll(async () => {
      await publisher.publish("news", text);
      return heard;
    })
    .toContain(text);
}

describe("A connection that is open and silent", () => {
  test("is given up when a command waits for its answer, which comes over another one", async () => {
    const { server, relay, lines } = await openBehindRelay();
    const client = connect(server);
    await client.set("key", "value");
    relay.silence();
    expect(await client.get("key")).toBe("value");
    await expect.poll(() => lines).toHaveLength(2);
    expect(lines).toEqual([
      "Redis has not answered for 0.5 s although its connection is open: every silent connection is given up and made anew until it answers.",
      "Redis answers again.",
    ]);
  });

  test("is given up when it only listens, and what is published then is heard again", async () => {
    const { server, relay, direct } = await openBehindRelay();
    const subscriber = server.connect();
    await subscriber.subscribe("news");
    relay.silence();
    await hears(subscriber, direct.client, "still here");
  });

  test("is given up when a worker waits for jobs over it", async () => {
    const { server, relay, direct } = await openBehindRelay();
    const done = Promise.withResolvers<number>();
    const worker = new Worker<number>("jobs", async (job) => done.resolve(job.data), {
      ...{ connection: connect(server), prefix: queuePrefix },
    });
    worker.on("error", () => undefined);
    onTestFinished(() => worker.close(true));
    await worker.waitUntilReady();
    relay.silence();
    const queue = new Queue<number>("jobs", { connection: direct.client, prefix: queuePrefix });
    await queue.add("job", 7);
    expect(await done.promise).toBe(7);
  });

  test("is given up again and again while new ones are silent too, and that is said once", async () => {
    const { server, relay, lines } = await openBehindRelay();
    const client = connect(server);
    const subscriber = server.connect();
    await subscriber.subscribe("news");
    const count = countSilences();
    relay.silence({ alsoNew: true });
    const answer = client.set("key", "value");
    await expect.poll(() => server.isAnswering()).toBe(false);
    // Each of the three more than once.
    await expect.poll(count).toBeGreaterThan(6);
    relay.restore();
    expect(await answer).toBe("OK");
    await expect.poll(() => server.isAnswering()).toBe(true);
    await expect
      .poll(() => lines)
      .toEqual([expect.stringContaining("has not answered"), "Redis answers again."]);
  });
});

test("A process goes on when a subscription that is made again ends with its connection", async () => {
  const { server, relay } = await openBehindRelay();
  const subscriber = server.connect();
  await subscriber.subscribe("news");
  const ended = Promise.withResolvers<void>();
  subscriber.once("ready", () => {
    relay.silence();
    subscriber.once("end", ended.resolve);
    subscriber.disconnect();
  });
  const rejections: unknown[] = [];
  const note = (error: unknown) => void rejections.push(error);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  subscriber.disconnect(true);
  await ended.promise;
  // Rejections that nobody looks at are told of before the next turn of the event loop.
  await setImmediate();
  expect(rejections).toEqual([]);
});

test("A connection that is used, or has nothing to say, is kept", async () => {
  const { server, lines } = await openBehindRelay();
  const client = connect(server);
  const subscriber = server.connect();
  await subscriber.subscribe("news");
  const count = countSilences();
  const lost: string[] = [];
  for (const one of [client, subscriber]) one.on("close", () => lost.push("closed"));
  // Twice as long as a silent one.
  for (let asked = 0; asked < 10; asked += 1) await client.blpop("nothing", limits.askMs / 1_000);
  expect([count(), lost, lines]).toEqual([0, [], []]);
});

test("A connection over which BullMQ waits for longer than others may be silent is kept", async () => {
  const { server, direct } = await openBehindRelay();
  const connection = connect(server);
  const done = Promise.withResolvers<void>();
  const worker = new Worker("jobs", async () => done.resolve(), {
    ...{ connection, prefix: queuePrefix, drainDelay: 0.1 },
  });
  worker.on("error", () => undefined);
  onTestFinished(() => worker.close(true));
  const count = countSilences();
  const queue = new Queue("jobs", { connection: direct.client, prefix: queuePrefix });
  await queue.add("job", {}, { delay: 3 * (limits.askMs + limits.answerMs) });
  await done.promise;
  expect(count()).toBe(0);
});

test("A server that is frozen is waited for, and what was sent to it is done when it goes on", async () => {
  const { server, direct } = await openBehindRelay();
  const client = connect(server);
  await client.set("key", "value");
  const count = countSilences();
  direct.freeze();
  const answer = client.incr("number");
  await expect.poll(count).toBeGreaterThan(2);
  direct.thaw();
  expect(await answer).toBeGreaterThan(0);
  expect(await client.get("key")).toBe("value");
});

test("A process that was held up itself takes no connection for silent", async () => {
  const { server } = await openBehindRelay();
  const client = connect(server);
  await client.ping();
  const count = countSilences();
  const answer = client.ping();
  const until = performance.now() + 3 * (limits.askMs + limits.answerMs);
  while (performance.now() < until);
  expect(await answer).toBe("PONG");
  expect(count()).toBe(0);
});

test("A connection that falls silent before it is ready is given up too", async () => {
  const servers = await redisServers();
  onTestFinished(() => servers.stop());
  const { port } = await servers.start();
  const relay = await startTroubledRelay(port);
  onTestFinished(() => relay.close());
  const { server } = await open(`redis://127.0.0.1:${relay.port}`);
  const count = countSilences();
  // The first bytes of its first answer.
  relay.trouble = { kind: "stalls", afterBytes: 5 };
  const client = connect(server);
  const answer = client.set("key", "value");
  await expect.poll(count).toBeGreaterThan(1);
  relay.trouble = { kind: "none" };
  expect(await answer).toBe("OK");
});

test("A connection to a server that loads its data is kept", async () => {
  let loading = 1;
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (data) => {
      const info = `loading:${loading}\r\nloading_eta_seconds:60\r\n`;
      for (const command of String(data)
        .split(/\*\d+\r\n/)
        .slice(1))
        socket.write(/\binfo\b/i.test(command) ? `$${info.length}\r\n${info}\r\n` : "+OK\r\n");
    });
  });
  const port = await listen(server);
  onTestFinished(() => void server.close());
  const given: unknown[] = [];
  const onSilent = (_client: unknown, silence: unknown) => void given.push(silence);
  const client = openClient({ options: { host: "127.0.0.1", port } }, {}, { limits, onOpen() {}, onSilent });
  onTestFinished(() => client.disconnect());
  await delay(3 * (limits.askMs + limits.answerMs));
  expect([client.status, given]).toEqual(["connect", []]);
  loading = 0;
  await expect.poll(() => client.status).toBe("ready");
});

describe("In a cluster", () => {
  test("a node that is frozen is given up, by those who listen to it too", async () => {
    const servers = await redisServers();
    onTestFinished(() => servers.stop());
    const { servers: nodes, replica } = await servers.cluster(undefined, 1_000);
    const [first, second] = nodes;
    const { server } = await open(`redis+cluster://127.0.0.1:${second.port}`);
    const client = connect(server);
    const names = ["a", "b", "c", "d", "e", "f"];
    await Promise.all(names.map((name) => client.set(name, name)));
    const subscribers = Array.from({ length: 6 }, () => server.connect());
    await Promise.all(subscribers.map((subscriber) => subscriber.subscribe("news")));
    await caughtUp(first, replica);
    first.freeze();
    expect(await Promise.all(names.map((name) => client.get(name)))).toEqual(names);
    await Promise.all(names.map((name) => client.set(name, "new")));
    await Promise.all(subscribers.map((subscriber) => hears(subscriber, second.client, "still here")));
  });

  test("workers are counted although a node is given up meanwhile", async () => {
    const servers = await redisServers();
    onTestFinished(() => servers.stop());
    const { servers: nodes } = await servers.cluster(undefined, 1_000);
    const { server } = await open(`redis+cluster://127.0.0.1:${nodes[1].port}`);
    const queue = openTurnQueue(connect(server));
    expect(await queue.workers()).toBe(0);
    const count = countSilences();
    nodes[0].freeze();
    expect(await queue.workers()).toBe(0);
    expect(count()).toBeGreaterThan(0);
  });
});
