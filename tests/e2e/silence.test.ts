import { afterEach, beforeEach, expect, test } from "vitest";
import { type FakeModelServer, startFakeAnthropic } from "../fakes/anthropic.ts";
import { hasRedisServer, noRedisServer, redisServers, type Servers } from "../fakes/redis-servers.ts";
import { type SilentRelay, startSilentRelay } from "../fakes/silent-relay.ts";
import { type FakeSlack, startFakeSlack } from "../fakes/slack/fake-slack.ts";
import { modelEnvironment, slackEnvironment } from "./environment.ts";
import { newPlace, patienceMs, type Place } from "./program.ts";

let servers: Servers;
let relay: SilentRelay;
let place: Place;
let slack: FakeSlack;
let model: FakeModelServer;
beforeEach(async (context) => {
  context.skip(!hasRedisServer, noRedisServer);
  [servers, place, slack, model] = await Promise.all([
    redisServers(),
    newPlace(),
    startFakeSlack({ patienceMs }),
    startFakeAnthropic({ replies: () => ({ content: [{ type: "text", text: "Here I am." }] }) }),
  ]);
  const { port } = await servers.start();
  relay = await startSilentRelay({ host: "127.0.0.1", port });
});
afterEach(async ({ task }) => {
  if (!hasRedisServer) return;
  if (task.result?.state === "fail") console.error(place.outputs());
  await place.clean();
  await Promise.all([slack.close(), model.close(), relay.close()]);
  await servers.stop();
});

test("Heddle goes on over new connections when those to Redis are silent, and says so while new ones are too", async () => {
  const environment = {
    REDIS_URL: `redis://127.0.0.1:${relay.port}`,
    ...slackEnvironment(slack),
    ...modelEnvironment(model),
  };
  const program = place.start(["start"], environment);
  const [, url = ""] = /console +(http\S+)/.exec(await program.line(/console +http/)) ?? [];
  const [ada, general] = [slack.user("ada"), slack.channel("general")];

  relay.silence();
  const question = await ada.says(general, "<@BOT> are you there?");
  await slack.message(({ text, threadTs }) => text.startsWith("Here I am.") && threadTs === question.ts);
  await program.line(/Redis answers again/);
  const silences = () => program.output().match(/Redis has not answered for 5 s/g)?.length;
  expect(silences()).toBe(1);

  relay.silence({ alsoNew: true });
  const post = () =>
    fetch(`${url}/api/threads/abcdefgh1234/messages`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ text: "and here?", key: "the-same-for-both" }),
    });
  const refused = await post();
  expect([refused.status, await refused.json()]).toEqual([
    503,
    { error: expect.stringContaining("Redis does not answer, so it is not certain that this was kept.") },
  ]);
  const readiness = await fetch(`${url}/readyz`);
  expect([readiness.status, await readiness.json()]).toEqual([
    503,
    { error: expect.stringContaining("Redis does not answer") },
  ]);
  expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/^heddle_redis_silences_total [1-9]/m);
  const list = place.start(["threads", "list"], environment);
  expect(await list.ended).toBe(1);
  expect(list.output()).toMatch(/^heddle: Redis .*does not answer.*$/);

  relay.restore();
  await expect.poll(async () => (await fetch(`${url}/readyz`)).status, { timeout: patienceMs }).toBe(200);
  expect(silences()).toBe(2);
  expect((await post()).status).toBe(200);
  await expect
    .poll(async () => (await fetch(`${url}/api/sessions/local:console:main:abcdefgh1234/timeline`)).text())
    .toContain("Here I am.");
  // Of the two messages, however often they were told.
  expect(program.output().match(/the turn begins/g)).toHaveLength(2);
  await expect
    .poll(() => program.output().match(/Redis answers again/g), { timeout: patienceMs })
    .toHaveLength(2);
  expect(program.output()).not.toContain("did not respond for");
});
