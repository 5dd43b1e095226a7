import { afterEach, beforeEach, expect, test } from "vitest";
import type { ThreadId } from "../../src/chat/threads.ts";
import { readJournal } from "../../src/queue/session/journal/journal.ts";
import { patienceMs } from "../e2e/program.ts";
import type { FakeSlack } from "../fakes/slack/fake-slack.ts";
import type { FakeMessage } from "../fakes/slack/workspace.ts";
import { quiet } from "./evidence.ts";
import { bounded, full } from "./extent.ts";
import { hasRedisServer, noRedisServer } from "./redis-process.ts";
import { botMessages, deployForTest, type TestDeployment } from "./serve.ts";
import { replyTo } from "./tasks.ts";

/**
 * A watched channel at real processes: messages that are told again and again, to two of them, and gateways that are
 * killed while they take one. Of each there is one turn, and of a turn that has nothing to say nothing is to be seen.
 */
let deployment: TestDeployment;
beforeEach(async (context) => {
  context.skip(!hasRedisServer, noRedisServer);
  deployment = await deployForTest({
    settings,
    // What asks for no task is no business of the agent.
    replies: (body) =>
      /task \d/.test(JSON.stringify(body.messages))
        ? replyTo(body)
        : { content: [{ type: "text", text: "NO_REPLY" }] },
  });
});
afterEach(async ({ task }) => {
  if (!hasRedisServer) return;
  if (task.result?.state === "fail") console.error(deployment.outputs());
  await deployment.clean();
});

function settings(slack: FakeSlack): string {
  const channel = `slack:${slack.teamId}:${slack.channel("talk").id}`;
  return `channels: ${JSON.stringify({ [channel]: { watch: { task: "Do the tasks.", debounceSeconds: 1 } } })}`;
}

const says = (text: string) => deployment.slack.user("ada").says(deployment.slack.channel("talk"), text);

/** The threads of these messages that have a session. */
async function sessionsOf(messages: readonly FakeMessage[]): Promise<ThreadId[]> {
  const threads = messages.map(deployment.threadOf);
  const found = await Promise.all(
    threads.map((thread) => deployment.redis.client.exists(`heddle:{${thread}}:head`)),
  );
  return threads.filter((_, index) => found[index] === 1);
}

/** Waits for the turn of these messages: one, in one thread, with each of them once. */
async function expectOneTurn(messages: readonly FakeMessage[]): Promise<void> {
  await expect.poll(() => sessionsOf(messages), { timeout: patienceMs }).toHaveLength(1);
  const [thread] = await sessionsOf(messages);
  if (thread === undefined) throw new Error("No thread has a session.");
  await expect
    .poll(async () => (await readJournal(deployment.redis.client, thread)).at(-1)?.type, {
      timeout: patienceMs,
    })
    .toBe("turn-end");
  await quiet(deployment, [thread], patienceMs);
  const journal = await readJournal(deployment.redis.client, thread);
  expect(journal.filter(({ type }) => type === "turn-start")).toHaveLength(1);
  const taken = journal.flatMap((record) => (record.type === "user" ? [record.message.id] : []));
  expect(taken.toSorted()).toEqual(messages.map(({ ts }) => ts).toSorted());
  expect(messages.flatMap(({ reactions }) => [...reactions.keys()])).toEqual([]);
}

const answersTo = (messages: readonly FakeMessage[]) =>
  messages.flatMap(({ channel, ts }) => botMessages(deployment.slack, channel, ts));

test("What two processes hear in a row is one turn, and nothing is seen of one that says nothing", async () => {
  await Promise.all([deployment.start("all"), deployment.start("all")]);
  const silent = await Promise.all(["lunch?", "where?", "at one"].map(says));
  await expectOneTurn(silent);
  expect(answersTo(silent)).toEqual([]);

  const asked = await Promise.all(["task 1 calls 1", "and something else", "task 2 calls 1"].map(says));
  await expectOneTurn(asked);
  const [thread] = await sessionsOf(asked);
  expect((await deployment.linesOf(thread ?? "")).toSorted()).toEqual(["1-1", "2-1"]);
  expect(answersTo(asked)).toHaveLength(1);
}, 120_000);

/** What a gateway does between the arrival of a message and the beginning of its turn. */
const points = ["join-burst", "deliver", "list", "remember", "wake"] as const;
const kills = points.flatMap((point) => [`before-${point}`, `after-${point}`]);
test.each(bounded ? [] : full ? kills : ["before-deliver", "after-deliver", "before-wake"])(
  "A message is one turn when its gateway is killed %s",
  async (point) => {
    await deployment.start("worker");
    const gateway = await deployment.start("gateway", point);
    const message = await says("task 1 calls 1");
    await gateway.ended;
    await deployment.start("gateway");
    await expectOneTurn([message]);
    expect(await deployment.linesOf(deployment.threadOf(message))).toEqual(["1-1"]);
    expect(answersTo([message])).toHaveLength(1);
  },
  120_000,
);
