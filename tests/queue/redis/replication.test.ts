import { beforeEach, expect, onTestFinished, test } from "vitest";
import type { ThreadId } from "../../../src/chat/threads.ts";
import { connectRedis } from "../../../src/queue/redis/choose-server.ts";
import { createReplication } from "../../../src/queue/redis/replication.ts";
import { hasRedisServer, noRedisServer, redisServers, type Servers } from "../../fakes/redis-servers.ts";

let servers: Servers;
beforeEach(async (context) => {
  context.skip(!hasRedisServer, noRedisServer);
  servers = await redisServers();
  onTestFinished(() => servers.stop());
});

async function replicating(url: string, withinMs: number) {
  const server = await connectRedis({
    ...{ url, dataDir: "unused", production: true, allowEmbedded: false, patienceMs: 25_000 },
    log: { info: () => undefined, warn: () => undefined },
  });
  onTestFinished(() => server.close());
  const connect = () => server.connect({ maxRetriesPerRequest: null });
  const client = connect();
  const begin = createReplication({ redis: connect(), writer: client, replicas: 1, withinMs });
  const reach = async (thread: ThreadId | undefined) => (await begin(thread))(thread);
  return { client, begin, reach };
}

test("What another connection wrote before is on the replica when it is said to be", async () => {
  const { port } = await servers.start();
  const replica = await servers.start({ replicaof: `127.0.0.1 ${port}` });
  await expect.poll(() => replica.client.info("replication")).toContain("master_link_status:up");
  const { client, reach } = await replicating(`redis://127.0.0.1:${port}`, 20_000);
  for (let round = 0; round < 20; round += 1) {
    await client.set("round", round);
    // Several at once share what they wait for.
    await Promise.all([reach(undefined), reach("slack:T1:C1:1"), reach(undefined)]);
    expect(await replica.client.get("round")).toBe(String(round));
  }
});

test("What another history may have had since is not said to be on the replica", async () => {
  const { port, client: primary } = await servers.start();
  const replica = await servers.start({ replicaof: `127.0.0.1 ${port}` });
  const isUp = () => expect.poll(() => replica.client.info("replication")).toContain("master_link_status:up");
  await isUp();
  const { client, begin, reach } = await replicating(`redis://127.0.0.1:${port}`, 20_000);
  const reached = await begin(undefined);
  await client.set("key", "value");
  // As after a failover: the one that is asked has been promoted.
  await primary.replicaof("127.0.0.1", "1");
  await primary.replicaof("NO", "ONE");
  await isUp();
  await expect(reached(undefined)).rejects.toThrow(/^Redis has failed over to another primary meanwhile/);
  await reach(undefined);
});

test("A replica that hangs is not waited for beyond the limit, and the sentence says what is missing", async () => {
  const { port } = await servers.start();
  const replica = await servers.start({ replicaof: `127.0.0.1 ${port}` });
  await expect.poll(() => replica.client.info("replication")).toContain("master_link_status:up");
  const { client, reach } = await replicating(`redis://127.0.0.1:${port}`, 50);
  replica.freeze();
  await client.set("key", "value");
  await expect(reach(undefined)).rejects.toThrow(
    /copied this to 0 of 1 replicas within 50 ms \(queue\.waitForReplicas\).*what is told twice counts once\.$/,
  );
  replica.thaw();
  await expect.poll(() => reach(undefined).then(() => "reached")).toBe("reached");
});

test("In a cluster it is asked of the primary that has the thread", async () => {
  const { servers: nodes } = await servers.cluster();
  const { client, reach } = await replicating(`redis+cluster://127.0.0.1:${nodes[1].port}`, 200);
  // The only one of the three that has a replica keeps the slots from 0 to 5,461.
  const threads = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => `slack:T1:C1:${n}` as const);
  const slots = await Promise.all(
    threads.map((thread) => client.cluster("KEYSLOT", `heddle:{${thread}}:mail`)),
  );
  const withReplica = threads.find((_thread, index) => Number(slots[index]) <= 5_461);
  const without = threads.find((_thread, index) => Number(slots[index]) > 5_461);
  if (withReplica === undefined || without === undefined) throw new Error("All threads lie in one place.");
  await expect.poll(() => reach(withReplica).then(() => "reached")).toBe("reached");
  await expect(reach(without)).rejects.toThrow("0 of 1 replicas");
});
