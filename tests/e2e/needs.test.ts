import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { Need } from "../../src/adapters/console/api/question-routes.ts";
import { runs, says } from "../fakes/anthropic-replies.ts";
import { type FakeModelServer, startFakeAnthropic } from "../fakes/anthropic.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { buttonsOf, visibleText } from "../fakes/slack/blocks.ts";
import { type FakeSlack, startFakeSlack } from "../fakes/slack/fake-slack.ts";
import { modelEnvironment, slackEnvironment } from "./environment.ts";
import { newPlace, patienceMs, type Place } from "./program.ts";

/** What waits in Slack is decided in the console: both ends, with the whole program between them. */

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

const settings = {
  agent: { maxSteps: 2 },
  tools: { rules: [{ tool: "bash", command: "*push*", action: "ask", why: "It leaves the house." }] },
};

test("approvals and paused work of Slack are decided by a named operator in the console, and Slack shows it", async () => {
  await writeFile(join(place.folder, "heddle.yaml"), JSON.stringify(settings));
  const environment = { REDIS_URL: redis.path, ...slackEnvironment(slack), ...modelEnvironment(model) };
  const made = place.start(["tokens", "create", "olga", "--role", "operator"], environment);
  const headers = {
    authorization: `Bearer ${await made.line(/^heddle_/)}`,
    "content-type": "application/json",
  };
  const program = place.start(["start"], environment);
  const url = /console +(\S+)/.exec(await program.line(/^ +console /))?.[1] ?? "";
  await program.line(/Heddle is ready/);

  const needs = async () =>
    (await (await fetch(new URL("/api/v1/needs", url), { headers })).json()) as Need[];
  const post = async (thread: string, verb: string, body: object) => {
    const address = new URL(`/api/v1/sessions/${encodeURIComponent(thread)}/${verb}`, url);
    const answer = await fetch(address, { method: "POST", headers, body: JSON.stringify(body) });
    return (await answer.json()) as { kind: string };
  };
  const next = async (kind: string) => {
    await expect.poll(needs, { timeout: patienceMs }).toHaveLength(1);
    const [need] = await needs();
    expect(need?.question?.kind ?? "paused").toBe(kind);
    return { thread: need?.line.thread ?? "", question: need?.question };
  };
  const general = slack.channel("general");
  const ada = slack.user("ada");

  model.push(runs("echo push one"), says("It is pushed."));
  await ada.says(general, "<@BOT> push one");
  const first = await next("approval");
  expect(first.question).toMatchObject({
    call: "echo push one",
    text: "It leaves the house.",
    requester: "ada",
  });
  expect(await post(first.thread, `questions/${first.question?.id}`, { decision: "approve" })).toMatchObject({
    kind: "acted",
  });
  await slack.message(({ text }) => text.includes("It is pushed."));
  const asked = (words: RegExp) => general.messages.find((message) => words.test(visibleText(message)));
  const approved = await slack.until(() => asked(/Approved\W+by olga/));
  expect(buttonsOf(approved)).toEqual([]);
  await expect.poll(needs).toEqual([]);

  model.push(runs("echo push two"), says("It is left alone."));
  await ada.says(general, "<@BOT> push two");
  const second = await next("approval");
  const reason = "Tests are red.";
  await post(second.thread, `questions/${second.question?.id}`, { decision: "deny", reason });
  await slack.message(({ text }) => text.includes("It is left alone."));
  await slack.until(() => asked(/Denied\W+by olga/));
  expect(JSON.stringify(model.bodies.at(-1)?.messages.at(-1))).toContain("DENIED by olga");
  expect(JSON.stringify(model.bodies.at(-1)?.messages.at(-1))).toContain(reason);
  model.push(runs("echo a"), runs("echo b"), says("Counted."));
  await ada.says(general, "<@BOT> count");
  const third = await next("paused");
  expect(await post(third.thread, "continue", {})).toMatchObject({ kind: "acted" });
  await slack.message(({ text }) => text.includes("Counted."));
  await expect.poll(needs).toEqual([]);

  program.signal("SIGTERM");
  await program.ended;
  const log = place.start(["audit", "show"], environment);
  await log.ended;
  for (const what of [/decided .*"olga".*"decision":"approved"/, /decided .*"olga".*"decision":"denied"/])
    expect(log.output()).toMatch(what);
  expect(log.output()).toMatch(/continued .*"olga"/);
});
