import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FakeModelServer, startFakeAnthropic } from "../fakes/anthropic.ts";
import {
  hasRedisServer,
  noRedisServer,
  redisServers,
  type Server,
  type Servers,
} from "../fakes/redis-servers.ts";
import { type FakeSlack, startFakeSlack } from "../fakes/slack/fake-slack.ts";
import { modelEnvironment, slackEnvironment } from "./environment.ts";
import { processesWith, running, uniqueSleep } from "./processes.ts";
import { newPlace, patienceMs, type Place, type Program } from "./program.ts";

let servers: Servers;
let redis: Server;
let place: Place;
let slack: FakeSlack;
let model: FakeModelServer;
let sleep: ReturnType<typeof uniqueSleep>;
beforeEach(async (context) => {
  context.skip(!hasRedisServer, noRedisServer);
  sleep = uniqueSleep();
  [servers, place, slack, model] = await Promise.all([
    redisServers(),
    newPlace(),
    startFakeSlack({ patienceMs }),
    startFakeAnthropic({
      replies: ({ messages }) =>
        JSON.stringify(messages).includes("tool_result")
          ? { content: [{ type: "text", text: "Done." }] }
          : { content: [{ type: "tool_use", name: "bash", input: { command: sleep.command } }] },
    }),
  ]);
  redis = await servers.start();
});
afterEach(async ({ task }) => {
  if (!hasRedisServer) return;
  if (task.result?.state === "fail") console.error(place.outputs());
  redis.thaw();
  await place.clean();
  await Promise.all([slack.close(), model.close(), servers.stop()]);
});

async function start(role: string): Promise<Program> {
  const program = place.start(["start", "--role", role], {
    REDIS_URL: `redis://127.0.0.1:${redis.port}`,
    ...slackEnvironment(slack),
    ...modelEnvironment(model),
  });
  await program.line(/Heddle is ready/);
  return program;
}

/** A worker in the middle of a command, and the gateway that took the task. */
async function startWorking(): Promise<{ gateway: Program; worker: Program }> {
  const [gateway, worker] = await Promise.all([start("gateway"), start("worker")]);
  await slack.user("ada").says(slack.channel("general"), "<@BOT> sleep");
  await running(sleep.command);
  return { gateway, worker };
}

/** Sends SIGTERM and resolves with what ended it, and after how many seconds. */
async function end(program: Program) {
  const askedAt = performance.now();
  program.signal("SIGTERM");
  const code = await program.ended;
  return { code, seconds: (performance.now() - askedAt) / 1_000 };
}

describe("SIGTERM", () => {
  test.each([
    ["frozen", async () => redis.freeze()],
    ["dead", () => redis.kill()],
  ])("ends worker and gateway within seconds while Redis is %s, and the commands too", async (_how, fail) => {
    const { gateway, worker } = await startWorking();
    await fail();
    const ends = await Promise.all([end(gateway), end(worker)]);
    expect(ends.map(({ code }) => code)).toEqual([0, 0]);
    // Five by its promise; a busy machine takes longer.
    expect(Math.max(...ends.map(({ seconds }) => seconds))).toBeLessThan(20);
    expect(processesWith(sleep.command)).toEqual([]);
    expect(worker.output()).toContain("Redis does not answer, so nothing is handed over");
    expect(worker.output()).not.toContain("did not respond for");
  });

  test("that comes twice does not cut the hand-over short", async () => {
    const { worker } = await startWorking();
    redis.freeze();
    worker.signal("SIGTERM");
    await expect.poll(() => processesWith(sleep.command)).toEqual([]);
    worker.signal("SIGTERM");
    await worker.line(/handing over/);
    redis.thaw();
    expect(await worker.ended).toBe(0);
    expect(worker.output()).not.toContain("nothing is handed over");
    await start("worker");
    // Not before the lock has expired, had it not been handed over.
    await slack.message(({ text }) => text.startsWith("Done."));
  });
});
