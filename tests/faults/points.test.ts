import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { FaultPoint } from "../../src/queue/fault.ts";
import { keys } from "../../src/queue/keys.ts";
import { buttonsOf } from "../fakes/slack/blocks.ts";
import type { FakeMessage } from "../fakes/slack/workspace.ts";
import { check } from "./check.ts";
import { gather, quiet } from "./evidence.ts";
import { note } from "./figures.ts";
import { hasRedisServer, noRedisServer } from "./redis-process.ts";
import { botMessages, setStage, type Stage } from "./stage.ts";

/**
 * A process is killed with SIGKILL at one named point, before or after one write or post, and another one takes
 * its place. `npm run test:faults` tries every point at every time that it is reached; otherwise a few are tried.
 */
const full = process.env["HEDDLE_FAULTS"] === "full";
/** What is reached more often is much the same by then. */
const mostTimes = 12;

let stage: Stage;
beforeAll(async () => {
  if (hasRedisServer) stage = await setStage();
}, 30_000);
beforeEach((context) => context.skip(!hasRedisServer, noRedisServer));
afterAll(async () => {
  if (hasRedisServer) await stage.clean();
}, 30_000);

interface Scenario {
  /** Which process is armed; the other role has one that lives on. */
  armed: "gateway" | "worker";
  text: string;
  /** What people and Slack do meanwhile. @param shown resolves when the command is shown to run, or will not be */
  meanwhile?(question: FakeMessage, task: string, shown: () => Promise<unknown>): Promise<unknown>;
  /** What the bot says at the end; by default it is over when nothing is left to do. */
  ends?: string;
}

let tasks = 0;

/** Plays the scenario with a fault; false when the armed process was not killed because it never came there. */
async function survives(fault: string, { armed, text, meanwhile, ends }: Scenario): Promise<boolean> {
  const { slack, redis } = stage;
  // Else the new gateway would look for messages of the scenarios before, and the points be reached for those.
  await redis.client.del(keys.present("slack", slack.teamId));
  const fleet = [await stage.start(armed === "gateway" ? "worker" : "gateway")];
  try {
    const victim = await stage.start(armed, fault);
    fleet.push(victim);
    const task = String((tasks += 1));
    const question = await ask(text.replace("N", task));
    const thread = stage.threadOf(question);
    const command = () => botMessages(slack, question.channel, question.ts).find(isSaid(`echo ${task}-1`));
    const shown = () => Promise.race([slack.until(command, 20_000), victim.ended]);
    const acted = meanwhile?.(question, task, shown);
    // Whoever waits for the end is told of a failure.
    acted?.catch(() => undefined);
    const over = async (timeoutMs: number) => {
      const last = ends?.replace("N", task);
      const said = () => !last || botMessages(slack, question.channel, question.ts).some(isSaid(last));
      await slack.until(said, timeoutMs);
      await acted;
      await quiet(stage, [thread], timeoutMs);
    };
    const killed = await Promise.race([victim.ended.then(() => true), over(30_000).then(() => false)]);
    const killedAt = Date.now();
    if (killed) fleet.push(await stage.start(armed));
    const { deliveries } = slack;
    await slack.until(
      () => deliveries.every(({ isAcknowledged, hasFailed }) => isAcknowledged || hasFailed),
      20_000,
    );
    // Whoever died while it set a mark is waited for, see marks.ts.
    await over(40_000);
    if (killed) note("kill", { point: fault, ms: Date.now() - killedAt });
    expect(check(await gather(stage, [question])).broken).toEqual([]);
    return killed;
  } finally {
    for (const program of fleet) program.signal("SIGKILL");
    await Promise.all(fleet.map(({ ended }) => ended));
  }
}

const isSaid =
  (words: string) =>
  ({ text }: FakeMessage) =>
    text.includes(words);

function ask(text: string) {
  return stage.slack.user("ada").says(stage.slack.channel("general"), `<@BOT> ${text}`);
}

/** Presses Approve, and again where Slack says that the press did not arrive, until there is nothing to press. */
async function approve({ channel, ts }: FakeMessage): Promise<void> {
  const { slack } = stage;
  const approval = () =>
    botMessages(slack, channel, ts).flatMap((message) => {
      const button = buttonsOf(message).find(({ action_id }) => action_id.includes("approve"));
      return button ? [{ message, action: button.action_id }] : [];
    })[0];
  await slack.until(approval, 20_000);
  for (;;) {
    const next = approval();
    if (!next) return;
    const press = await slack.user("ada").presses(next.action, next.message);
    await slack.until(() => press.isAcknowledged || press.hasFailed, 20_000);
    if (press.isAcknowledged) return;
  }
}

const working: Scenario = { armed: "worker", text: "task N calls 1 pause 1.5", ends: "Answered: N" };
const stopped: Scenario = {
  armed: "worker",
  text: "task N calls 1 pause 30",
  ends: "Stopped by",
  async meanwhile(question, task, shown) {
    await shown();
    const progress = botMessages(stage.slack, question.channel, question.ts).find(isSaid(`echo ${task}-1`));
    await stage.slack.user("bob").reacts("octagonal_sign", progress ?? question);
  },
};
const receiving: Scenario = { armed: "gateway", text: "task N", ends: "Answered: N" };
const passingOn: Scenario = { ...stopped, armed: "gateway" };
const editing: Scenario = {
  ...{ ...working, armed: "gateway" },
  meanwhile: async (question, task, shown) => {
    await shown();
    await stage.slack.user("ada").edits(question, `<@BOT> task ${task} calls 1, please`);
  },
};
const deleting: Scenario = {
  ...{ ...stopped, armed: "gateway" },
  meanwhile: async (question, _task, shown) => {
    await shown();
    await stage.slack.user("ada").deletes(question);
  },
};
const overhearing: Scenario = {
  ...{ ...working, armed: "gateway" },
  meanwhile: async ({ channel, ts }, _task, shown) => {
    await shown();
    await stage.slack.user("gus", { guest: true }).says(channel, "Me too!", { thread: ts });
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
  meanwhile: async () => stage.slack.fail("chat.postMessage", { kind: "rate-limit", retryAfterSeconds: 1 }),
};

/** Who comes to each point, and when: a new one does not compile without a scenario. */
const scenarios: Record<FaultPoint, [Scenario, ...Scenario[]]> = {
  deliver: [receiving, planning],
  overhear: [overhearing],
  list: [receiving, planning],
  remember: [receiving, working],
  wake: [receiving, passingOn, planning],
  claim: [working],
  take: [working],
  append: [working, stopped, asking],
  stop: [passingOn],
  edit: [editing],
  delete: [deleting],
  enter: [working],
  rest: [working],
  decide: [deciding],
  permit: [working],
  pause: [limited],
  audit: [receiving, working],
  reserve: [working],
  book: [working],
  post: [working, stopped, asking],
  reply: [planning],
  progress: [working],
  settle: [working, asking],
  mark: [receiving, working, stopped],
};
const every = Object.entries(scenarios).flatMap(([point, plays]) =>
  plays.flatMap((scenario) =>
    (["before", "after"] as const).map((side) => ({ name: `${side}-${point}`, scenario })),
  ),
);

if (full) {
  test.each(every)(
    "Nothing is lost or repeated $name in a $scenario.armed at “$scenario.text”",
    async ({ name, scenario }) => {
      let times = 0;
      while (times < mostTimes && (await survives(`${name}:${times + 1}`, scenario))) times += 1;
      // A point that is never reached would be a test of nothing.
      expect(times).toBeGreaterThan(0);
    },
    600_000,
  );
} else {
  test.each([
    ["a gateway is killed after it stored a message and before it said so", "after-deliver", receiving],
    ["a worker is killed after it began a command", "after-append:2", working],
    ["a worker is killed after it posted an answer and before it noted that", "after-post", working],
    ["a gateway is killed after it stored a decision and before it said so", "after-decide", deciding],
  ] as const)(
    "Nothing is lost or repeated when %s",
    async (_what, fault, scenario) => {
      expect(await survives(fault, scenario)).toBe(true);
    },
    60_000,
  );
}
