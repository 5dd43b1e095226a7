import { afterEach, beforeEach, expect, test } from "vitest";
import { readJournal } from "../../src/queue/session/journal/journal.ts";
import { processesWith, running, uniqueSleep } from "../e2e/processes.ts";
import { patienceMs } from "../e2e/program.ts";
import { type SilentRelay, startSilentRelay } from "../fakes/silent-relay.ts";
import type { FakeMessage } from "../fakes/slack/workspace.ts";
import { check } from "./check.ts";
import { gather, quiet } from "./evidence.ts";
import { hasRedisServer, noRedisServer } from "./redis-process.ts";
import { botMessages, deployForTest, type TestDeployment } from "./serve.ts";
import { cutOffThenWaiting } from "./tasks.ts";
import { bounded } from "./extent.ts";

/** One worker is cut off from Redis: nothing is forwarded and nothing is closed. Another one takes its thread over. */
const work = cutOffThenWaiting();
/** A busy machine stops the turn well within that. */
const fenceSeconds = 25;
let deployment: TestDeployment;
let relay: SilentRelay;
beforeEach(async (context) => {
  context.skip(!hasRedisServer, noRedisServer);
  deployment = await deployForTest({ replies: work.replies, fenceSeconds });
  relay = await startSilentRelay({ path: deployment.redis.path });
});
afterEach(async ({ task }) => {
  if (task.result?.state === "fail") console.error(deployment.outputs());
  await deployment.clean();
  await relay.close();
});

/** Cuts off a worker in the middle of a command, and stops the turn when the next worker is in the middle of another. */
async function cutOff(how: { elsewhere: boolean }) {
  const { slack } = deployment;
  const [writing, waiting] = [uniqueSleep(), uniqueSleep()];
  await Promise.all([
    deployment.start("gateway"),
    deployment.startAt("worker", { redisUrl: `redis://127.0.0.1:${relay.port}` }),
  ]);
  const question = await slack
    .user("ada")
    .says(slack.channel("general"), work.ask(writing.seconds, waiting.seconds));
  await running(writing.command);
  relay.hold();
  await deployment.startAt("worker", how);
  await running(waiting.command);
  return { question, writing };
}

async function stop(question: FakeMessage): Promise<string> {
  await deployment.slack.user("bob").reacts("octagonal_sign", question);
  const receipt = await deployment.slack.until(() => said(question, "Stopped by bob")[0], patienceMs);
  return receipt.text;
}

const said = (question: FakeMessage, words: string) =>
  botMessages(deployment.slack, question.channel, question.ts).filter(({ text }) => text.includes(words));

test("A worker of the same host ends what the one that was cut off runs, before it goes on", async () => {
  const { question, writing } = await cutOff({ elsewhere: false });
  expect(processesWith(writing.seconds)).toEqual([]);
  const receipt = await stop(question);
  expect(receipt).toContain("0 left alive");
  expect(receipt).not.toContain("not known");
  await quiet(deployment, [deployment.threadOf(question)], patienceMs);
  expect(check(await gather(deployment, [question])).broken).toEqual([]);
}, 180_000);

const unseen: string[] = bounded ? [] : ["another host"];
test.for(unseen)(
  "A worker of %s says what it does not know, to the model and to people, and tells them when it has ended",
  { timeout: 180_000 },
  async (_where, context) => {
    context.skip(process.getuid?.() !== 0, "only root can make a PID namespace in which sandboxes work");
    const { question, writing } = await cutOff({ elsewhere: true });
    const journal = await readJournal(deployment.redis.client, deployment.threadOf(question));
    const results = journal.flatMap((record) => (record.type === "tool-result" ? [record.message.text] : []));
    expect(results).toEqual([
      expect.stringContaining("It is not known to have ended: it may still be running"),
    ]);

    expect(await stop(question)).toMatch(/1 command on worker .* not known to have ended \(.*while sleep/);
    await deployment.slack.until(() => said(question, "has ended:")[0], patienceMs);
    expect(processesWith(writing.seconds)).toEqual([]);
    // That worker comes back, and nothing of it is alive or told again.
    relay.release();
    await quiet(deployment, [deployment.threadOf(question)], patienceMs);
    expect(said(question, "has ended:")).toHaveLength(1);
    expect(check(await gather(deployment, [question])).broken).toEqual([]);
  },
);
