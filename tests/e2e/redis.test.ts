import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FakeModelServer, type FakeReply, startFakeAnthropic } from "../fakes/anthropic.ts";
import { runs } from "../fakes/anthropic-replies.ts";
import {
  caughtUp,
  hasRedisServer,
  noRedisServer,
  noTls,
  redisServers,
  type Servers,
} from "../fakes/redis-servers.ts";
import { type FakeSlack, startFakeSlack } from "../fakes/slack/fake-slack.ts";
import { modelEnvironment, slackEnvironment } from "./environment.ts";
import { newPlace, patienceMs, type Place } from "./program.ts";

let servers: Servers;
let place: Place;
let slack: FakeSlack;
let model: FakeModelServer;
/** Requests that reached the model, and what lets it answer them. */
let asked: PromiseWithResolvers<void>;
let answer: PromiseWithResolvers<void>;
/** What the model says before it answers. */
let firstReply: FakeReply | undefined;
beforeEach(async (context) => {
  context.skip(!hasRedisServer, noRedisServer);
  asked = Promise.withResolvers();
  answer = Promise.withResolvers();
  firstReply = undefined;
  [servers, place, slack, model] = await Promise.all([
    redisServers(),
    newPlace(),
    startFakeSlack({ patienceMs }),
    startFakeAnthropic({
      async replies() {
        asked.resolve();
        const first = firstReply;
        firstReply = undefined;
        if (first) return first;
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
  ...slackEnvironment(slack),
  ...modelEnvironment(model),
});

async function heddle(redisUrl: string, more: Record<string, string> = {}) {
  const program = place.start(["start"], { ...environment(redisUrl), ...more });
  await program.line(/Heddle is ready/);
  return program;
}

/** What the model says, at the beginning of a message: progress has something before it. */
const isAnswer = ({ text }: { text: string }) => text.startsWith("Here I am.");
/** The answer, which may take as long as a lock that has to expire. */
const answered = () => slack.until(() => slack.channel("general").messages.find(isAnswer));

test("A gateway that cannot write its heartbeat says once that Redis is out of memory", async () => {
  const redis = await servers.start();
  const env = { REDIS_URL: `redis://127.0.0.1:${redis.port}`, HEDDLE_MODEL: "demo" };
  const gateway = place.start(["start", "--role", "gateway"], env);
  await gateway.line(/^ {2}console /);
  await redis.client.config("SET", "maxmemory", "1");
  await gateway.line(/Redis is out of memory.*raise its maxmemory/);
  const heartbeats = async () =>
    Number((await redis.client.info("commandstats")).match(/cmdstat_set:.*rejected_calls=(\d+)/)?.[1]);
  await expect.poll(heartbeats, { timeout: patienceMs }).toBeGreaterThan(3);
  expect(gateway.output().match(/OOM command/g)).toHaveLength(2);
  expect(gateway.output()).not.toContain("heartbeat");
});

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
  });

  test("keeps the command that it runs while Redis stands still for five seconds", async () => {
    const redis = await servers.start();
    firstReply = runs("touch begun; sleep 8; echo through it");
    await heddle(`redis://127.0.0.1:${redis.port}`);
    await slack.user("ada").says(slack.channel("general"), "<@BOT> are you there?");
    await asked.promise;
    await setTimeout(2_000);
    redis.freeze();
    await setTimeout(5_000);
    redis.thaw();
    answer.resolve();
    await slack.message(({ text }) => text.includes("Here I am."));
    expect(JSON.stringify(model.requests.at(-1))).toContain("through it");
    expect(JSON.stringify(model.requests.at(-1))).not.toMatch(/not known|unknown/i);
  });

  test("of heddle run is told how it ended also when that was while heddle run had lost Redis", async () => {
    const settings = { appendonly: "yes", appendfsync: "always" };
    const redis = await servers.start(settings);
    const url = `redis://127.0.0.1:${redis.port}`;
    await heddle(url);
    const run = place.start(["run", "are you there?"], environment(url));
    await asked.promise;
    // Frozen it is away for sure until the turn has ended.
    run.signal("SIGSTOP");
    await redis.kill();
    const { client } = await servers.start({ ...settings, port: String(redis.port) });
    const told = Promise.withResolvers<void>();
    client.on("pmessage", (_pattern, _channel, event: string) => {
      if (event.includes('"turn-end"')) told.resolve();
    });
    await client.psubscribe("heddle:live:*");
    answer.resolve();
    await told.promise;
    run.signal("SIGCONT");
    expect(await run.ended).toBe(0);
    expect(run.output()).toContain("Here I am.");
  });

  test("of heddle run is told to be lost when Redis comes back without it", async () => {
    const redis = await servers.start();
    const run = place.start(["run", "are you there?"], environment(`redis://127.0.0.1:${redis.port}`));
    await asked.promise;
    await redis.kill();
    await servers.start({ port: String(redis.port) });
    answer.resolve();
    expect(await run.ended).toBe(1);
    expect(run.output()).toContain("The task is lost");
  });

  test("runs its commands also where Redis was restored from a copy of before under it", async () => {
    const redis = await servers.start();
    await heddle(`redis://127.0.0.1:${redis.port}`);
    answer.resolve();
    const [ada, general] = [slack.user("ada"), slack.channel("general")];
    const work = async (command: string, thread?: string) => {
      firstReply = runs(command);
      const said = await ada.says(general, "<@BOT> work", thread === undefined ? {} : { thread });
      await slack.until(() => said.reactions.has("white_check_mark"));
      return said.ts;
    };
    const thread = await work("true");
    await redis.client.save();
    await work("true", thread);
    await work("true", thread);
    await redis.kill();
    await servers.start({ port: String(redis.port) });
    await work("printf '%s-%s' still runs", thread);
    expect(
      model.requests
        .map((request) => JSON.stringify(request))
        .join("\n")
        .includes("still-runs"),
    ).toBe(true);
  });

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
    expect(general.messages.filter(({ text }) => text.includes("my memory is full"))).toHaveLength(1);
  });

  test("waits while Redis cannot write its files, which the log says in few lines", async () => {
    const redis = await servers.start({ save: "3600 1000000" });
    const program = await heddle(`redis://127.0.0.1:${redis.port}`);
    await slack.user("ada").says(slack.channel("general"), "<@BOT> are you there?");
    await asked.promise;
    const [, dir = ""] = await redis.client.config("GET", "dir");
    // The snapshot cannot take the place of a folder. From then on Redis refuses to write.
    await mkdir(join(dir, "dump.rdb"), { recursive: true });
    await redis.client.bgsave();
    answer.resolve();
    await program.line(/Redis does not serve: MISCONF .*its disk.*Turns wait until then/);
    await setTimeout(3_000);
    expect(program.output().split("MISCONF").length).toBeLessThan(20);
    await rm(join(dir, "dump.rdb"), { recursive: true });
    await redis.client.bgsave();
    await answered();
  });

  describe("with TLS and passwords", () => {
    let encrypted: Servers;
    beforeEach(async (context) => {
      context.skip(noTls !== undefined, noTls);
      encrypted = await redisServers({ tls: true });
    });
    afterEach(async () => {
      if (hasRedisServer && !noTls) await encrypted.stop();
    });
    /** Asks, does something to Redis while the model answers, and asks again. */
    async function asksAcross(failover: () => Promise<void>) {
      const [ada, general] = [slack.user("ada"), slack.channel("general")];
      const question = await ada.says(general, "<@BOT> are you there?");
      await asked.promise;
      await failover();
      answer.resolve();
      expect((await answered()).threadTs).toBe(question.ts);
      const next = await ada.says(general, "<@BOT> and here?");
      await slack.message((message) => isAnswer(message) && message.threadTs === next.ts);
      expect(general.messages.filter(isAnswer)).toHaveLength(2);
    }

    test("goes on when a primary of a cluster dies under it", async () => {
      const { servers: nodes, replica } = await encrypted.cluster("data");
      await heddle(`rediss+cluster://:data@127.0.0.1:${nodes[1].port}`, { REDIS_CA: encrypted.caFile });
      await asksAcross(async () => {
        await caughtUp(nodes[0], replica);
        await nodes[0].kill();
      });
    });

    test("goes on when sentinels name another primary", async () => {
      const passwords = { primary: "data", sentinel: "watch" };
      const { primary, replica, sentinel } = await encrypted.sentinel(passwords);
      const secrets = { REDIS_CA: encrypted.caFile, REDIS_SENTINEL_PASSWORD: "watch" };
      const program = await heddle(`rediss+sentinel://:data@127.0.0.1:${sentinel.port}/house`, secrets);
      await asksAcross(async () => {
        await caughtUp(primary, replica);
        await primary.kill();
      });
      expect(program.output()).toContain("The connection to Redis is lost");
      // Each of some ten connections may be the first to know, but none says so again and again.
      expect(program.output().split("the worker met an error").length).toBeLessThan(30);
    });
  });
});
