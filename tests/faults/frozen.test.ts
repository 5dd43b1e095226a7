import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { listDescendants } from "../../src/sandbox/thread/processes.ts";
import { processesWith, running, uniqueSleep } from "../e2e/processes.ts";
import { patienceMs, type Program } from "../e2e/program.ts";
import type { FakeMessage } from "../fakes/slack/workspace.ts";
import { check } from "./check.ts";
import { gather, quiet } from "./evidence.ts";
import { hasRedisServer, noRedisServer } from "./redis-process.ts";
import { deployForTest, type TestDeployment, workingPid } from "./serve.ts";
import { cutOffThenWaiting } from "./tasks.ts";
import { bounded } from "./extent.ts";

/** What a worker's sandboxes hold while nobody there can act. */
const work = cutOffThenWaiting();
/** A busy machine takes the thread over well within that. */
const fenceSeconds = 25;
let deployment: TestDeployment;
beforeEach(async (context) => {
  context.skip(!hasRedisServer, noRedisServer);
  deployment = await deployForTest({ replies: work.replies, fenceSeconds });
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

/** Lets a worker stand still in the middle of a command until it is thawed. */
async function freeze(processesOf: (worker: Program) => number[]) {
  const { slack } = deployment;
  const [writing, waiting] = [uniqueSleep(), uniqueSleep()];
  const [, worker] = await Promise.all([deployment.start("gateway"), deployment.start("worker")]);
  const question = await slack
    .user("ada")
    .says(slack.channel("general"), work.ask(writing.seconds, waiting.seconds));
  await running(writing.command);

  const pids = processesOf(worker);
  for (const pid of pids) process.kill(pid, "SIGSTOP");
  const thaw = () => pids.forEach((pid) => process.kill(pid, "SIGCONT"));
  onTestFinished(async () => {
    for (const pid of listDescendants(worker.pid).map((each) => each.pid)) process.kill(pid, "SIGCONT");
    worker.signal("SIGKILL");
    await worker.ended;
  });
  return { worker, question, writing, waiting, thaw };
}

const said = (question: FakeMessage, words: string) =>
  question.channel.messages.find(({ text, threadTs }) => threadTs === question.ts && text.includes(words));

test.each(bounded ? frozen.slice(0, 1) : frozen)(
  "A stop's receipt is true of a command whose %s",
  async (_what, processesOf) => {
    const { slack } = deployment;
    const { worker, question, writing, waiting, thaw } = await freeze(processesOf);
    await deployment.start("worker");
    // The next worker has taken the thread over, and its model has gone on.
    await running(waiting.command);
    expect(processesWith(writing.seconds, worker.pid)).toEqual([]);

    await slack.user("bob").reacts("octagonal_sign", question);
    const receipt = await slack.until(() => said(question, "Stopped by bob"));
    expect(processesWith(writing.seconds, worker.pid)).toEqual([]);
    expect(receipt.text).toContain("0 left alive");

    // What the frozen worker had still to do is void.
    thaw();
    await quiet(deployment, [deployment.threadOf(question)], patienceMs);
    expect(processesWith(writing.seconds, worker.pid)).toEqual([]);
    expect(check(await gather(deployment, [question])).broken).toEqual([]);
  },
);

const unseen: string[] = bounded ? [] : ["nobody sees them"];
test.for(unseen)(
  "The clock ends a command whose worker and supervisor stand still where %s",
  { timeout: 180_000 },
  async (_where, context) => {
    context.skip(process.getuid?.() !== 0, "only root can make a PID namespace in which sandboxes work");
    const { slack } = deployment;
    const { worker, question, writing, waiting, thaw } = await freeze((each) => [each.pid, workingPid(each)]);
    await deployment.startAt("worker", { elsewhere: true });
    await running(waiting.command);

    await slack.user("bob").reacts("octagonal_sign", question);
    const receipt = await slack.until(() => said(question, "Stopped by bob"), patienceMs);
    expect(receipt.text).toMatch(/1 command on worker .* not known to have ended/);
    // Nobody has thawed them: it is the process that starts their commands that has looked at its clock.
    await slack.until(() => said(question, "has ended:"), patienceMs);
    expect(processesWith(writing.seconds, worker.pid)).toEqual([]);

    thaw();
    await quiet(deployment, [deployment.threadOf(question)], patienceMs);
    expect(processesWith(writing.seconds, worker.pid)).toEqual([]);
    expect(check(await gather(deployment, [question])).broken).toEqual([]);
  },
);
