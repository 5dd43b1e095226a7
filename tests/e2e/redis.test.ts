import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FakeModelServer, startFakeAnthropic } from "../fakes/anthropic.ts";
import { hasRedisServer, noRedisServer, redisServers, type Servers } from "../fakes/redis-servers.ts";
import { type FakeSlack, startFakeSlack } from "../fakes/slack/fake-slack.ts";
import { newPlace, type Place } from "./program.ts";

let servers: Servers;
let place: Place;
let slack: FakeSlack;
let model: FakeModelServer;
/** Requests that reached the model, and what lets it answer them. */
let asked: PromiseWithResolvers<void>;
let answer: PromiseWithResolvers<void>;
beforeEach(async (context) => {
  context.skip(!hasRedisServer, noRedisServer);
  asked = Promise.withResolvers();
  answer = Promise.withResolvers();
  [servers, place, slack, model] = await Promise.all([
    redisServers(),
    newPlace(),
    startFakeSlack(),
    startFakeAnthropic({
      async replies() {
        asked.resolve();
        await answer.promise;
        return { content: [{ type: "text", text: "Here I am." }] };
      },
    }),
  ]);
});
afterEach(async ({ task }) => {
  if (!hasRedisServer) return;
  if (task.result?.state === "fail") console.error(place.outputs());
  answer.resolve();
  await place.clean();
  await Promise.all([slack.close(), model.close(), servers.stop()]);
});

const environment = (redisUrl: string) => ({
  REDIS_URL: redisUrl,
  SLACK_BOT_TOKEN: slack.botToken,
  SLACK_APP_TOKEN: slack.appToken,
  SLACK_API_URL: slack.url,
  ANTHROPIC_API_KEY: model.apiKey,
  ANTHROPIC_BASE_URL: model.url,
});

async function heddle(redisUrl: string) {
  const program = place.start(["start"], environment(redisUrl));
  await program.line(/Heddle is ready/);
  return program;
}

/** The answer, which may take as long as a lock that has to expire. */
const answered = () =>
  slack.until(
    () => slack.channel("general").messages.find(({ text }) => text.includes("Here I am.")),
    30_000,
  );

describe("A turn", () => {
  test("goes on when Redis is killed and started again under it", async () => {
    const settings = { appendonly: "yes", appendfsync: "always" };
    const redis = await servers.start(settings);
    await heddle(`redis://127.0.0.1:${redis.port}`);
    const question = await slack.user("ada").says(slack.channel("general"), "<@BOT> are you there?");
    await asked.promise;
    await redis.kill();
    await servers.start({ ...settings, port: String(redis.port) });
    answer.resolve();
    expect((await answered()).threadTs).toBe(question.ts);
  }, 30_000);

  test("waits while Redis is out of memory, and what is written meanwhile is refused aloud", async () => {
    const redis = await servers.start();
    const program = await heddle(`redis://127.0.0.1:${redis.port}`);
    const [ada, general] = [slack.user("ada"), slack.channel("general")];
    await ada.says(general, "<@BOT> are you there?");
    await asked.promise;
    await redis.client.config("SET", "maxmemory", "1");
    const second = await ada.says(general, "<@BOT> and here?");
    const refusal = await slack.message(({ text }) => text.includes("my memory is full"));
    expect(refusal.threadTs).toBe(second.ts);
    answer.resolve();
    await program.line(/Redis is out of memory.*raise its maxmemory/);
    await redis.client.config("SET", "maxmemory", "0");
    await answered();
    await ada.says(general, "<@BOT> again", { thread: second.ts });
    await slack.message(({ text, threadTs }) => text.includes("Here I am.") && threadTs === second.ts);
  }, 60_000);

  test("is done on a cluster", async () => {
    const { servers: nodes } = await servers.cluster();
    answer.resolve();
    const program = place.start(
      ["run", "are you there?"],
      environment(`redis+cluster://127.0.0.1:${nodes[1].port}`),
    );
    expect(await program.ended).toBe(0);
    expect(program.output()).toContain("Here I am.");
  }, 30_000);
});
