import { beforeEach, expect, onTestFinished, test } from "vitest";
import { openClient } from "../../src/queue/redis/client.ts";
import { keys } from "../../src/queue/redis/keys.ts";
import { parseRedisUrl } from "../../src/queue/redis/url.ts";
import { patienceMs } from "../e2e/program.ts";
import { hasRedisServer, noRedisServer, redisServers } from "../fakes/redis-servers.ts";
import type { FakeMessage } from "../fakes/slack/workspace.ts";
import { check } from "./check.ts";
import { gather, quiet } from "./evidence.ts";
import { deployForTest } from "./serve.ts";

beforeEach((context) => context.skip(!hasRedisServer, noRedisServer));

test("With waitForReplicas a message is acknowledged once the replica has it, and then outlives the primary", async () => {
  const servers = await redisServers();
  const { primary, replica, sentinel } = await servers.sentinel();
  const url = `redis+sentinel://127.0.0.1:${sentinel.port}/house`;
  const client = openClient(parseRedisUrl(url).target, { maxRetriesPerRequest: null });
  client.on("error", () => undefined);
  const deployment = await deployForTest({
    waitForReplicas: 1,
    // Slack's own: three more attempts last longer than the failover.
    ackTimeoutMs: 3_000,
    redis: {
      ...{ path: url, client, restart: () => primary.kill() },
      async stop() {
        client.disconnect();
        await servers.stop();
      },
    },
  });
  onTestFinished(async ({ task }) => {
    if (task.result?.state === "fail") console.error(deployment.outputs());
    await deployment.clean();
  });
  const { slack } = deployment;
  const [ada, general] = [slack.user("ada"), slack.channel("general")];
  // Slack tells a mention twice; a reaction names the message as well.
  const isAcknowledged = ({ ts }: FakeMessage) =>
    slack.deliveries
      .filter(({ type }) => type === "message" || type === "app_mention")
      .some((told) => told.isAcknowledged && JSON.stringify(told.payload).includes(`"ts":"${ts}"`));
  const mailOn = ({ client: at }: typeof primary, message: FakeMessage) =>
    at.llen(keys.mail(deployment.threadOf(message)));
  const gateway = await deployment.start("gateway");
  const cutReplicaOff = async () => {
    // Frozen as well, or what the primary has sent would wait for it in its socket.
    replica.freeze();
    await primary.client.call("CLIENT", "KILL", "TYPE", "replica");
  };

  const kept = await ada.says(general, "<@BOT> task 1 calls 1");
  await slack.until(() => isAcknowledged(kept));
  await cutReplicaOff();
  const run = deployment.run(["run", "task 3 calls 1"]);
  expect(await run.ended).toBe(1);
  expect(run.output()).toMatch(/^heddle: Redis has copied this to 0 of 1 replicas within 1000 ms .*$/m);
  replica.thaw();
  await expect
    .poll(() => replica.client.info("replication"), { timeout: patienceMs })
    .toContain("master_link_status:up");

  // The sentinel takes no replica that has been without its primary for more than 5 s before that went down.
  await cutReplicaOff();
  const refused = await ada.says(general, "<@BOT> task 2 calls 1");
  await expect.poll(() => mailOn(primary, refused), { timeout: patienceMs }).toBe(1);
  await gateway.line(/was not acknowledged.* copied this to 0 of 1 replicas/);
  expect(isAcknowledged(refused)).toBe(false);

  await primary.kill();
  replica.thaw();
  await expect
    .poll(() => replica.client.info("replication"), { timeout: patienceMs })
    .toContain("role:master");
  expect(await mailOn(replica, kept)).toBe(1);
  // There is no replica yet that could have it.
  expect(isAcknowledged(refused)).toBe(false);

  await servers.start({ replicaof: `127.0.0.1 ${replica.port}` });
  await slack.until(() => isAcknowledged(refused));
  await deployment.start("worker");
  await quiet(
    deployment,
    [kept, refused].map((root) => deployment.threadOf(root)),
    patienceMs,
  );
  for (const root of [kept, refused]) expect(check(await gather(deployment, [root])).broken).toEqual([]);
}, 120_000);
