import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readJournal } from "../../src/queue/session/journal/journal.ts";
import { processesWith, running } from "../e2e/processes.ts";
import { patienceMs } from "../e2e/program.ts";
import { check } from "./check.ts";
import { gather, quiet } from "./evidence.ts";
import { hasRedisServer, noRedisServer } from "./redis-process.ts";
import { deployForTest, type TestDeployment } from "./serve.ts";
import type { FakeReply } from "../fakes/anthropic.ts";
import type { MessagesBody } from "../fakes/anthropic-rules.ts";
import { full } from "./extent.ts";
import { replyTo } from "./tasks.ts";

/** Redis is away for longer than the locks of the turns hold, and for less than after which workers end what they run. */
const lockSeconds = 2;
const fenceSeconds = 60;
const awayMs = 6_000;

let deployment: TestDeployment;
beforeEach(async (context) => {
  context.skip(!hasRedisServer, noRedisServer);
  deployment = await deployForTest({ lockSeconds, fenceSeconds, replies: startJobFirst });
});
afterEach(async ({ task }) => {
  if (task.result?.state === "fail") console.error(deployment.outputs());
  await deployment?.clean();
});

/** `job 15.1` has a command of so many seconds started in the background, before the tasks. */
function startJobFirst(body: MessagesBody): FakeReply {
  const said = JSON.stringify(body.messages);
  const seconds = /job ([\d.]+)/.exec(said)?.[1];
  if (seconds === undefined || said.includes("run_in_background")) return replyTo(body);
  const input = { command: `sleep ${seconds}`, run_in_background: true };
  return { content: [{ type: "tool_use", name: "bash", input }] };
}

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
  ["stands still", "here", standsStill],
  ["is killed and started again", "on another host", isKilled],
  ["stands still", "nowhere", standsStill],
  ["is killed and started again", "nowhere", isKilled],
  ["stands still", "on another host", standsStill],
  ["is killed and started again", "here", isKilled],
] as const;

test.each(outages.slice(0, full ? outages.length : 1))(
  "A command and a job go on while Redis %s for longer than a lock, with another worker %s",
  async (_what, other, begin) => {
    const { slack, redis } = deployment;
    const seconds = `14.${Math.floor(Math.random() * 1e9)}`;
    const job = `300.${Math.floor(Math.random() * 1e9)}`;
    await deployment.start("gateway");
    await deployment.start("worker");
    if (other !== "nowhere") await deployment.startAt("worker", { elsewhere: other === "on another host" });
    const question = await slack
      .user("ada")
      .says(slack.channel("general"), `<@BOT> job ${job}, then task 1 calls 1 pause ${seconds}`);
    await running(`sleep ${seconds}`);
    const find = () => [processesWith(seconds), processesWith(job)];
    const before = find();
    expect(before.flat().length).toBeGreaterThan(1);
    const pid = Number(/process_id:(\d+)/.exec(await redis.client.info("server"))?.[1]);

    const end = await begin(pid);
    await setTimeout(awayMs);
    await end();
    // Long enough for other workers to find that the lock is gone, twice.
    await setTimeout(4_000);
    expect(find()).toEqual(before);

    const thread = deployment.threadOf(question);
    await quiet(deployment, [thread], patienceMs);
    expect(await deployment.linesOf(thread)).toEqual(["1-1"]);
    const journal = await readJournal(redis.client, thread);
    expect(
      journal.flatMap((record) => (record.type === "tool-result" ? [record.message.status] : [])),
    ).toEqual(["ok", "ok"]);
    // The job outlives the turn, and a stop ends it.
    expect(processesWith(job)).toEqual(before[1]);
    await slack.user("ada").reacts("octagonal_sign", question);
    await slack.until(() => (processesWith(job).length === 0 ? true : undefined), patienceMs);
    await quiet(deployment, [thread], patienceMs);
    expect(check(await gather(deployment, [question])).broken).toEqual([]);
  },
  180_000,
);
