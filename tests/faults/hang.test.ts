import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { processesWith, running, uniqueSleep } from "../e2e/processes.ts";
import { patienceMs, type Program } from "../e2e/program.ts";
import { check } from "./check.ts";
import { gather, quiet } from "./evidence.ts";
import { hasRedisServer, noRedisServer } from "./redis-process.ts";
import { deployForTest, type TestDeployment, workingPid } from "./serve.ts";

/** For so long a worker of a busy machine may stand still without being frozen. */
const hangSeconds = 4;

let deployment: TestDeployment;
beforeAll(async () => {
  if (hasRedisServer) deployment = await deployForTest({ hangSeconds });
});
beforeEach((context) => context.skip(!hasRedisServer, noRedisServer));
afterAll(async () => {
  if (hasRedisServer) await deployment.clean();
});

test("A stop ends what a frozen worker runs, and the thread gets its receipt from the next one", async () => {
  const { slack } = deployment;
  const { command, seconds } = uniqueSleep();
  const [gateway, worker] = await Promise.all([deployment.start("gateway"), deployment.start("worker")]);
  const question = await slack
    .user("ada")
    .says(slack.channel("general"), `<@BOT> task 1 calls 1 pause ${seconds}`);
  await running(command);
  const frozen = workingPid(worker);
  process.kill(frozen, "SIGSTOP");
  await slack.user("bob").reacts("octagonal_sign", question);
  const receipt = await slack.until(() =>
    question.channel.messages.find(({ text }) => text.includes("Stopped by bob")),
  );
  // The hang is part of the time.
  expect(receipt.text).toMatch(/ in ([2-9]|\d\d) s\. 1 tool call had ended with the worker that ran it/);
  await quiet(deployment, [deployment.threadOf(question)], patienceMs);
  expect(processesWith(seconds)).toEqual([]);
  expect(check(await gather(deployment, [question])).broken).toEqual([]);
  expect(worker.output()).toContain(`did not respond for ${hangSeconds} s`);
  expect(workingPid(worker)).not.toBe(frozen);
  await end(gateway, worker);
});

test("A worker that is killed is started again by its supervisor, and the next one goes on", async () => {
  const { slack } = deployment;
  const { command, seconds } = uniqueSleep();
  const [gateway, worker] = await Promise.all([deployment.start("gateway"), deployment.start("worker")]);
  const question = await slack
    .user("ada")
    .says(slack.channel("general"), `<@BOT> task 2 calls 2 pause ${seconds}`);
  await running(command);
  process.kill(workingPid(worker), "SIGKILL");
  await worker.line(/A worker was killed \(SIGKILL.*it is started again at once/);
  // The first call is over with an unknown outcome; the second one is the next worker's.
  await expect.poll(() => workingPid(worker), { timeout: patienceMs }).not.toBe(worker.pid);
  await running(command, workingPid(worker));
  await slack.user("bob").reacts("octagonal_sign", question);
  await quiet(deployment, [deployment.threadOf(question)], patienceMs);
  expect(check(await gather(deployment, [question])).broken).toEqual([]);
  await end(gateway, worker);
});

/** So that no other test's work is theirs. */
async function end(...programs: Program[]): Promise<void> {
  for (const program of programs) {
    program.signal("SIGTERM");
    expect(await program.ended).toBe(0);
  }
}
