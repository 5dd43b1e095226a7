import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { modelEnvironment } from "../e2e/environment.ts";
import { processesWith, running, uniqueSleep } from "../e2e/processes.ts";
import { newPlace, patienceMs, type Place, type Program } from "../e2e/program.ts";
import { runs, says } from "../fakes/anthropic-replies.ts";
import { type FakeModelServer, startFakeAnthropic } from "../fakes/anthropic.ts";
import { type FakeDiscord, startFakeDiscord } from "../fakes/discord/fake-discord.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { full } from "./extent.ts";
import { hasRedisServer, noRedisServer } from "./redis-process.ts";

let redis: TestRedis;
let place: Place;
let discord: FakeDiscord;
let model: FakeModelServer;
beforeAll(async () => {
  if (!hasRedisServer) return;
  [redis, place, discord, model] = await Promise.all([
    startRedis(),
    newPlace(),
    startFakeDiscord({ patienceMs }),
    startFakeAnthropic(),
  ]);
  // A gateway of a busy machine may need longer than the five seconds that a turn waits for it.
  const settings = { access: { discord: { guilds: [discord.guild.id] } }, queue: { catchUpSeconds: 60 } };
  await writeFile(join(place.folder, "heddle.yaml"), JSON.stringify(settings));
});
beforeEach((context) => context.skip(!hasRedisServer, noRedisServer));
afterAll(async () => {
  if (!hasRedisServer) return;
  await place.clean();
  await Promise.all([discord.close(), model.close(), redis.stop()]);
});

async function heddle(): Promise<Program> {
  const program = place.start(["start"], {
    REDIS_URL: redis.path,
    DISCORD_TOKEN: discord.token,
    DISCORD_API_URL: discord.url,
    DISCORD_CDN_URL: discord.cdnUrl,
    ...modelEnvironment(model),
  });
  await program.line(/Heddle is ready/);
  return program;
}

test("After a restart a 🛑 that was set on Discord meanwhile wins before the turn does anything more", async () => {
  for (let round = 1; round <= (full ? 10 : 1); round += 1) await restart();
}, 240_000);

test("After a restart without one the turn goes on, and answers once", async () => {
  const { command, seconds } = uniqueSleep();
  model.push(runs(command), says("It went on."));
  const before = await heddle();
  discord.user("ada").says(discord.channel("general"), "<@BOT> work");
  await running(command);
  before.signal("SIGTERM");
  expect(await before.ended).toBe(0);
  expect(processesWith(seconds)).toEqual([]);
  const after = await heddle();
  await discord.message(({ content }) => content.includes("It went on."));
  expect(discord.transcript().split("It went on.")).toHaveLength(2);
  after.signal("SIGTERM");
  await after.ended;
}, 120_000);

async function restart(): Promise<void> {
  const { command, seconds } = uniqueSleep();
  model.push(runs(command));
  const before = await heddle();
  const ada = discord.user("ada");
  const question = ada.says(discord.channel("general"), "<@BOT> work");
  await running(command);
  before.signal("SIGTERM");
  expect(await before.ended).toBe(0);
  const requests = model.bodies.length;

  ada.reacts("🛑", question);
  const after = await heddle();
  const receipt = await discord.message(
    ({ content, channel }) => content.includes("Stopped by ada") && channel === discord.threadOf(question),
  );
  expect(receipt.content).toContain("No command was running");
  await discord.until(() => question.reactions.has("🛑"));
  expect(model.bodies.slice(requests)).toEqual([]);
  expect(processesWith(seconds)).toEqual([]);
  after.signal("SIGTERM");
  await after.ended;
}
