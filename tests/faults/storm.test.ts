import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Program } from "../e2e/program.ts";
import type { Fault } from "../fakes/slack/web-api.ts";
import type { FakeMessage } from "../fakes/slack/workspace.ts";
import { check, type Fate } from "./check.ts";
import { gather, quiet } from "./evidence.ts";
import { note } from "./figures.ts";
import { hasRedisServer, noRedisServer } from "./redis-process.ts";
import { setStage, type Stage, workingPid } from "./serve.ts";

/**
 * People write into many threads at once and stop some of them, while processes are killed, frozen and asked to
 * end, Redis is killed and comes back, and Slack limits, fails and loses calls. When it is over, every thread is held against the promises.
 */
const full = process.env["HEDDLE_FAULTS"] === "full";
const size = full
  ? { threads: 40, messages: 50, gateways: 2, workers: 3, calmMs: 250 }
  : { threads: 6, messages: 3, gateways: 2, workers: 2, calmMs: 700 };
const patienceMs = full ? 1_200_000 : 120_000;

let stage: Stage;
beforeAll(async () => {
  if (hasRedisServer) stage = await setStage();
});
beforeEach((context) => context.skip(!hasRedisServer, noRedisServer));
afterAll(async () => {
  if (hasRedisServer) await stage.clean();
});

const slackFaults: Fault[] = [
  { kind: "rate-limit", retryAfterSeconds: 1 },
  { kind: "refuse", error: "ratelimited" },
  { kind: "http", status: 503 },
  { kind: "lost-request" },
  { kind: "lost-response" },
];

/** A sequence that looks random and is the same for the same seed. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

test(
  "Every message ends in exactly one way, whatever is killed, frozen or restarted",
  async () => {
    const seed = Number(process.env["HEDDLE_FAULT_SEED"] ?? 1);
    const roll = dice(seed);
    const roles = [
      ...Array.from({ length: size.gateways }, () => "gateway" as const),
      ...Array.from({ length: size.workers }, () => "worker" as const),
    ];
    const fleet: Program[] = await Promise.all(roles.map((role) => stage.start(role)));
    const startedAt = Date.now();
    const struck = { kills: 0, freezes: 0, redisKills: 0, slackFaults: 0 };
    const handovers: number[] = [];
    // One of each kind at the least, however slow the machine is.
    const firstBlows = full ? [9, 0, 5, 7, 9] : [];
    const talking = Promise.all(
      Array.from({ length: size.threads }, (_, index) => talk(index, dice(seed + 1 + index))),
    );
    const over = new AbortController();
    void talking.then(
      () => over.abort(),
      () => over.abort(),
    );
    while (!over.signal.aborted) {
      await delay(size.calmMs + roll(size.calmMs));
      const victim = roll(fleet.length);
      const program = fleet[victim];
      const role = roles[victim];
      if (!program || !role) continue;
      for (const method of ["chat.postMessage", "chat.update", "chat.delete", "conversations.replies"]) {
        const fault = slackFaults[roll(slackFaults.length * 2)];
        if (!fault) continue;
        struck.slackFaults += 1;
        stage.slack.fail(method, fault);
      }
      const blow = firstBlows.shift() ?? roll(10);
      if (blow < 5) {
        struck.kills += 1;
        program.signal("SIGKILL");
        await program.ended;
        fleet[victim] = await stage.start(role);
      } else if (blow < 7) {
        const askedAt = Date.now();
        program.signal("SIGTERM");
        await program.ended;
        handovers.push(Date.now() - askedAt);
        fleet[victim] = await stage.start(role);
      } else if (blow < 9) {
        struck.freezes += 1;
        const pid = workingPid(program);
        process.kill(pid, "SIGSTOP");
        // Longer than a lock lives, so that another worker takes over in the meantime.
        await delay(2_500 + roll(1_500));
        process.kill(pid, "SIGCONT");
      } else {
        struck.redisKills += 1;
        await stage.redis.restart();
      }
    }
    const talks = await talking;
    const quietFrom = Date.now();
    const threads = talks.map(([root]) => stage.threadOf(root));
    await quiet(stage, threads, 60_000);

    const fates: Record<Fate, number> = { answered: 0, paused: 0, stopped: 0, withdrawn: 0, failed: 0 };
    const broken: string[] = [];
    let calls = 0;
    let repeats = 0;
    for (const sent of talks) {
      const evidence = await gather(stage, sent);
      const result = check(evidence);
      for (const fate of result.fates.values()) fates[fate] += 1;
      calls += evidence.lines.length;
      repeats += evidence.posts.filter((post) => post.includes("may be a repeat")).length;
      broken.push(...result.broken.map((sentence) => `${stage.threadOf(sent[0])}: ${sentence}`));
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
      ...struck,
      handovers: handovers.length,
      medianHandoverMs: handovers.toSorted((a, b) => a - b)[Math.floor((handovers.length - 1) / 2)] ?? 0,
      slowestHandoverMs: Math.max(0, ...handovers),
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
  const { slack } = stage;
  const ada = slack.user(`ada${index}`);
  const channel = slack.channel(`channel-${index % 10}`);
  const taskOf = (message: number) =>
    `task ${index * 100 + message} calls ${roll(3)}${roll(15) === 0 ? " fails" : ""}`;
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

/** Says it, and waits until Slack was told that the message has arrived, so that the next one is later for everybody. */
async function said(says: () => Promise<FakeMessage>): Promise<FakeMessage> {
  const before = stage.slack.deliveries.length;
  const message = await says();
  const told = stage.slack.deliveries
    .slice(before)
    .filter(({ payload }) => JSON.stringify(payload).includes(`"ts":"${message.ts}"`));
  await stage.slack.until(() => told.every(({ isAcknowledged }) => isAcknowledged), 60_000);
  return message;
}
