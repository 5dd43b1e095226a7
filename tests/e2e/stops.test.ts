import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { runs, says } from "../fakes/anthropic-replies.ts";
import { type FakeBlock, type FakeModelServer, startFakeAnthropic } from "../fakes/anthropic.ts";
import { keys } from "../../src/queue/redis/keys.ts";
import { readJournal } from "../../src/queue/session/journal/journal.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { type FakeSlack, startFakeSlack } from "../fakes/slack/fake-slack.ts";
import type { FakeMessage } from "../fakes/slack/workspace.ts";
import { repository, stdioServer } from "../agent/mcp/repository.ts";
import { modelEnvironment, slackEnvironment } from "./environment.ts";
import { processesWith, running, uniqueSleep } from "./processes.ts";
import { newPlace, patienceMs, type Place } from "./program.ts";

let redis: TestRedis;
let place: Place;
let slack: FakeSlack;
let model: FakeModelServer;
/** One program is told to stop again and again. */
beforeAll(async () => {
  [redis, place, slack, model] = await Promise.all([
    startRedis(),
    newPlace(),
    startFakeSlack({ patienceMs }),
    startFakeAnthropic(),
  ]);
  const mcpServers = { fixture: { command: "node", args: [stdioServer], sandbox: { read: [repository] } } };
  await writeFile(join(place.folder, "mcp.json"), JSON.stringify({ mcpServers }));
  const settings = { access: { stop: "requester" }, compaction: { retainRounds: 0, retainSteps: 1 } };
  await writeFile(join(place.folder, "heddle.yaml"), JSON.stringify(settings));
  const program = place.start(["start"], {
    REDIS_URL: redis.path,
    ...slackEnvironment(slack),
    ...modelEnvironment(model),
  });
  await program.line(/Heddle is ready/);
}, patienceMs);
afterEach(({ task }) => {
  // A test that has failed leaves replies that the next one's requests would get.
  model.forget();
  if (task.result?.state === "fail") console.error(place.outputs());
});
afterAll(async () => {
  await place.clean();
  await Promise.all([slack.close(), model.close(), redis.stop()]);
});

const calls = (name: string, input: unknown = {}): FakeBlock => ({ type: "tool_use", name, input });

/** A reply that comes to no end. */
const thinks = () => ({
  content: [{ type: "text" as const, text: "Let me think about it for a very long time" }],
  breaks: { after: 4, how: "stall" as const },
});

/** Each task has a channel of its own: Slack takes one message a second in each. */
let tasks = 0;
const asks = (text: string, options = {}) =>
  slack.user("ada").says(slack.channel(`task-${++tasks}`), `<@BOT> ${text}`, options);

const inThread = ({ channel, ts }: FakeMessage) => channel.messages.filter(({ threadTs }) => threadTs === ts);

const receiptsOf = (question: FakeMessage) =>
  inThread(question).filter(({ text }) => text.includes("Stopped by"));

const isCalled = (method: string, since: number) =>
  slack.until(() => slack.calls.slice(since).some((call) => call.method === method));

/** A turn in the middle of something. */
interface TurnPhase {
  question: FakeMessage;
  /** Resolves when that has ended. */
  ended?(): Promise<unknown>;
  /** What the receipt says of it. */
  figures: RegExp;
}

const noCommand = /No command was running/;
const oneCommand = /1 command ended \(\d+ process(es)?\), 0 left alive/;

/** Each brings a turn there. */
const turnPhases = {
  async "a model call"() {
    const next = model.calls.length + 1;
    model.push(thinks());
    const question = await asks("think");
    const { aborted } = await model.call(next);
    return { question, ended: () => aborted, figures: noCommand };
  },

  async "a summary call"() {
    model.push(says("word ".repeat(2_000)), says("And more."));
    const question = await asks("talk");
    await slack.until(() => inThread(question).some(({ text }) => text.includes("word word")));
    await slack.user("ada").says(question.channel, "more", { thread: question.ts });
    await slack.until(() => inThread(question).some(({ text }) => text.includes("And more.")));
    const next = model.calls.length + 1;
    model.push(thinks());
    const order = await slack.user("ada").says(question.channel, "compact", { thread: question.ts });
    const request = await model.call(next);
    expect(request.rawBody).toContain("You keep");
    return { question: { ...order, ts: question.ts }, ended: () => request.aborted, figures: noCommand };
  },

  async "the pause before a retry"() {
    const headers = { "retry-after": "300" };
    model.push({ status: 529, type: "overloaded_error", message: "Overloaded", headers });
    const question = await asks("try");
    await slack.until(() => inThread(question).some(({ text }) => text.includes("Trying again in")));
    return { question, figures: noCommand };
  },

  async "a command"() {
    const { command, seconds } = uniqueSleep();
    model.push(runs(command));
    const question = await asks("sleep");
    await running(command);
    const ended = () => expect.poll(() => processesWith(seconds)).toEqual([]);
    return { question, ended, figures: oneCommand };
  },

  async "a background job"() {
    const { command, seconds } = uniqueSleep();
    const next = model.calls.length + 2;
    model.push({ content: [calls("bash", { command, run_in_background: true })] }, thinks());
    const question = await asks("serve");
    await Promise.all([running(command), model.call(next)]);
    const ended = () => expect.poll(() => processesWith(seconds)).toEqual([]);
    return { question, ended, figures: oneCommand };
  },

  async "a sub-agent's command"() {
    const { command, seconds } = uniqueSleep();
    model.push({ content: [calls("task", { task: "Sleep well.", access: "all" })] }, runs(command));
    const question = await asks("delegate");
    await running(command);
    const ended = () => expect.poll(() => processesWith(seconds)).toEqual([]);
    return { question, ended, figures: oneCommand };
  },

  async "a sub-agent's model call"() {
    const next = model.calls.length + 2;
    model.push({ content: [calls("task", { task: "Think well." })] }, thinks());
    const question = await asks("delegate");
    const { aborted } = await model.call(next);
    return { question, ended: () => aborted, figures: noCommand };
  },

  async "a call of an MCP server"() {
    model.push({ content: [calls("fixture__hang")] });
    const question = await asks("call");
    await slack.until(() => inThread(question).some(({ text }) => text.includes("fixture__hang")));
    const ended = async () => {
      const next = model.calls.length + 2;
      model.push({ content: [calls("fixture__journal")] }, says("It was cancelled."));
      await asks("what became of it?");
      expect((await model.call(next)).rawBody).toContain("started cancelled");
      await slack.message(({ text }) => text.includes("It was cancelled."));
    };
    return { question, ended, figures: noCommand };
  },

  async "the download of an attachment"() {
    const since = slack.calls.length;
    slack.fail("download", { kind: "stall" });
    const files = [{ name: "data.csv", content: "1" }];
    const question = await asks("sum", { files });
    await isCalled("download", since);
    return { question, figures: noCommand };
  },

  async "a question to people"() {
    model.push({ content: [calls("ask_user", { question: "Which?", choices: ["Red", "Blue"] })] });
    const question = await asks("ask");
    const hasButtons = () => inThread(question).some(({ blocks }) => JSON.stringify(blocks).includes("Red"));
    await slack.until(hasButtons);
    return { question, ended: () => slack.until(() => !hasButtons()), figures: noCommand };
  },

  async "the upload of a file"() {
    const since = slack.calls.length;
    slack.fail("upload", { kind: "stall" });
    model.push(runs("echo 1 >result.csv"), { content: [calls("attach_file", { path: "result.csv" })] });
    const question = await asks("send it");
    await isCalled("upload", since);
    const ended = async () => {
      const client = redis.client();
      const [thread = ""] = await client.zrevrange(keys.threads, 0, 0);
      const journal = await readJournal(client, thread);
      const results = journal.flatMap((record) => (record.type === "tool-result" ? [record.message] : []));
      expect(results.at(-1)).toMatchObject({
        status: "stopped",
        text: expect.stringContaining("result.csv was not sent."),
      });
    };
    return { question, ended, figures: /No command was running\. What was written so far is kept/ };
  },
} satisfies Record<string, () => Promise<TurnPhase>>;

const receipt = (question: FakeMessage) => slack.until(() => receiptsOf(question)[0]);

const reacts = ({ question }: TurnPhase) => slack.user("ada").reacts("octagonal_sign", question);

/** The thread works on, and nothing of what was stopped has gone on meanwhile. */
async function expectNext({ question }: TurnPhase, next: string): Promise<void> {
  const before = model.bodies.length;
  model.push(says(next));
  await slack.user("ada").says(question.channel, "and now?", { thread: question.ts });
  await slack.until(() => inThread(question).some(({ text }) => text.includes(next)));
  expect(model.bodies).toHaveLength(before + 1);
  expect(inThread(question).filter(({ text }) => text.includes("Working"))).toEqual([]);
}

describe("A stop in the middle of", () => {
  test.for(Object.keys(turnPhases) as (keyof typeof turnPhases)[])(
    "%s ends it, is told once with its figures, and leaves the next message to a turn",
    { timeout: patienceMs },
    async (name) => {
      const phase: TurnPhase = await turnPhases[name]();
      await reacts(phase);
      const { text } = await receipt(phase.question);
      expect(text).toMatch(/Stopped by ada/);
      expect(text).toMatch(phase.figures);
      await phase.ended?.();
      await expectNext(phase, `Next to ${name}.`);
      expect(receiptsOf(phase.question)).toHaveLength(1);
    },
  );
});

test(
  "A stop that is told in several ways, and again behind its receipt, is one stop",
  async () => {
    const phase: TurnPhase = await turnPhases["a command"]();
    const { question } = phase;
    const adds = (text: string) => slack.user("ada").says(question.channel, text, { thread: question.ts });
    await Promise.all([reacts(phase), adds("stop"), adds("stop")]);
    await receipt(question);
    await phase.ended?.();
    await adds("<@BOT> stop");
    await slack.until(() => inThread(question).some(({ text }) => text.includes("Nothing is running")));
    await expectNext(phase, "Next to many.");
    expect(receiptsOf(question)).toHaveLength(1);
  },
  patienceMs,
);

test(
  "The deletion of the only message that a turn works on is a stop",
  async () => {
    const phase: TurnPhase = await turnPhases["a command"]();
    // Where there is nothing else, Slack removes a thread with its first message.
    await slack.until(() => inThread(phase.question).length > 0);
    await slack.user("ada").deletes(phase.question);
    expect((await receipt(phase.question)).text).toMatch(/Stopped by ada, who deleted the message/);
    await phase.ended?.();
    await expectNext(phase, "Next to a deletion.");
    expect(receiptsOf(phase.question)).toHaveLength(1);
  },
  patienceMs,
);

test(
  "A stop while the answer is on its way comes too late: the answer is there once, and there is no receipt",
  async () => {
    const since = slack.calls.length;
    slack.fail("chat.postMessage", { kind: "rate-limit", retryAfterSeconds: 2 });
    model.push(says("Here it is."));
    const question = await asks("answer");
    await isCalled("chat.postMessage", since);
    await reacts({ question, figures: noCommand });
    await slack.until(() => question.reactions.get("white_check_mark"));
    await expectNext({ question, figures: noCommand }, "Next to an answer.");
    expect(inThread(question).filter(({ text }) => text.includes("Here it is."))).toHaveLength(1);
    expect(receiptsOf(question)).toEqual([]);
  },
  patienceMs,
);

test(
  "A 🛑 by somebody who may not stop the turn stops nothing, and that person alone is told so, once",
  async () => {
    const { question, ended }: TurnPhase = await turnPhases["a command"]();
    const [ada, bob] = [slack.user("ada"), slack.user("bob")];
    // A first try may have left some.
    const before = bob.ephemerals().length;
    const told = () => bob.ephemerals().slice(before);
    await bob.says(question.channel, "what is it doing?");
    await bob.reacts("octagonal_sign", question);
    await slack.until(() => told().length > 0);
    expect(told()).toEqual([expect.stringContaining("You may not stop this")]);
    await bob.says(question.channel, "stop", { thread: question.ts });
    await slack.until(() => slack.deliveries.every(({ isAcknowledged }) => isAcknowledged));
    expect(told()).toHaveLength(1);
    expect(ada.ephemerals()).toEqual([]);
    expect(question.channel.messages.filter(({ text }) => text.includes("may not stop"))).toEqual([]);
    expect(receiptsOf(question)).toEqual([]);
    await ada.reacts("octagonal_sign", question);
    await receipt(question);
    await ended?.();
  },
  patienceMs,
);
