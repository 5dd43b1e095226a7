import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { listDescendants } from "../../src/sandbox/thread/processes.ts";
import { processesWith, running, uniqueSleep } from "../e2e/processes.ts";
import { patienceMs, type Program } from "../e2e/program.ts";
import { check } from "./check.ts";
import { gather, quiet } from "./evidence.ts";
import { hasRedisServer, noRedisServer } from "./redis-process.ts";
import { deployForTest, type TestDeployment, workingPid } from "./serve.ts";
import { cutOffThenWaiting } from "./tasks.ts";

/** What a worker's sandboxes hold while nobody there can act. */
const work = cutOffThenWaiting();
let deployment: TestDeployment;
beforeEach(async (context) => {
  context.skip(!hasRedisServer, noRedisServer);
  deployment = await deployForTest({ replies: work.replies });
});
afterEach(() => deployment?.clean());

/** Everything of the worker's own that would have to act, the sandboxes themselves left out. */
const frozen: [what: string, processes: (worker: Program) => number[]][] = [
  ["worker and supervisor stand still", (worker) => [worker.pid, workingPid(worker)]],
  [
    "worker, supervisor and spawner stand still",
    (worker) => [worker.pid, workingPid(worker), ...processesWith("spawner-process.ts", worker.pid)],
  ],
];

test.each(frozen)("A stop's receipt is true of a command whose %s", async (_what, processesOf) => {
  const { slack } = deployment;
  const [writing, waiting] = [uniqueSleep(), uniqueSleep()];
  const [, worker] = await Promise.all([deployment.start("gateway"), deployment.start("worker")]);
  const question = await slack
    .user("ada")
    .says(slack.channel("general"), work.ask(writing.seconds, waiting.seconds));
  await running(writing.command);

  const pids = processesOf(worker);
  for (const pid of pids) process.kill(pid, "SIGSTOP");
  onTestFinished(async () => {
    for (const pid of listDescendants(worker.pid).map((each) => each.pid)) process.kill(pid, "SIGCONT");
    worker.signal("SIGKILL");
    await worker.ended;
  });
  await deployment.start("worker");
  // The next worker has taken the thread over, and its model has gone on.
  await running(waiting.command);
  expect(processesWith(writing.seconds, worker.pid)).toEqual([]);

  await slack.user("bob").reacts("octagonal_sign", question);
  const receipt = await slack.until(() =>
    question.channel.messages.find(
      ({ text, threadTs }) => threadTs === question.ts && text.includes("Stopped by bob"),
    ),
  );
  expect(processesWith(writing.seconds, worker.pid)).toEqual([]);
  expect(receipt.text).toContain("0 left alive");

  // What the frozen worker had still to do is void.
  for (const pid of pids) process.kill(pid, "SIGCONT");
  await quiet(deployment, [deployment.threadOf(question)], patienceMs);
  expect(processesWith(writing.seconds, worker.pid)).toEqual([]);
  expect(check(await gather(deployment, [question])).broken).toEqual([]);
});
