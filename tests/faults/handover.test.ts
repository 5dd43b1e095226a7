import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { processesWith, running, uniqueSleep } from "../e2e/processes.ts";
import { check } from "./check.ts";
import { gather, quiet } from "./evidence.ts";
import { note } from "./figures.ts";
import { hasRedisServer, noRedisServer } from "./redis-process.ts";
import { setStage, type Stage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  if (hasRedisServer) stage = await setStage();
}, 30_000);
beforeEach((context) => context.skip(!hasRedisServer, noRedisServer));
afterAll(async () => {
  if (hasRedisServer) await stage.clean();
}, 30_000);

test("A worker that is asked to end in the middle of a command is gone within a second, and another goes on", async () => {
  const { slack } = stage;
  const { command, seconds } = uniqueSleep();
  const [, worker] = await Promise.all([stage.start("gateway"), stage.start("worker")]);
  const question = await slack
    .user("ada")
    .says(slack.channel("general"), `<@BOT> task 1 calls 2 pause ${seconds}`);
  await running(command);
  const askedAt = Date.now();
  worker.signal("SIGTERM");
  expect(await worker.ended).toBe(0);
  const ms = Date.now() - askedAt;
  note("handover", { ms });
  // The whole suite has the machine to itself; beside other tests it is busy.
  expect(ms).toBeLessThan(process.env["HEDDLE_FAULTS"] === "full" ? 1_000 : 3_000);
  expect(processesWith(seconds)).toEqual([]);

  await stage.start("worker");
  // The first call is over with an unknown outcome; the second one is the next worker's.
  await running(command);
  await slack.user("ada").reacts("octagonal_sign", question);
  await slack.until(() => question.channel.messages.find(({ text }) => text.includes("Stopped by ada")));
  await quiet(stage, [stage.threadOf(question)], 5_000);
  const evidence = await gather(stage, [question]);
  expect(check(evidence).broken).toEqual([]);
  expect(
    evidence.journal.flatMap((record) => (record.type === "tool-result" ? [record.message.status] : [])),
  ).toEqual(["unknown", "stopped"]);
}, 30_000);
