import { createHmac } from "node:crypto";
import { Agent, request } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ThreadId } from "../../src/chat/threads.ts";
import { patienceMs, type Program } from "../e2e/program.ts";
import type { FakeSlack } from "../fakes/slack/fake-slack.ts";
import type { FakeMessage } from "../fakes/slack/workspace.ts";
import { check } from "./check.ts";
import { gather, quiet } from "./evidence.ts";
import { note } from "./figures.ts";
import { hasRedisServer, noRedisServer } from "./redis-process.ts";
import { deployForTest, type TestDeployment } from "./serve.ts";
import { bounded, full } from "./extent.ts";

/**
 * Webhooks at real processes: one delivery many times at two of them, a gateway that is killed around its answer, and
 * requests that are forged, old, changed, repeated or too many.
 */
const secret = "the-secret-of-the-sender";
const perHour = 3;

let deployment: TestDeployment;
let agent: Agent;
beforeEach(async (context) => {
  context.skip(!hasRedisServer, noRedisServer);
  agent = new Agent({ keepAlive: true, maxSockets: 20 });
  deployment = await deployForTest({
    settings,
    variables: { HOOK_SECRET: secret, HEDDLE_LOG_LEVEL: "info" },
  });
});
afterEach(async ({ task }) => {
  if (!hasRedisServer) return;
  if (task.result?.state === "fail") console.error(deployment.outputs());
  agent.destroy();
  await deployment.clean();
});

function settings(slack: FakeSlack): string {
  const common = {
    ...{ secretVariable: "HOOK_SECRET", prompt: "task {{number}} calls 1" },
    channel: `slack:${slack.teamId}:${slack.channel("alerts").id}`,
    onBehalfOf: { id: slack.user("ada").id, name: "ada" },
  };
  const triggers = {
    builds: { ...common, verify: "github" },
    timed: { ...common, verify: "slack" },
    few: { ...common, verify: "github", perHour },
    nightly: { ...common, verify: "github", quietHours: aroundNow() },
  };
  return `hooks: { port: 0 }\ntriggers: ${JSON.stringify(triggers)}`;
}

/** Quiet hours that have begun, and end with the next minute but the one that is almost over. */
function aroundNow(): { from: string; to: string } {
  const at = (ms: number) => new Date(ms).toISOString().slice(11, 16);
  return { from: at(Date.now() - 60_000), to: at(Date.now() + 75_000) };
}

const sign = (text: string, key = secret) => createHmac("sha256", key).update(text).digest("hex");
const github = (body: string, delivery: string, key = secret) => ({
  ...{ "x-hub-signature-256": `sha256=${sign(body, key)}`, "x-github-delivery": delivery },
});
function timed(body: string, secondsAgo = 0): Record<string, string> {
  const at = String(Math.floor(Date.now() / 1_000) - secondsAgo);
  return { "x-slack-request-timestamp": at, "x-slack-signature": `v0=${sign(`v0:${at}:${body}`)}` };
}

async function portOf(program: Program): Promise<number> {
  return Number(/"port":(\d+)/.exec(await program.line(/webhooks are received/))?.[1]);
}

/**
 * Resolves with the status, or with 0 where the connection broke before the answer. One that was kept open may be closed
 * as it is used again, and then nothing was sent: https://nodejs.org/api/http.html#requestreusedsocket.
 */
async function send(
  port: number,
  trigger: string,
  body: string,
  headers: Record<string, string>,
): Promise<number> {
  return new Promise((resolve) => {
    const options = { port, path: `/hooks/${trigger}`, method: "POST", headers, agent };
    const sent = request(options, (response) => {
      response.resume().once("close", () => resolve(response.statusCode ?? 0));
    });
    sent.once("error", () => resolve(sent.reusedSocket ? send(port, trigger, body, headers) : 0));
    sent.end(body);
  });
}

const bodyOf = (number: number) => JSON.stringify({ number });

/** The messages that begin threads in the channel of the triggers. */
const roots = (): FakeMessage[] =>
  deployment.slack.channel("alerts").messages.filter(({ threadTs }) => threadTs === undefined);

/** Waits until that many threads are there and quiet, and holds them against the promises: one turn in each. */
async function expectOneTurnEach(count: number): Promise<void> {
  const [first, ...others] = roots();
  if (!first) throw new Error("No thread was opened.");
  const threads: ThreadId[] = [first, ...others].map(deployment.threadOf);
  expect(threads).toHaveLength(count);
  await quiet(deployment, threads, patienceMs);
  for (const root of [first, ...others]) {
    const evidence = await gather(deployment, [root]);
    // Nobody has written what begins the thread.
    const { broken, fates } = check({ ...evidence, sent: [] });
    expect(broken).toEqual([]);
    expect([...fates.values()]).toEqual(["answered"]);
    expect(evidence.journal.filter(({ type }) => type === "turn-start")).toHaveLength(1);
    expect(evidence.lines).toHaveLength(1);
  }
  expect(roots()).toHaveLength(count);
}

test(
  "One delivery many times at two processes, and after its taker is killed, begins one turn",
  async () => {
    const [one, other] = await Promise.all([deployment.start("all"), deployment.start("all")]);
    const ports = await Promise.all([one, other].map(portOf));
    const sent = full ? 1_000 : 200;
    const body = bodyOf(7);
    const answers = await Promise.all(
      Array.from({ length: sent }, (_, index) =>
        send(ports[index % 2] ?? 0, "builds", body, github(body, "same")),
      ),
    );
    expect(answers.filter((status) => status === 200)).toHaveLength(1);
    expect(answers.filter((status) => status === 202)).toHaveLength(sent - 1);
    await expectOneTurnEach(1);
    note("webhooks", { sent, turns: 1 });

    // Killed with the answer on its way out.
    const next = bodyOf(8);
    expect(await send(ports[0] ?? 0, "builds", next, github(next, "next"))).toBe(200);
    one.signal("SIGKILL");
    await one.ended;
    expect(await send(ports[1] ?? 0, "builds", next, github(next, "next"))).toBe(202);
    await expectOneTurnEach(2);
  },
  full ? 300_000 : 120_000,
);

test.each(bounded ? [] : ["begins nothing"])(
  "What is forged, changed, old, replayed or too much %s",
  async () => {
    const port = await portOf(await deployment.start("all"));
    const body = bodyOf(1);
    const hooked = () => deployment.redis.client.keys("heddle:{hook:*");
    const genuine = github(body, "one");
    const signature = genuine["x-hub-signature-256"];
    const refused: [string, string, Record<string, string>][] = [
      ["builds", body, {}],
      ["builds", body, github(body, "one", "another-secret")],
      ["builds", bodyOf(2), genuine],
      ["builds", body, { ...genuine, "x-hub-signature-256": signature.slice(0, -1) }],
      ["builds", body, { ...genuine, "x-hub-signature-256": signature.replace("sha256", "sha1") }],
      ["timed", body, timed(body, 301)],
      ["timed", body, timed(body, -310)],
      ["timed", bodyOf(3), timed(body)],
    ];
    for (const [trigger, text, headers] of refused)
      expect(await send(port, trigger, text, headers)).toBe(401);
    const flood = full ? 5_000 : 300;
    const forged = github(body, "one", "another-secret");
    const answers = await Promise.all(
      Array.from({ length: flood }, () => send(port, "builds", "x".repeat(10_000), forged)),
    );
    expect(answers.every((status) => status === 401)).toBe(true);
    expect(await send(port, "builds", "x".repeat(1_100_000), genuine)).toBe(413);
    expect([await hooked(), roots()]).toEqual([[], []]);

    expect(await send(port, "timed", body, timed(body))).toBe(200);
    // Replayed with a signature of its own: the same body without an id is the same delivery.
    expect(await send(port, "timed", body, timed(body, 1))).toBe(202);
    const many = Array.from({ length: 3 * perHour }, (_, index) => bodyOf(10 + index));
    const taken = await Promise.all(
      many.map((text, index) => send(port, "few", text, github(text, `${index}`))),
    );
    expect(taken.toSorted((a, b) => a - b)).toEqual([
      ...Array.from({ length: perHour }, () => 200),
      ...Array.from({ length: 2 * perHour }, () => 429),
    ]);
    await expectOneTurnEach(1 + perHour);
  },
  120_000,
);

test.each(bounded ? [] : ["is one turn when they end"])(
  "What comes in quiet hours, again and again and to a gateway that is killed, %s",
  async () => {
    const [one, other] = [await deployment.start("all"), await deployment.start("all")];
    const ports = [await portOf(one), await portOf(other)];
    const body = bodyOf(9);
    const deliverAll = (count: number) =>
      Promise.all(
        Array.from({ length: count }, (_, index) =>
          send(ports[index % 2] ?? 0, "nightly", body, github(body, "night")),
        ),
      );
    const answers = await deliverAll(full ? 1_000 : 100);
    expect(answers.filter((status) => status === 200)).toHaveLength(1);
    expect(answers.every((status) => status === 200 || status === 202)).toBe(true);
    expect(roots()).toEqual([]);
    one.signal("SIGKILL");
    await one.ended;
    expect(await send(ports[1] ?? 0, "nightly", body, github(body, "night"))).toBe(202);
    // Nobody is told to go on: the gateway that is left looks at its clock.
    await deployment.slack.until(() => roots().length === 1, 180_000);
    await expectOneTurnEach(1);
    expect(await send(ports[1] ?? 0, "nightly", body, github(body, "night"))).toBe(202);
    await expectOneTurnEach(1);
  },
  300_000,
);

/** What a gateway does between the arrival of a webhook and its answer. */
const points = ["acquire-write", "reply", "remember", "list", "deliver", "wake"] as const;
const kills = points.flatMap((point) => [`before-${point}`, `after-${point}`]);
test.each(bounded ? [] : full ? kills : ["after-deliver"])(
  "A delivery is one turn when its gateway is killed %s and it is sent again",
  async (point) => {
    await deployment.start("worker");
    let number = 0;
    for (let time = 1; time <= (full ? 4 : 1); time += 1) {
      const fault = `${point}:${time}`;
      const gateway = await deployment.start("gateway", fault);
      number += 1;
      const body = bodyOf(number);
      const status = await send(await portOf(gateway), "builds", body, github(body, fault));
      if (status !== 0) {
        // It has not come there so often. What comes after the answer may still kill it.
        gateway.signal("SIGKILL");
        await gateway.ended;
        expect(status).toBe(200);
        expect(time).toBeGreaterThan(1);
        break;
      }
      await gateway.ended;
      const successor = await deployment.start("gateway");
      const port = await portOf(successor);
      let sends = 1;
      for (;;) {
        sends += 1;
        const again = await send(port, "builds", body, github(body, fault));
        if (again === 200 || again === 202) break;
        // Until the dead one's lock on opening the thread has expired, senders are told to come again.
        expect(again).toBe(503);
        await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
      note("webhook-kill", { point: fault, sends });
      await expectOneTurnEach(number);
      successor.signal("SIGKILL");
      await successor.ended;
    }
  },
  600_000,
);
