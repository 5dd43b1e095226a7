import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { processesWith, running, uniqueSleep } from "../e2e/processes.ts";
import { patienceMs } from "../e2e/program.ts";
import { visibleText } from "../fakes/slack/blocks.ts";
import type { FakeMessage } from "../fakes/slack/workspace.ts";
import { check } from "./check.ts";
import { gather, quiet } from "./evidence.ts";
import { hasRedisServer, noRedisServer } from "./redis-process.ts";
import { botMessages, deployForTest, type TestDeployment } from "./serve.ts";
import { full } from "./extent.ts";

let deployment: TestDeployment;
// A gateway of a busy machine may need longer than the five seconds that a turn waits for it.
beforeAll(async () => {
  if (hasRedisServer) deployment = await deployForTest({ catchUpSeconds: 60 });
});
beforeEach((context) => context.skip(!hasRedisServer, noRedisServer));
afterAll(async () => {
  if (hasRedisServer) await deployment.clean();
});

/** How people stop something that works on the message. */
const ways: [string, (question: FakeMessage) => Promise<void>][] = [
  ["a 🛑", (question) => deployment.slack.user("ada").reacts("octagonal_sign", question)],
  [
    "the word stop",
    async (question) => {
      await deployment.slack.user("ada").says(question.channel, "stop", { thread: question.ts });
    },
  ],
  [
    "heddle stop",
    async (question) => {
      expect(await deployment.run(["stop", deployment.threadOf(question)]).ended).toBe(0);
    },
  ],
];

test.each(ways.slice(0, full ? ways.length : 1))(
  "After a restart %s that waited wins before the turn does anything more",
  async (_name, stop) => {
    for (let round = 1; round <= (full ? 10 : 1); round += 1) await restart(stop);
  },
  240_000,
);

async function restart(stop: (question: FakeMessage) => Promise<void>): Promise<void> {
  const { slack, model } = deployment;
  const { command, seconds } = uniqueSleep();
  const before = await Promise.all([deployment.start("gateway"), deployment.start("worker")]);
  const question = await slack
    .user("ada")
    .says(slack.channel("general"), `<@BOT> task 1 calls 2 pause ${seconds}`);
  await running(command);
  for (const program of before) program.signal("SIGTERM");
  expect(await Promise.all(before.map(({ ended }) => ended))).toEqual([0, 0]);
  const requests = model.bodies.length;

  await stop(question);
  // The worker is first: it is ready to go on long before the gateway has looked for what it missed.
  const after = [await deployment.start("worker"), await deployment.start("gateway")];
  await slack.until(() => receipts(question).length > 0);
  await quiet(deployment, [deployment.threadOf(question)], patienceMs);

  expect(receipts(question)).toEqual([expect.stringContaining("Stopped by")]);
  expect(model.bodies.slice(requests)).toEqual([]);
  expect(processesWith(seconds)).toEqual([]);
  const evidence = await gather(deployment, [question]);
  expect(check(evidence).broken).toEqual([]);
  expect(evidence.journal.filter(({ type }) => type === "tool-start")).toHaveLength(1);
  for (const program of after) program.signal("SIGTERM");
  await Promise.all(after.map(({ ended }) => ended));
}

function receipts({ channel, ts }: FakeMessage): string[] {
  return botMessages(deployment.slack, channel, ts)
    .map(visibleText)
    .filter((text) => text.includes("Stopped by"));
}
