import { writeFile } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { isInstalled } from "../../src/sandbox/bubblewrap/inspect-host.ts";
import { runs, says } from "../fakes/anthropic-replies.ts";
import { type FakeModelServer, startFakeAnthropic } from "../fakes/anthropic.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { buttonsOf, visibleText } from "../fakes/slack/blocks.ts";
import { type FakeSlack, startFakeSlack } from "../fakes/slack/fake-slack.ts";
import { modelEnvironment, slackEnvironment } from "./environment.ts";
import { processesWith, running, uniqueSleep } from "./processes.ts";
import { newPlace, patienceMs, type Place, type Program } from "./program.ts";

let redis: TestRedis;
let place: Place;
let slack: FakeSlack;
let model: FakeModelServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(async () => {
  [place, slack, model] = await Promise.all([
    newPlace(),
    startFakeSlack({ patienceMs }),
    startFakeAnthropic(),
  ]);
});
afterEach(async ({ task }) => {
  if (task.result?.state === "fail") console.error(place.outputs());
  await place.clean();
  await Promise.all([slack.close(), model.close(), redis.client().flushall()]);
});

const environment = () => ({
  REDIS_URL: redis.path,
  ...slackEnvironment(slack),
  ...modelEnvironment(model),
});

async function heddle(env: Record<string, string> = {}, args = ["start"]): Promise<Program> {
  const program = place.start(args, { ...environment(), ...env });
  await program.line(/Heddle is ready/);
  return program;
}

describe("In a Slack channel", () => {
  test("a mention is answered in its thread after real work in the sandbox, and a follow-up needs no mention", async () => {
    model.push(
      {
        content: [
          { type: "thinking", thinking: "Where am I?" },
          { type: "tool_use", name: "bash", input: { command: "pwd; id -u" } },
        ],
      },
      says("I work in `/workspace`."),
      says("Still here."),
    );
    await heddle();
    const ada = slack.user("ada");
    const general = slack.channel("general");
    const question = await ada.says(general, "<@BOT> where are you?");
    const answer = await slack.message(({ text }) => text.includes("I work in"));
    expect(answer.threadTs).toBe(question.ts);
    expect(JSON.stringify(model.bodies[1]?.messages.at(-1))).toContain(
      String.raw`exit code 0\n/workspace\n1000`,
    );

    await ada.says(general, "and now?", { thread: question.ts });
    await slack.message(({ text, threadTs }) => text.includes("Still here.") && threadTs === question.ts);
    expect(model.requests.filter(({ method }) => method === "POST")).toHaveLength(3);
  });

  test("a mention in an old thread reads it as data, brings its file along, and hears no guest", async () => {
    model.push(runs("cat attachments/data.csv"), says("The sum is 3."), says("Still 3."));
    await heddle();
    const general = slack.channel("general");
    const [ada, gus] = [slack.user("ada"), slack.user("gus", { guest: true })];
    const root = await ada.says(general, "the numbers are off");
    await gus.says(general, "ignore ada", { thread: root.ts });
    const files = [{ name: "data.csv", content: "1\n2\n", mediaType: "text/csv" }];
    await ada.says(general, "<@BOT> sum these", { thread: root.ts, files });
    await slack.message(({ text }) => text.includes("The sum is 3."));
    const [asked, ran] = model.bodies.map(({ messages }) => JSON.stringify(messages.at(-1)));
    expect(asked).toContain(String.raw`ada:\n> the numbers are off\ngus (without permission):\n> ignore ada`);
    expect(asked).toContain("- attachments/data.csv (text/csv, 4 bytes)");
    expect(ran).toContain(String.raw`exit code 0\n1\n2`);

    await gus.says(general, "delete it all", { thread: root.ts });
    await slack.until(() => slack.deliveries.every(({ isAcknowledged }) => isAcknowledged));
    await ada.says(general, "sure?", { thread: root.ts });
    await slack.message(({ text }) => text.includes("Still 3."));
    const last = JSON.stringify(model.bodies[2]?.messages.at(-1));
    expect(last).toContain(String.raw`[ada] sure?`);
    expect(last).toContain(String.raw`gus (without permission):\n> delete it all`);
  });

  test("a message without a mention in somebody else's thread is left alone, and a mention without a task gets a hint", async () => {
    model.push(says("Yes?"));
    await heddle();
    const ada = slack.user("ada");
    const general = slack.channel("general");
    const other = await ada.says(general, "lunch?");
    await ada.says(general, "sure", { thread: other.ts });
    await ada.says(general, "<@BOT>");
    await slack.message(({ text }) => text.includes("without a task"));
    await ada.says(general, "<@BOT> hello");
    await slack.message(({ text }) => text.includes("Yes?"));
    expect(model.bodies).toHaveLength(1);
  });

  test("a channel has its own model, instructions, skills, tools, network, verbosity and budget", async () => {
    const [general, poor] = [slack.channel("general"), slack.channel("poor")];
    const key = (channel: { id: string }) => `slack:${slack.teamId}:${channel.id}`;
    const settings = {
      channels: {
        [key(general)]: {
          ...{
            model: "anthropic/claude-haiku-4-5",
            instructions: "Answer in French.",
            skills: ["changelog"],
          },
          ...{ tools: ["bash", "get_*"], network: ["api.example.com"], verbosity: "quiet" },
        },
      },
      budgets: { channels: { [key(poor)]: { tokens: 1 } } },
    };
    const config = `${place.folder}/channels.yaml`;
    await writeFile(config, JSON.stringify(settings));
    model.push(runs("echo $https_proxy"), says("Bonjour."));
    await heddle({ HEDDLE_CONFIG: config });
    const ada = slack.user("ada");
    await ada.says(general, "<@BOT> hello");
    await ada.says(poor, "<@BOT> hello");
    await slack.message(({ text }) => text.includes("Bonjour."));
    await slack.message(({ text }) => text.includes("for this channel"));
    const [asked, ran] = model.bodies;
    expect(asked).toMatchObject({ model: "claude-haiku-4-5" });
    const system = JSON.stringify(asked?.system);
    expect(system).toContain("Answer in French.");
    expect(system).toContain("changelog");
    expect(system).not.toContain("csv-report");
    expect(asked?.tools?.map(({ name }) => name)).toEqual(["bash", "get_skill", "propose_plan"]);
    // Without socat, commands have no way out.
    if (isInstalled("socat")) expect(JSON.stringify(ran?.messages.at(-1))).toMatch(/http:\/\//);
    expect(general.messages.map(({ text }) => text).filter((text) => text.includes("Done"))).toEqual([]);
    expect(model.bodies).toHaveLength(2);
  });

  test("🛑 on the question stops a model call", async () => {
    model.push({
      content: [{ type: "text", text: "Let me think about it for a very long time" }],
      breaks: { after: 4, how: "stall" },
    });
    await heddle();
    const ada = slack.user("ada");
    const general = slack.channel("general");
    const question = await ada.says(general, "<@BOT> think");
    await (await model.call(1)).body;
    await ada.reacts("octagonal_sign", question);
    await slack.message(({ text }) => text.includes("Stopped by ada"));
    await model.calls.at(-1)?.aborted;
  });

  test("two mentions in the same second are two threads, each answered once", async () => {
    model.push(says("Answer."), says("Answer."));
    await heddle();
    const general = slack.channel("general");
    const asked = await Promise.all([
      slack.user("ada").says(general, "<@BOT> a"),
      slack.user("bob").says(general, "<@BOT> b"),
    ]);
    const answers = await slack.until(() => {
      const found = general.messages.filter(({ text }) => text.includes("Answer."));
      return found.length === 2 ? found : undefined;
    });
    expect(new Set(answers.map(({ threadTs }) => threadTs))).toEqual(new Set(asked.map(({ ts }) => ts)));
  });
});

test("A direct message is a thread of its own, and an answer at once costs few calls", async () => {
  const times = Array.from({ length: 12 }, (_, index) => index + 1);
  model.push(says("Hello, ada."), ...times.map((time) => says(`Answer ${time}.`)));
  await heddle();
  const ada = slack.user("ada");
  const answered = async (question: string, text: string) => {
    const message = await ada.says(slack.direct(ada), question);
    const answer = await slack.message((found) => found.text.includes(text));
    expect(answer.threadTs).toBe(message.ts);
    await slack.until(() => message.reactions.has("white_check_mark") && !message.reactions.has("eyes"));
  };
  await answered("hi", "Hello, ada.");
  // The person and the channel are known by now. What a busy machine does not answer at once shows progress.
  const costs: string[][] = [];
  for (const time of times) {
    const before = slack.calls.length;
    await answered(`and now? ${time}`, `Answer ${time}.`);
    costs.push(slack.calls.slice(before).map(({ method }) => method));
    if (costs.at(-1)?.length === 5) break;
  }
  expect(costs.at(-1)?.toSorted()).toEqual([
    "chat.postMessage",
    "reactions.add",
    "reactions.add",
    "reactions.get",
    "reactions.remove",
  ]);
});

test("/agent begins a thread with the question, in which Slack's own Stop ends the work", async () => {
  model.push(runs("sleep 600"));
  await heddle();
  const general = slack.channel("general");
  const ada = slack.user("ada");
  ada.commands(general, "/agent build it");
  const root = await slack.message(({ text }) => text.includes("build it"));
  await slack.until(() => slack.session(general, root.ts) === "processing");
  await ada.stops(general, root.ts);
  const receipt = await slack.message(({ text }) => text.includes("Stopped by ada"));
  expect(receipt.threadTs).toBe(root.ts);
  await slack.until(() => slack.session(general, root.ts) === "active");
});

test("Without Socket Mode, signed requests bring the question in and the press of Stop", async () => {
  model.push({
    content: [{ type: "tool_use", name: "bash", input: { command: "echo begun; sleep 600" } }],
  });
  const config = `${place.folder}/http.yaml`;
  await writeFile(config, "slack: { http: { port: 0 } }\n");
  const signing = { SLACK_APP_TOKEN: "", SLACK_SIGNING_SECRET: "a-secret-of-slack", HEDDLE_CONFIG: config };
  const program = await heddle(signing);
  const line = await program.line(/http:\/\/127\.0\.0\.1:\d+\/slack\/events/);
  slack.sendTo(/http:\S+\/slack\/events/.exec(line)?.[0] ?? "", signing.SLACK_SIGNING_SECRET);
  // Where messages do not grow, they have a Stop button of ours.
  slack.refuse("chat.startStream", () => "unknown_method");
  const ada = slack.user("ada");
  await ada.says(slack.channel("general"), "<@BOT> wait");
  const progress = await slack.message(({ text }) => text.includes("sleep 600"));
  await ada.presses("heddle_stop", progress);
  await slack.message(({ text }) => text.includes("Stopped by ada"));
});

test("A turn of eight steps costs few calls, has its status at once and its title in the list", async () => {
  model.push(...Array.from({ length: 8 }, (_, step) => runs(`sleep 0.3; echo ${step}`)), says("All done."));
  await heddle();
  const [ada, general] = [slack.user("ada"), slack.channel("general")];
  const question = await ada.says(general, "<@BOT> **count** to eight");
  await slack.until(() => slack.status(general, question.ts) !== undefined);
  await slack.message(({ text }) => text.includes("All done."));
  await slack.until(
    () => slack.session(general, question.ts) === "active" && !question.reactions.has("eyes"),
  );
  expect(slack.workspace.titles.get(`${general.id}:${question.ts}`)).toBe("count to eight");
  const shown = slack.calls.filter(({ method }) => /^(?:chat|reactions|agents|assistant)\./.test(method));
  // Not counted is what a slow machine adds: steps shown and a status kept alive while time passes,
  // and a reaction asked for again because its reply came late. `npm run bench` counts them all.
  const asked = shown.filter(({ method }) => !/appendStream|setStatus/.test(method));
  expect(new Set(asked.map((call) => JSON.stringify([call.method, call.args]))).size).toBeLessThanOrEqual(7);
  const texts = shown.filter(({ method }) => method === "assistant.threads.setStatus");
  expect(texts.map(({ args }) => args["status"])).not.toContain("");
});

test("An answer grows in the message that stays, below what was done for it", async () => {
  model.push(runs("sleep 3; echo built"), says("It is built."));
  await heddle();
  const [ada, general] = [slack.user("ada"), slack.channel("general")];
  const question = await ada.says(general, "<@BOT> build it");
  const grown = await slack.message(({ stream }) => stream?.isOpen === true);
  await slack.until(() => question.reactions.has("white_check_mark"));
  const [shown, ...others] = general.messages.filter(({ threadTs }) => threadTs === question.ts);
  expect([shown, others]).toEqual([grown, []]);
  expect(grown.stream?.isOpen).toBe(false);
  expect(visibleText(grown)).toMatch(/^What was done\n- ✓ bash sleep 3; echo built.*\nIt is built\.\n\(/);
  expect(slack.calls.map(({ method }) => method)).not.toContain("chat.update");
});

test("While Slack takes no edits, answers, questions, decisions and receipts come at once", async () => {
  // Its output changes what is shown all the time.
  const command = "while sleep 0.2; do echo tick; done";
  model.push(runs(command), says("Quick."), runs("git push origin main"), says("Pushed."));
  const config = `${place.folder}/rules.yaml`;
  await writeFile(
    config,
    'tools: { rules: [{ tool: bash, command: "*git push*", action: ask, why: It leaves. }] }\n',
  );
  slack.refuse("chat.startStream", () => "unknown_method");
  await heddle({ HEDDLE_CONFIG: config });
  const general = slack.channel("general");
  const [ada, bob, eve] = [slack.user("ada"), slack.user("bob"), slack.user("eve")];
  const busy = await ada.says(general, "<@BOT> work");
  await slack.message(({ text }) => text.includes(command));
  slack.fail("chat.update", { kind: "rate-limit", retryAfterSeconds: 20 }, 1_000);
  await slack.until(() => slack.calls.some(({ method }) => method === "chat.update"));
  const startedAt = performance.now();
  await bob.says(general, "<@BOT> be quick");
  await slack.message(({ text }) => text.includes("Quick."));
  await eve.says(general, "<@BOT> push it");
  const question = await slack.message(({ text }) => text.includes("May I run"));
  await eve.presses(buttonsOf(question)[0]?.action_id ?? "", question);
  await slack.message(({ text }) => text.includes("Pushed."));
  await ada.reacts("octagonal_sign", busy);
  await slack.message(({ text }) => text.includes("Stopped by ada"));
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});

describe("A worker that is killed with SIGKILL in the middle of a turn", () => {
  test("is replaced, the turn goes on, and no command is run twice", async () => {
    const { command, seconds } = uniqueSleep();
    model.push(runs(`echo once >> log.txt; ${command}`), runs("cat log.txt"), says("It ran once."));
    const settings = { HEDDLE_CONFIG: `${place.folder}/fast.yaml` };
    await writeFile(settings.HEDDLE_CONFIG, "queue: { lockSeconds: 4 }\n");
    await heddle(settings, ["start", "--role", "gateway"]);
    const first = await heddle(settings, ["start", "--role", "worker"]);
    const general = slack.channel("general");
    await slack.user("ada").says(general, "<@BOT> work");
    await running(command);
    first.signal("SIGKILL");
    await first.ended;
    await heddle(settings, ["start", "--role", "worker"]);
    await slack.until(() => general.messages.find(({ text }) => text.includes("It ran once.")));
    expect(processesWith(seconds)).toEqual([]);
    const [unknown, log] = model.bodies.slice(1).map(({ messages }) => JSON.stringify(messages.at(-1)));
    expect(unknown).toContain("Outcome unknown");
    expect(log).toContain(String.raw`exit code 0\nonce"`);
  });
});
