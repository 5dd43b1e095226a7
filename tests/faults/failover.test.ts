import { beforeEach, expect, onTestFinished, test } from "vitest";
import { changesChannel } from "../../src/adapters/console/conversations/conversations.ts";
import { openClient } from "../../src/queue/redis/client.ts";
import { parseRedisUrl } from "../../src/queue/redis/url.ts";
import { listSessions } from "../../src/queue/session/lists/sessions.ts";
import { readJournal } from "../../src/queue/session/journal/journal.ts";
import { running } from "../e2e/processes.ts";
import { patienceMs } from "../e2e/program.ts";
import {
  caughtUp,
  hasRedisServer,
  noRedisServer,
  redisServers,
  type Server,
  type Servers,
} from "../fakes/redis-servers.ts";
import type { FakeMessage } from "../fakes/slack/workspace.ts";
import { check } from "./check.ts";
import { gather, quiet } from "./evidence.ts";
import type { RedisProcess } from "./redis-process.ts";
import { deployForTest } from "./serve.ts";
import { full } from "./extent.ts";

/** Servers of which the first dies, its replica, and where to find them. */
type House = { primary: Server; replica: Server; url: string };

async function sentinels(servers: Servers): Promise<House> {
  const { sentinel, ...house } = await servers.sentinel();
  return { ...house, url: `redis+sentinel://127.0.0.1:${sentinel.port}/house` };
}

async function cluster(servers: Servers): Promise<House> {
  const { servers: nodes, replica } = await servers.cluster();
  return { primary: nodes[0], replica, url: `redis+cluster://127.0.0.1:${nodes[1].port}` };
}

type Failure = "dies" | "hangs";

/**
 * `restart` ends the primary for good when its replica has all that was confirmed, or freezes it until Heddle is
 * with the replica: then it goes on, and takes what was sent to it meanwhile until it learns that it is a replica.
 */
async function replicated(
  servers: Servers,
  found: (servers: Servers) => Promise<House>,
  failure: Failure,
): Promise<RedisProcess> {
  let thawed: Promise<void> | undefined;
  const { primary, replica, url } = await found(servers);
  const client = openClient(parseRedisUrl(url).target, { maxRetriesPerRequest: null });
  client.on("error", () => undefined);
  return {
    path: url,
    client,
    async restart() {
      await caughtUp(primary, replica);
      if (failure === "dies") return primary.kill();
      primary.freeze();
      // In a cluster no node tells when the gateway has left the frozen one, which stays frozen to the end.
      if (found === cluster) return;
      // Until the gateway listens to the new primary, the old one would confirm what it then loses.
      thawed = expect
        .poll(() => replica.client.pubsub("NUMSUB", changesChannel), { timeout: patienceMs })
        .toEqual([changesChannel, 1])
        .finally(() => primary.thaw());
    },
    async stop() {
      await thawed;
      client.disconnect();
      await servers.stop();
    },
  };
}

const failovers: [where: string, failure: Failure, house: (servers: Servers) => Promise<House>][] = [
  ["behind sentinels", "hangs", sentinels],
  ["of a cluster", "hangs", cluster],
  ["behind sentinels", "dies", sentinels],
  ["of a cluster", "dies", cluster],
];

beforeEach((context) => context.skip(!hasRedisServer, noRedisServer));

test.each(full ? failovers : failovers.slice(0, 1))(
  "Nothing is lost or done twice when a primary %s %s while turns run",
  async (_where, failure, house) => {
    const deployment = await deployForTest({ redis: await replicated(await redisServers(), house, failure) });
    onTestFinished(async ({ task }) => {
      if (task.result?.state === "fail") console.error(deployment.outputs());
      await deployment.clean();
    });
    const { slack, redis } = deployment;
    const [ada, general] = [slack.user("ada"), slack.channel("general")];
    await Promise.all([deployment.start("gateway"), deployment.start("worker"), deployment.start("worker")]);

    // A sleep that no other test has, to find its process.
    const pauses = [1, 2, 3, 4, 5].map((task) => `3.${task}${Date.now() % 1e6}`);
    const [ofRun = "", ...others] = pauses;
    const roots = await Promise.all(
      others.map((pause, task) => ada.says(general, `<@BOT> task ${task} calls 2 pause ${pause}`)),
    );
    const run = deployment.run(["run", `task 9 calls 2 pause ${ofRun}`]);
    await Promise.all(pauses.map((pause) => running(`sleep ${pause}`)));

    await redis.restart();
    // Nobody can take these before there is another primary.
    const threads: [FakeMessage, ...FakeMessage[]][] = await Promise.all(
      roots.map(async (root, index) => [
        root,
        await ada.says(general, `task ${index + 10} calls 1`, { thread: root.ts }),
      ]),
    );
    threads.push([await ada.says(general, "<@BOT> task 20 calls 1")]);

    expect(await run.ended).toBe(0);
    expect(run.output().match(/Answered: 9\./g)).toHaveLength(1);
    await quiet(
      deployment,
      threads.map(([root]) => deployment.threadOf(root)),
      60_000,
    );
    for (const sent of threads) expect(check(await gather(deployment, sent)).broken).toEqual([]);

    const [thread = ""] = (await listSessions(redis.client)).flatMap((session) =>
      session.thread.startsWith("local:") ? [session.thread] : [],
    );
    const journal = await readJournal(redis.client, thread);
    expect(journal.filter(({ type }) => type === "tool-result")).toHaveLength(2);
    const lines = await deployment.linesOf(thread);
    expect(new Set(lines).size).toBe(lines.length);
  },
  120_000,
);
