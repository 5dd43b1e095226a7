import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { keys } from "../../src/queue/keys.ts";
import { check } from "./check.ts";
import { gather, quiet } from "./evidence.ts";
import { note } from "./figures.ts";
import { hasRedisServer, noRedisServer } from "./redis-process.ts";
import { setStage, type Stage } from "./stage.ts";

/**
 * A process is killed with SIGKILL at one named point, before or after one write or post, and another one takes
 * its place. `npm run test:faults` tries every point at every time that it is reached; otherwise a few are tried.
 */
const full = process.env["HEDDLE_FAULTS"] === "full";
/** No scenario reaches a point as often; it only ends what would not end. */
const mostTimes = 30;

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
  /** Whether somebody stops the turn while its command runs. */
  stops?: boolean;
}

let tasks = 0;

/** Plays the scenario with a fault; false when the armed process was not killed because it never came there. */
async function survives(fault: string, { armed, text, stops = false }: Scenario): Promise<boolean> {
  // Else the new gateway would look for messages of the scenarios before, and the points be reached for those.
  await stage.redis.client.del(keys.present("slack", stage.slack.teamId));
  const fleet = [await stage.start(armed === "gateway" ? "worker" : "gateway")];
  try {
    const victim = await stage.start(armed, fault);
    fleet.push(victim);
    const task = String((tasks += 1));
    const question = await ask(text.replace("N", task));
    if (stops) {
      const progress = stage.slack.message((message) => message.text.includes(`echo ${task}-1`));
      const shown = await Promise.race([progress, victim.ended.then(() => question)]);
      await stage.slack.user("bob").reacts("octagonal_sign", shown);
    }
    const thread = stage.threadOf(question);
    const killed = await Promise.race([
      victim.ended.then(() => true),
      quiet(stage, [thread], 30_000).then(() => false),
    ]);
    const killedAt = Date.now();
    if (killed) fleet.push(await stage.start(armed));
    const { deliveries } = stage.slack;
    await stage.slack.until(() => deliveries.every(({ isAcknowledged }) => isAcknowledged), 20_000);
    await quiet(stage, [thread], 20_000);
    if (killed) note("kill", { point: fault, ms: Date.now() - killedAt });
    expect(check(await gather(stage, [question])).broken).toEqual([]);
    return killed;
  } finally {
    for (const program of fleet) program.signal("SIGKILL");
    await Promise.all(fleet.map(({ ended }) => ended));
  }
}

function ask(text: string) {
  return stage.slack.user("ada").says(stage.slack.channel("general"), `<@BOT> ${text}`);
}

const working: Scenario = { armed: "worker", text: "task N calls 1 pause 1.5" };
const stopped: Scenario = { armed: "worker", text: "task N calls 1 pause 30", stops: true };
const receiving: Scenario = { armed: "gateway", text: "task N" };
const passingOn: Scenario = { ...stopped, armed: "gateway" };

const sides = ["before", "after"] as const;
const every = [
  ...["claim", "take", "append", "post", "remember", "progress", "mark", "reserve", "book"].map((point) => ({
    point,
    scenario: working,
  })),
  ...["append", "post", "mark"].map((point) => ({ point, scenario: stopped })),
  ...["deliver", "list", "remember", "wake", "mark"].map((point) => ({ point, scenario: receiving })),
  ...["stop", "wake"].map((point) => ({ point, scenario: passingOn })),
].flatMap(({ point, scenario }) => sides.map((side) => ({ name: `${side}-${point}`, scenario })));

if (full) {
  test.each(every)(
    "Nothing is lost or repeated $name in a $scenario.armed at “$scenario.text”",
    async ({ name, scenario }) => {
      let times = 0;
      while (times < mostTimes && (await survives(`${name}:${times + 1}`, scenario))) times += 1;
      // A point that is never reached would be a test of nothing.
      expect(times).toBeGreaterThan(0);
    },
    300_000,
  );
} else {
  test.each([
    ["a gateway is killed after it stored a message and before it said so", "after-deliver", receiving],
    ["a worker is killed after it began a command", "after-append:2", working],
    ["a worker is killed after it posted an answer and before it noted that", "after-post", working],
  ] as const)(
    "Nothing is lost or repeated when %s",
    async (_what, fault, scenario) => {
      expect(await survives(fault, scenario)).toBe(true);
    },
    30_000,
  );
}
