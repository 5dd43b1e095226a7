import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { runs, says } from "../fakes/anthropic-replies.ts";
import { type FakeModelServer, startFakeAnthropic } from "../fakes/anthropic.ts";
import { type FakeDiscord, startFakeDiscord } from "../fakes/discord/fake-discord.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { modelEnvironment } from "./environment.ts";
import { processesWith, running, uniqueSleep } from "./processes.ts";
import { newPlace, patienceMs, type Place, type Program } from "./program.ts";

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
  // Nobody is listened to on Discord until the operator lists them.
  const listed = { guilds: [discord.guild.id], users: [discord.user("ada").id] };
  const other = `discord:${discord.guild.id}:${discord.channel("other").id}`;
  const settings = {
    access: { discord: listed, stop: "requester" },
    channels: { [other]: { modelChoices: ["anthropic/claude-haiku-4-5"], skills: ["changelog"] } },
  };
  await writeFile(join(place.folder, "heddle.yaml"), JSON.stringify(settings));
});
afterEach(async ({ task }) => {
  if (task.result?.state === "fail") console.error(place.outputs());
  await place.clean();
  await Promise.all([discord.close(), model.close(), redis.client().flushall()]);
});

const environment = () => ({
  REDIS_URL: redis.path,
  DISCORD_TOKEN: discord.token,
  DISCORD_API_URL: discord.url,
  DISCORD_CDN_URL: discord.cdnUrl,
  ...modelEnvironment(model),
});

async function heddle(env: Record<string, string> = {}, args = ["start"]): Promise<Program> {
  const program = place.start(args, { ...environment(), ...env });
  await program.line(/Heddle is ready/);
  return program;
}

describe("In a Discord channel", () => {
  test("a mention is answered in a thread after real work in the sandbox, and a follow-up needs no mention", async () => {
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
    const ada = discord.user("ada");
    const general = discord.channel("general");
    const before = discord.calls.length;
    const question = ada.says(general, "<@BOT> where are you?");
    const answer = await discord.message(({ content }) => content.includes("I work in"));
    expect(answer.channel).toBe(discord.threadOf(question));
    expect(answer.channel.name).toBe("where are you?");
    await discord.until(() => question.reactions.has("✅") && !question.reactions.has("👀"));
    // The thread is made once, its answer is posted once, and what may be repeated (a reaction whose
    // reply came late, a sign of life) is of few kinds.
    const calls = discord.calls.slice(before).map(({ call }) => call);
    expect(calls.filter((call) => call.endsWith("/threads"))).toHaveLength(1);
    expect(calls.filter((call) => /^POST .*\/messages$/.test(call)).length).toBeLessThanOrEqual(2);
    expect(new Set(calls).size, calls.join("\n")).toBeLessThanOrEqual(10);
    expect(discord.refused).toEqual([]);
    expect(JSON.stringify(model.bodies[1]?.messages.at(-1))).toContain(
      String.raw`exit code 0\n/workspace\n1000`,
    );
    await discord.until(() => [...question.reactions.keys()].join() === "✅");

    ada.says(answer.channel, "!skill changelog");
    await discord.message(({ content }) => content.includes("the skill changelog is used here"));
    ada.says(answer.channel, "and now?");
    await discord.message(
      ({ content, channel }) => content.includes("Still here.") && channel === answer.channel,
    );
    expect(model.requests.filter(({ method }) => method === "POST")).toHaveLength(3);
    expect(JSON.stringify(model.bodies.at(-1)?.messages.at(-1))).toContain("chosen the skill changelog");
  });
});

test("/agent shows the task and answers in the thread of its reply; a direct message is answered there", async () => {
  model.push(says("Four."), says("Hello, ada."), says("And again."));
  await heddle();
  const ada = discord.user("ada");
  const asked = ada.asks(discord.channel("general"), { prompt: "how much is 2 + 2?" });
  const answer = await discord.message(({ content }) => content.includes("Four."));
  expect(asked.reply?.content).toContain("> how much is 2 + 2?");
  expect(answer.channel.id).toBe(asked.reply?.id);

  const direct = discord.direct(ada);
  ada.says(direct, "hi");
  await discord.message(({ content, channel }) => content.includes("Hello, ada.") && channel === direct);
  ada.says(direct, "more");
  await discord.message(({ content, channel }) => content.includes("And again.") && channel === direct);
});

test("Somebody who is not listed is told so, and nothing is done; others are suggested what their channel has", async () => {
  await heddle();
  const eve = discord.user("eve");
  eve.says(discord.direct(eve), "<@BOT> hi");
  await discord.message(({ content }) => content.includes("people whom my operator has listed"));
  expect(await eve.types(discord.direct(eve), "skill", "")).toEqual([]);
  const ada = discord.user("ada");
  const [general, other] = [discord.channel("general"), discord.channel("other")];
  expect(await ada.types(general, "skill", "csv")).toEqual(["csv-report"]);
  expect(await ada.types(general, "model", "")).toEqual([]);
  expect(await ada.types(other, "skill", "")).toEqual(["changelog"]);
  expect(await ada.types(other, "model", "")).toEqual(["anthropic/claude-haiku-4-5"]);
  expect(model.bodies).toEqual([]);
});

test("A 🛑 by somebody who may not stop the turn stops nothing, and is refused in a direct message", async () => {
  const { command, seconds } = uniqueSleep();
  model.push(runs(command));
  await heddle();
  const [ada, eve] = [discord.user("ada"), discord.user("eve")];
  const question = ada.says(discord.channel("general"), "<@BOT> sleep");
  await running(command);
  eve.reacts("🛑", question);
  const isRefusal = ({ content }: { content: string }) => content.includes("You may not stop this");
  const refusal = await discord.message(isRefusal);
  expect(refusal.channel).toBe(discord.direct(eve));
  expect(processesWith(seconds)).not.toEqual([]);
  ada.reacts("🛑", question);
  const receipt = await discord.message(({ content }) => content.includes("Stopped by ada"));
  expect(receipt.channel).toBe(discord.threadOf(question));
  expect(receipt.content).toContain("0 left alive");
  expect(discord.transcript().split("You may not stop this")).toHaveLength(2);
});

test("While Discord takes no edits, answers, questions, decisions and receipts come all the same", async () => {
  // Its output changes what is shown all the time.
  const command = "while sleep 0.2; do echo tick; done";
  model.push(runs(command), says("Quick."), runs("git push origin main"), says("Pushed."));
  const settings = {
    access: { discord: { guilds: [discord.guild.id] } },
    tools: { rules: [{ tool: "bash", command: "*git push*", action: "ask", why: "It leaves." }] },
  };
  await writeFile(join(place.folder, "heddle.yaml"), JSON.stringify(settings));
  await heddle();
  const general = discord.channel("general");
  const [ada, bob, eve] = [discord.user("ada"), discord.user("bob"), discord.user("eve")];
  const busy = ada.says(general, "<@BOT> work");
  await discord.message(({ content }) => content.includes(command));
  const isEdit = /^PATCH .*\/messages\//;
  // Longer than anything here is waited for.
  discord.fail(isEdit, { kind: "rate-limit", retryAfterSeconds: 600 }, 1_000);
  const before = discord.calls.length;
  await discord.until(() => discord.calls.slice(before).some(({ call }) => isEdit.test(call)));
  bob.says(general, "<@BOT> be quick");
  await discord.message(({ content }) => content.includes("Quick."));
  eve.says(general, "<@BOT> push it");
  const question = await discord.message(({ content }) => content.includes("May I run"));
  eve.presses("Approve", question);
  await discord.message(({ content }) => content.includes("Pushed."));
  ada.reacts("🛑", busy);
  const receipt = await discord.message(({ content }) => content.includes("Stopped by ada"));
  expect(receipt.channel).toBe(discord.threadOf(busy));
});
