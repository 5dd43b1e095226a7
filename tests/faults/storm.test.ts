import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import type { FakeMessage } from "../fakes/slack/workspace.ts";
import { type Blow, raiseFleet } from "./blows.ts";
import { check, type Fate } from "./check.ts";
import { checkEnds, watchReceipts } from "./ends.ts";
import { describeWrites, gather, quiet } from "./evidence.ts";
import { note } from "./figures.ts";
import { hasRedisServer, noRedisServer } from "./redis-process.ts";
import { deployForTest, type TestDeployment } from "./serve.ts";
import { tickLog } from "./tasks.ts";
import { full } from "./extent.ts";

/**
 * People write into many threads at once and stop some of them, while processes (those that start commands, too) are killed, frozen, asked to end and cut
 * off from Redis, Redis is killed, hangs and comes back, and Slack limits, fails and loses calls. When it is over, every
 * thread is held against the promises, and what was said to have ended against the times at which it wrote.
 */
const size = full
  ? { threads: 40, messages: 50, gateways: 2, workers: 3, calmMs: 250 }
  : { threads: 6, messages: 3, gateways: 2, workers: 2, calmMs: 700 };
const patienceMs = full ? 1_200_000 : 120_000;

let deployment: TestDeployment;
beforeAll(async () => {
  if (hasRedisServer) deployment = await deployForTest({ fenceSeconds: 12 });
});
beforeEach((context) => context.skip(!hasRedisServer, noRedisServer));
afterEach(({ task }) => {
  if (task.result?.state === "fail") console.error(deployment.outputs());
});
afterAll(async () => {
  if (hasRedisServer) await deployment.clean();
});

/** A sequence that looks random and is the same for the same seed. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

test(
  "Every message ends in exactly one way, whatever is killed, frozen, cut off or restarted",
  async () => {
    const seed = Number(process.env["HEDDLE_FAULT_SEED"] ?? 1);
    const roll = dice(seed);
    const first: Blow[] = full
      ? [
          "redis-kill",
          "kill",
          "term",
          "freeze",
          "redis-kill",
          "partition",
          "spawner-kill",
          "redis-hang",
          "silence",
        ]
      : ["partition", "kill", "redis-hang"];
    // One of each kind at the least, however slow the machine is. Only root can make a namespace in which sandboxes work.
    const elsewhere = full && process.getuid?.() === 0;
    const fleet = await raiseFleet(deployment, { ...size, elsewhere, roll, first });
    onTestFinished(fleet.close);
    const startedAt = Date.now();
    const talking = Promise.all(
      Array.from({ length: size.threads }, (_, index) => talk(index, dice(seed + 1 + index))),
    );
    const over = new AbortController();
    void talking.then(
      () => over.abort(),
      () => over.abort(),
    );
    let isSettled = false;
    const receipts = watchReceipts(deployment.slack, () => isSettled);
    while (!over.signal.aborted) {
      await delay(size.calmMs + roll(size.calmMs));
      await fleet.strike();
    }
    await fleet.heal();
    const talks = await talking;
    const quietFrom = Date.now();
    const threads = talks.map(([root]) => deployment.threadOf(root));
    await quiet(deployment, threads, 60_000);
    isSettled = true;

    const fates: Record<Fate, number> = { answered: 0, paused: 0, stopped: 0, withdrawn: 0, failed: 0 };
    const broken: string[] = [];
    let calls = 0;
    let repeats = 0;
    const ends = { claims: 0, unknown: 0, falseClaims: 0 };
    for (const sent of talks) {
      const evidence = await gather(deployment, sent);
      const result = check(evidence);
      for (const fate of result.fates.values()) fates[fate] += 1;
      calls += evidence.lines.length;
      repeats += evidence.posts.filter((post) => post.includes("may be a repeat")).length;
      const thread = deployment.threadOf(sent[0]);
      const told = receipts.filter((receipt) => receipt.thread === sent[0].ts);
      const checked = checkEnds(evidence.journal, await deployment.linesOf(thread, tickLog), told);
      ends.claims += checked.claims;
      ends.unknown += checked.unknown;
      ends.falseClaims += checked.broken.length;
      broken.push(...[...result.broken, ...checked.broken].map((sentence) => `${thread}: ${sentence}`));
      if (result.broken.length > 0) console.error(describeWrites(deployment, sent[0]));
    }
    const messages = talks.flat().length;
    const seconds = Math.round((Date.now() - startedAt) / 1_000);
    const settledMs = Date.now() - quietFrom;
    note("storm", {
      seed,
      seconds,
      messages,
      threads: threads.length,
      ...fates,
      calls,
      repeats,
      ...ends,
      ...fleet.struck,
      handovers: fleet.handovers.length,
      medianHandoverMs:
        fleet.handovers.toSorted((a, b) => a - b)[Math.floor((fleet.handovers.length - 1) / 2)] ?? 0,
      slowestHandoverMs: Math.max(0, ...fleet.handovers),
      settledMs,
    });
    expect(broken).toEqual([]);
  },
  patienceMs,
);

/** What people do in one thread, one thing after the other. */
async function talk(
  index: number,
  roll: (sides: number) => number,
): Promise<[FakeMessage, ...FakeMessage[]]> {
  const { slack } = deployment;
  const ada = slack.user(`ada${index}`);
  const channel = slack.channel(`channel-${index % 10}`);
  const taskOf = (message: number) =>
    `task ${index * 100 + message} calls ${roll(3)}${roll(4) === 0 ? ` pause ${roll(3)}.5 ticking` : ""}${roll(15) === 0 ? " fails" : ""}`;
  await delay(roll(2_000));
  const root = await said(() => ada.says(channel, `<@BOT> ${taskOf(0)}`));
  const sent: [FakeMessage, ...FakeMessage[]] = [root];
  for (let message = 1; message < size.messages; message += 1) {
    await delay(roll(2_500));
    sent.push(await said(() => ada.says(channel, taskOf(message), { thread: root.ts })));
    if (roll(12) === 0) await slack.user("bob").reacts("octagonal_sign", root);
  }
  return sent;
}

/**
 * Says it, and waits until Heddle has it, so that the next one is later for everybody: it has acknowledged the message, or
 * has found it later, when Slack has given up sending it to gateways that could not store it, and has marked it.
 */
async function said(says: () => Promise<FakeMessage>): Promise<FakeMessage> {
  const before = deployment.slack.deliveries.length;
  const message = await says();
  const told = deployment.slack.deliveries
    .slice(before)
    .filter(({ payload }) => JSON.stringify(payload).includes(`"ts":"${message.ts}"`));
  await deployment.slack.until(
    () => told.every(({ isAcknowledged }) => isAcknowledged) || message.reactions.size > 0,
    patienceMs,
  );
  return message;
}
