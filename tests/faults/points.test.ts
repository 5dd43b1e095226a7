import { setTimeout as delay } from "node:timers/promises";
import { beforeEach, expect, test } from "vitest";
import type { Failpoint } from "../../src/queue/redis/failpoint.ts";
import { keys } from "../../src/queue/redis/keys.ts";
import type { Program } from "../e2e/program.ts";
import { buttonsOf } from "../fakes/slack/blocks.ts";
import type { FakeSlack } from "../fakes/slack/fake-slack.ts";
import type { FakeMessage } from "../fakes/slack/workspace.ts";
import { check } from "./check.ts";
import { gather, quiet } from "./evidence.ts";
import { note } from "./figures.ts";
import { hasRedisServer, noRedisServer } from "./redis-process.ts";
import { botMessages, deployForTest, type TestDeployment } from "./serve.ts";
import { full } from "./extent.ts";

/**
 * A process is killed with SIGKILL at one named point, before or after one write or post, and another one takes
 * its place. `npm run test:faults` tries every point at every time that it is reached; otherwise a few are tried.
 * Most of the time is spent waiting for locks to expire, so several points are tried at once, each on a deployment of
 * its own.
 */
/** What is reached more often is much the same by then. */
const mostTimes = 12;
/** Whoever died while it set a mark is waited for, see marks.ts; and the machine is busy. */
const patienceMs = 90_000;

beforeEach((context) => context.skip(!hasRedisServer, noRedisServer));

interface Scenario {
  /** Which process is armed; the other role has one that lives on. */
  armed: "gateway" | "worker";
  text: string;
  /** What people and Slack do meanwhile. */
  meanwhile?(act: Act): Promise<unknown>;
  /** What the bot says at the end; by default it is over when nothing is left to do. */
  ends?: string;
}

interface Act {
  slack: FakeSlack;
  question: FakeMessage;
  /** Number of the task. */
  task: number;
  /** Resolves when the command is shown to run, or will not be. */
  shown(): Promise<unknown>;
}

/**
 * Kills the armed process when it comes to the point for each of these times, in a thread of its own, until it comes
 * there no more. Returns how often it was killed.
 */
async function killsAt(point: string, times: readonly number[], scenario: Scenario): Promise<number> {
  const deployment = await deployForTest();
  try {
    await deployment.start(scenario.armed === "gateway" ? "worker" : "gateway");
    let kills = 0;
    for (const time of times) {
      if (!(await survives(deployment, `${point}:${time}`, time, scenario))) break;
      kills += 1;
    }
    return kills;
  } finally {
    await deployment.clean();
  }
}

/** Plays the scenario with a fault; false when the armed process was not killed because it never came there. */
async function survives(
  deployment: TestDeployment,
  fault: string,
  task: number,
  { armed, text, meanwhile, ends }: Scenario,
): Promise<boolean> {
  const { slack, redis } = deployment;
  // Else the new gateway would look for messages of the scenarios before, and the points be reached for those.
  await redis.client.del(keys.present("slack", slack.teamId));
  const victim = await deployment.start(armed, fault);
  let successor: Program | undefined;
  try {
    const question = await slack
      .user("ada")
      .says(slack.channel("general"), `<@BOT> ${text.replace("N", String(task))}`);
    const said = () => botMessages(slack, question.channel, question.ts);
    const command = () => said().find(isSaid(`echo ${task}-1`));
    // A turn that is over before it showed its command has nothing to be met in the middle of.
    const answer = () => said().find(isSaid(`Answered: ${task}`));
    const shown = () => Promise.race([slack.until(() => command() ?? answer(), patienceMs), victim.ended]);
    const acted = meanwhile?.({ slack, question, task, shown });
    // Whoever waits for the end is told of a failure.
    acted?.catch(() => undefined);
    const over = async (timeoutMs: number) => {
      const last = ends?.replace("N", String(task));
      await Promise.all([acted, slack.until(() => !last || said().some(isSaid(last)), timeoutMs)]);
      await quiet(deployment, [deployment.threadOf(question)], timeoutMs);
    };
    // What comes after the last write is not seen.
    const survived = over(patienceMs).then(() => delay(500, false));
    const killed = await Promise.race([victim.ended.then(() => true), survived]);
    const killedAt = Date.now();
    if (killed) successor = await deployment.start(armed);
    const { deliveries } = slack;
    await slack.until(
      () => deliveries.every(({ isAcknowledged, hasFailed }) => isAcknowledged || hasFailed),
      patienceMs,
    );
    await over(patienceMs);
    if (killed) note("kill", { point: fault, ms: Date.now() - killedAt });
    expect(check(await gather(deployment, [question])).broken).toEqual([]);
    return killed;
  } finally {
    for (const program of [victim, successor]) {
      program?.signal("SIGKILL");
      await program?.ended;
    }
  }
}

const isSaid =
  (words: string) =>
  ({ text }: FakeMessage) =>
    text.includes(words);

/** Presses Approve, and again where Slack says that the press did not arrive, until there is nothing to press. */
async function approve({ slack, question: { channel, ts } }: Act): Promise<void> {
  const approval = () =>
    botMessages(slack, channel, ts).flatMap((message) => {
      const button = buttonsOf(message).find(({ action_id }) => action_id.includes("approve"));
      return button ? [{ message, action: button.action_id }] : [];
    })[0];
  await slack.until(approval, patienceMs);
  for (;;) {
    const next = approval();
    if (!next) return;
    const press = await slack.user("ada").presses(next.action, next.message);
    await slack.until(() => press.isAcknowledged || press.hasFailed, patienceMs);
    if (press.isAcknowledged) return;
  }
}

const working: Scenario = { armed: "worker", text: "task N calls 1 pause 1.5", ends: "Answered: N" };
const stopped: Scenario = {
  armed: "worker",
  text: "task N calls 1 pause 30",
  ends: "Stopped by",
  async meanwhile({ slack, question, task, shown }) {
    await shown();
    const progress = botMessages(slack, question.channel, question.ts).find(isSaid(`echo ${task}-1`));
    await slack.user("bob").reacts("octagonal_sign", progress ?? question);
  },
};
const receiving: Scenario = { armed: "gateway", text: "task N", ends: "Answered: N" };
/** So long that its command is seen before it ends, also on a busy machine. */
const seen: Scenario = { armed: "gateway", text: "task N calls 1 pause 3", ends: "Answered: N" };
const waiting: Scenario = {
  ...seen,
  meanwhile: async ({ slack, question: { channel, ts }, shown }) => {
    await shown();
    await slack.user("ada").says(channel, "And then?", { thread: ts });
  },
};
const passingOn: Scenario = { ...stopped, armed: "gateway" };
const editing: Scenario = {
  ...seen,
  meanwhile: async ({ slack, question, task, shown }) => {
    await shown();
    await slack.user("ada").edits(question, `<@BOT> task ${task} calls 1, please`);
  },
};
const deleting: Scenario = {
  ...{ ...stopped, armed: "gateway" },
  meanwhile: async ({ slack, question, shown }) => {
    await shown();
    await slack.user("ada").deletes(question);
  },
};
/** What waits for the turn that runs is moved to the front, or taken out. */
const rearranging = (does: "first" | "remove"): Scenario => ({
  ...seen,
  meanwhile: async ({ slack, question: { channel, ts }, shown }) => {
    await shown();
    const ada = slack.user("ada");
    await ada.says(channel, "And then?", { thread: ts });
    await ada.says(channel, `!queue ${does} m2`, { thread: ts });
  },
});
const overhearing: Scenario = {
  ...seen,
  meanwhile: async ({ slack, question: { channel, ts }, shown }) => {
    await shown();
    await slack.user("gus", { guest: true }).says(channel, "Me too!", { thread: ts });
  },
};
const asking: Scenario = {
  ...{ armed: "worker", text: "task N calls 1 asking", ends: "Answered: N" },
  meanwhile: approve,
};
const deciding: Scenario = { ...asking, armed: "gateway" };
const planning: Scenario = { armed: "worker", text: "plan task N calls 1", ends: "Answered: N" };
const limited: Scenario = {
  ...working,
  // The answer begins as a stream or as a message.
  async meanwhile({ slack }) {
    for (const method of ["chat.startStream", "chat.postMessage"])
      slack.fail(method, { kind: "rate-limit", retryAfterSeconds: 1 });
  },
};

/** So long that a snapshot is made behind it. */
const lasting: Scenario = { armed: "worker", text: "task N calls 180", ends: "Answered: N" };

/** Who comes to each point, and when: a new one does not compile without a scenario. */
const scenarios: Record<Failpoint, [Scenario, ...Scenario[]]> = {
  deliver: [receiving, planning],
  "store-unauthorized": [overhearing],
  list: [receiving, planning],
  remember: [receiving, working],
  wake: [receiving, passingOn, planning],
  claim: [working],
  confirm: [working],
  touch: [working],
  publish: [working],
  take: [working],
  append: [working, stopped, asking],
  snapshot: [lasting],
  stop: [passingOn],
  edit: [editing],
  delete: [deleting],
  "remove-waiting": [rearranging("remove")],
  "move-waiting": [rearranging("first")],
  "enter-slot": [working],
  unlist: [working],
  decide: [deciding],
  "acquire-write": [working],
  pause: [limited],
  "append-audit": [receiving, working],
  reserve: [working],
  charge: [working],
  post: [working, stopped, asking],
  reply: [planning],
  progress: [working],
  // An answer that grows settles its progress itself.
  settle: [stopped, asking],
  mark: [waiting, working, stopped],
};
const every = Object.entries(scenarios).flatMap(([point, plays]) =>
  plays.flatMap((scenario) =>
    (["before", "after"] as const).map((side) => ({ name: `${side}-${point}`, scenario })),
  ),
);

if (full) {
  const times = Array.from({ length: mostTimes }, (_, index) => index + 1);
  test.concurrent.each(every)(
    "Nothing is lost or repeated $name in a $scenario.armed at “$scenario.text”",
    async ({ name, scenario }) => {
      // A point that is never reached would be a test of nothing.
      expect(await killsAt(name, times, scenario)).toBeGreaterThan(0);
    },
    900_000,
  );
} else {
  test.concurrent.each([
    ["a gateway is killed after it stored a message and before it said so", "after-deliver", 1, receiving],
    ["a worker is killed after it began a command", "after-append", 2, working],
    ["a worker is killed after it posted an answer and before it noted that", "after-post", 1, working],
    ["a gateway is killed after it stored a decision and before it said so", "after-decide", 1, deciding],
  ] as const)("Nothing is lost or repeated when %s", async (_what, point, time, scenario) => {
    expect(await killsAt(point, [time], scenario)).toBe(1);
  });
}
