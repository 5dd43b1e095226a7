import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { patienceMs, type Program } from "../e2e/program.ts";
import { processesWith, running, uniqueSleep } from "../e2e/processes.ts";
import { check } from "./check.ts";
import { gather, quiet } from "./evidence.ts";
import { note } from "./figures.ts";
import { hasRedisServer, noRedisServer } from "./redis-process.ts";
import { deployForTest, type TestDeployment } from "./serve.ts";
import { full } from "./extent.ts";

/** Nobody dies with a lock here. */
const lockSeconds = 30;

let deployment: TestDeployment;
beforeAll(async () => {
  if (hasRedisServer) deployment = await deployForTest({ lockSeconds });
});
beforeEach((context) => context.skip(!hasRedisServer, noRedisServer));
afterAll(async () => {
  if (hasRedisServer) await deployment.clean();
});

test("A worker that is asked to end in the middle of a command is gone at once, and another goes on", async () => {
  let [gateway, worker] = await Promise.all([deployment.start("gateway"), deployment.start("worker")]);
  for (let round = 1; round <= (full ? 10 : 1); round += 1)
    [gateway, worker] = await handOver(round, gateway, worker);
}, 180_000);

test("A hand-over that takes its time is not cut short by further signals, which say what is waited for", async () => {
  const { slack, redis } = deployment;
  const [gateway, worker] = await Promise.all([deployment.start("gateway"), deployment.start("worker")]);
  const { command, seconds } = uniqueSleep();
  const question = await slack
    .user("ada")
    .says(slack.channel("general"), `<@BOT> task 90 calls 2 pause ${seconds}`);
  await running(command);
  const next = await deployment.start("worker");
  const [, pid] = /^process_id:(\d+)/m.exec(await redis.client.info("server")) ?? [];
  process.kill(Number(pid), "SIGSTOP");
  worker.signal("SIGTERM");
  worker.signal("SIGINT");
  await worker.line(/again: still waiting for running turns to be handed over/);
  worker.signal("SIGTERM");
  process.kill(Number(pid), "SIGCONT");
  expect(await worker.ended).toBe(0);
  const endedAt = performance.now();
  // The first call is over with an unknown outcome; the second one is the next worker's.
  await running(command);
  // Else it would have waited for the lock of the dead one.
  expect(performance.now() - endedAt).toBeLessThan(lockSeconds * 1_000);
  await slack.user("ada").reacts("octagonal_sign", question);
  await quiet(deployment, [deployment.threadOf(question)], patienceMs);
  expect(check(await gather(deployment, [question])).broken).toEqual([]);
  for (const program of [gateway, next]) {
    program.signal("SIGKILL");
    await program.ended;
  }
}, 180_000);

/** One worker hands over to the next, and one gateway dies; returns those that take their places. */
async function handOver(task: number, gateway: Program, worker: Program): Promise<[Program, Program]> {
  const { slack } = deployment;
  const { command, seconds } = uniqueSleep();
  const question = await slack
    .user("ada")
    .says(slack.channel("general"), `<@BOT> task ${task} calls 2 pause ${seconds}`);
  await running(command);
  const next = await Promise.all([deployment.start("gateway"), deployment.start("worker")]);
  const askedAt = Date.now();
  worker.signal("SIGTERM");
  expect(await worker.ended).toBe(0);
  const ms = Date.now() - askedAt;
  // The first call is over with an unknown outcome; the second one is the next worker's.
  await running(command);
  const resumedMs = Date.now() - askedAt;
  note("handover", { ms, resumedMs });
  // The whole suite has the machine to itself. With a new command in a new sandbox:
  if (full) expect([ms < 1_000, resumedMs < 2_000]).toEqual([true, true]);
  // Another gateway than the one that took the question hears of the stop.
  gateway.signal("SIGKILL");
  await gateway.ended;
  await slack.user("ada").reacts("octagonal_sign", question);
  await slack.until(() =>
    question.channel.messages.find(
      ({ text, threadTs }) => threadTs === question.ts && text.includes("Stopped by ada"),
    ),
  );
  await quiet(deployment, [deployment.threadOf(question)], patienceMs);
  expect(processesWith(seconds)).toEqual([]);
  const evidence = await gather(deployment, [question]);
  expect(check(evidence).broken).toEqual([]);
  expect(
    evidence.journal.flatMap((record) => (record.type === "tool-result" ? [record.message.status] : [])),
  ).toEqual(["unknown", "stopped"]);
  return next;
}
