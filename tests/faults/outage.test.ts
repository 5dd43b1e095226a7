import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readJournal } from "../../src/queue/session/journal.ts";
import { processesWith, running } from "../e2e/processes.ts";
import { patienceMs } from "../e2e/program.ts";
import { check } from "./check.ts";
import { gather, quiet } from "./evidence.ts";
import { hasRedisServer, noRedisServer } from "./redis-process.ts";
import { deployForTest, type TestDeployment } from "./serve.ts";
import { bounded, full } from "./extent.ts";

/** Redis is away for longer than the locks of the turns hold, and for less than after which workers end what they run. */
const lockSeconds = 2;
const fenceSeconds = 60;
const awayMs = 6_000;

let deployment: TestDeployment;
beforeEach(async (context) => {
  context.skip(!hasRedisServer, noRedisServer);
  deployment = await deployForTest({ lockSeconds, fenceSeconds });
});
afterEach(async ({ task }) => {
  if (task.result?.state === "fail") console.error(deployment.outputs());
  await deployment?.clean();
});

/** What happens to Redis, and brings it back. */
const standsStill = async (pid: number) => {
  process.kill(pid, "SIGSTOP");
  return () => Promise.resolve(void process.kill(pid, "SIGCONT"));
};
const isKilled = async (pid: number) => {
  process.kill(pid, "SIGKILL");
  return () => deployment.redis.restart();
};
const outages = [
  ["stands still", 2, standsStill],
  ["is killed and started again", 1, isKilled],
  ["stands still", 1, standsStill],
  ["is killed and started again", 2, isKilled],
] as const;

test.each(outages.slice(0, bounded ? 1 : full ? outages.length : 2))(
  "A command goes on while Redis %s for longer than a lock, with workers: %i",
  async (_what, workers, begin) => {
    const { slack, redis } = deployment;
    const seconds = `14.${Math.floor(Math.random() * 1e9)}`;
    await deployment.start("gateway");
    for (let n = 0; n < workers; n += 1) await deployment.start("worker");
    const question = await slack
      .user("ada")
      .says(slack.channel("general"), `<@BOT> task 1 calls 1 pause ${seconds}`);
    await running(`sleep ${seconds}`);
    const before = processesWith(seconds);
    const pid = Number(/process_id:(\d+)/.exec(await redis.client.info("server"))?.[1]);

    const end = await begin(pid);
    await setTimeout(awayMs);
    await end();
    // Long enough for other workers to find that the lock is gone, twice.
    await setTimeout(4_000);
    expect(processesWith(seconds)).toEqual(before);

    const thread = deployment.threadOf(question);
    await quiet(deployment, [thread], patienceMs);
    expect(await deployment.linesOf(thread)).toEqual(["1-1"]);
    const journal = await readJournal(redis.client, thread);
    expect(
      journal.flatMap((record) => (record.type === "tool-result" ? [record.message.status] : [])),
    ).toEqual(["ok"]);
    expect(check(await gather(deployment, [question])).broken).toEqual([]);
  },
  180_000,
);
