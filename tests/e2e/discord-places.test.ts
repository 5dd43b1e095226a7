import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { runs } from "../fakes/anthropic-replies.ts";
import { type FakeModelServer, startFakeAnthropic } from "../fakes/anthropic.ts";
import { type FakeDiscord, startFakeDiscord } from "../fakes/discord/fake-discord.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { modelEnvironment } from "./environment.ts";
import { processesWith, running, uniqueSleep } from "./processes.ts";
import { newPlace, patienceMs, type Place } from "./program.ts";

/** Places on Discord that go away, and the connection to it, as the whole program takes them. */
let redis: TestRedis;
let place: Place;
let discord: FakeDiscord;
let model: FakeModelServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(async () => {
  [place, discord, model] = await Promise.all([
    newPlace(),
    startFakeDiscord({ patienceMs }),
    startFakeAnthropic(),
  ]);
  const access = { discord: { guilds: [discord.guild.id] } };
  await writeFile(join(place.folder, "heddle.yaml"), JSON.stringify({ access }));
});
afterEach(async ({ task }) => {
  if (task.result?.state === "fail") console.error(place.outputs());
  await place.clean();
  await Promise.all([discord.close(), model.close(), redis.client().flushall()]);
});

/** @returns the address of its console */
async function heddle(): Promise<string> {
  const program = place.start(["start"], {
    REDIS_URL: redis.path,
    DISCORD_TOKEN: discord.token,
    DISCORD_API_URL: discord.url,
    DISCORD_CDN_URL: discord.cdnUrl,
    ...modelEnvironment(model),
  });
  const [, url = ""] = /console +(http\S+)/.exec(await program.line(/console +http/)) ?? [];
  await program.line(/Heddle is ready/);
  return url;
}

type Channel = ReturnType<FakeDiscord["channel"]>;

type Removal = (discord: FakeDiscord, general: Channel, thread: Channel) => void;
test.each<[what: string, why: string, remove: Removal]>([
  [
    "Its thread is deleted",
    "the thread was deleted",
    ({ deleteThread }, _general, thread) => deleteThread(thread),
  ],
  [
    "Its channel is deleted",
    "the channel was deleted",
    ({ deleteChannel }, general) => deleteChannel(general),
  ],
  [
    "Its channel is hidden from the bot",
    "the bot may no longer see the channel",
    ({ deny }, general) => deny(general, "ViewChannel"),
  ],
  [
    "Its server removes the bot",
    "the bot was removed from the server",
    ({ removeBot, guild }) => removeBot(guild),
  ],
])(
  "%s: no process of the turn is left, no model is called, its session is free, and log and console say why",
  async (_what, why, remove) => {
    const { command, seconds } = uniqueSleep();
    model.push(runs(`for i in 1 2 3; do setsid sleep ${seconds} & done; ${command}`));
    const url = await heddle();
    const general = discord.channel("general");
    const question = discord.user("ada").says(general, "<@BOT> sleep");
    await running(command);
    await expect.poll(() => discord.threadOf(question), { timeout: patienceMs }).toBeDefined();
    remove(discord, general, discord.threadOf(question) ?? expect.fail("There is no thread."));
    await expect.poll(() => processesWith(seconds), { timeout: patienceMs }).toEqual([]);
    const sessions = async () => {
      const listed = await fetch(`${url}/api/v1/sessions`);
      return JSON.stringify(await listed.json());
    };
    await expect.poll(sessions, { timeout: patienceMs }).toMatch(/"state":"idle".*"ended":"stopped"/);
    expect(model.bodies).toHaveLength(1);
    expect(place.outputs()).toContain(`of Discord whatever works is stopped: ${why}.`);
    const timeline = `${url}/api/v1/sessions/discord:${discord.guild.id}:${general.id}:${question.id}/timeline`;
    expect(await (await fetch(timeline)).text()).toContain(`Discord, where ${why}`);
  },
);

test("A gateway that Discord closed for good makes /readyz say why, and is counted no more, until Discord takes it again", async () => {
  const url = await heddle();
  const readiness = async () => {
    const probe = await fetch(`${url}/readyz`);
    return `${probe.status} ${await probe.text()}`;
  };
  const connections = async () => {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    return /^heddle_connections\{platform="discord"\} (\d)$/m.exec(metrics)?.[1];
  };
  expect([await readiness(), await connections()]).toEqual([expect.stringMatching(/^200 /), "1"]);
  discord.gateway.cut(4004);
  await expect.poll(readiness, { timeout: patienceMs }).toMatch(/^503 .*Nothing is heard from discord/);
  expect(await connections()).toBe("0");
  await expect.poll(readiness, { timeout: patienceMs }).toMatch(/^200 /);
  expect(await connections()).toBe("1");
});
