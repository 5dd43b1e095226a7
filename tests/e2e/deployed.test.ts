import { once } from "node:events";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { collectNotices } from "../../scripts/package/notices.ts";
import type { ExtractOrder } from "../../src/web/extract/extracted.ts";
import { runs, says } from "../fakes/anthropic-replies.ts";
import { startFakeAnthropic } from "../fakes/anthropic.ts";
import { startFakeDiscord } from "../fakes/discord/fake-discord.ts";
import { startCollector } from "../fakes/otlp.ts";
import { startFakeSlack } from "../fakes/slack/fake-slack.ts";
import { modelEnvironment, pathWithoutRedis, slackEnvironment } from "./environment.ts";
import { useSetting } from "./hooks.ts";
import { buildDeployed } from "./installations.ts";

/** What operators start: a bundle in a folder that holds no package, with what the image has beside it. */

const here = useSetting();

let deployed = "";
beforeAll(async () => {
  deployed = await buildDeployed();
});
afterAll(() => rm(deployed, { recursive: true, force: true }));

test("A mention on Slack is answered after work in the sandbox, and the console's page has all that it is made of", async () => {
  const [slack, model] = await Promise.all([startFakeSlack(), startFakeAnthropic()]);
  onTestFinished(async () => {
    await Promise.all([slack.close(), model.close()]);
  });
  model.push(runs("pwd"), says("I work in `/workspace`."));
  const env = { REDIS_URL: here.redis.path, ...slackEnvironment(slack), ...modelEnvironment(model) };
  const program = here.place.start(["start"], env, deployed);
  const url = (await program.line(/console +http/)).trim().split(/ +/)[1] ?? "";
  await slack.user("ada").says(slack.channel("general"), "<@BOT> where are you?");
  await slack.message(({ text }) => text.includes("I work in"));
  expect(JSON.stringify(model.bodies[1]?.messages.at(-1))).toContain(String.raw`exit code 0\n/workspace`);

  const read = async (path: string) => await (await fetch(url + path)).text();
  expect(await read("/")).toContain("<title>");
  expect(await read("/main.js")).not.toContain("import type");
  expect(await read("/vendor/highlight.js")).toContain("highlight.js");
});

test("A mention on Discord is answered, and the turn is traced: that code is loaded only there", async () => {
  const authorization = "Bearer collector";
  const [discord, model, collector] = await Promise.all([
    startFakeDiscord(),
    startFakeAnthropic({ replies: () => says("Here I am.") }),
    startCollector({ authorization }),
  ]);
  onTestFinished(async () => {
    await here.place.clean();
    await Promise.all([discord.close(), model.close(), collector.close()]);
  });
  const access = { discord: { guilds: [discord.guild.id] } };
  await writeFile(join(here.place.folder, "heddle.yaml"), JSON.stringify({ access }));
  const program = here.place.start(
    ["start"],
    {
      REDIS_URL: here.redis.path,
      DISCORD_TOKEN: discord.token,
      DISCORD_API_URL: discord.url,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${encodeURIComponent(authorization)}`,
      ...modelEnvironment(model),
    },
    deployed,
  );
  await program.line(/Heddle is ready/);
  discord.user("ada").says(discord.channel("general"), "<@BOT> are you there?");
  await discord.message(({ content }) => content.includes("Here I am."));
  await collector.until(() => collector.spans.some(({ name }) => name.startsWith("invoke_agent")));
});

test("A task is done where no Redis is installed, by the one that the program brings", async () => {
  const env = { HEDDLE_MODEL: "demo", PATH: await pathWithoutRedis(here.place.folder) };
  const program = here.place.start(["run", "Write a calculator", "--out", "out"], env, deployed);
  expect(await program.ended).toBe(0);
  expect(await readFile(join(here.place.folder, "out/calculator.py"), "utf8")).toContain("def divide");
});

test("A web page is read in a thread of its own, whose program is where its caller looks for it", async () => {
  const body = Buffer.from(
    "<html><head><title>Looms</title></head><body><p>Warp and weft.</p></body></html>",
  );
  const order: ExtractOrder = { body, mediaType: "text/html", address: "https://loom.example/", whole: true };
  const worker = new Worker(join(deployed, "dist/web/extract/worker.cjs"), { workerData: order });
  const [page] = await once(worker, "message");
  expect(page).toMatchObject({ title: "Looms", text: expect.stringContaining("Warp and weft.") });
});

test("Everybody whose code is in it is named with the licence, and code without one is refused", async () => {
  const notices = await readFile(join(deployed, "dist/THIRD-PARTY-LICENSES"), "utf8");
  for (const name of [
    "@highlightjs/cdn-assets",
    "@slack/bolt",
    "bullmq",
    "discord.js",
    "lua-redis-wasm",
    "rolldown",
  ])
    expect(notices).toMatch(new RegExp(String.raw`^${name} \d+\.\d+\.\d+\n-+\n\n\S`, "m"));
  expect(notices).toContain("Copyright");

  const folder = join(here.place.folder, "node_modules/without");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "without", version: "1.0.0" }));
  await expect(collectNotices([join(folder, "index.js")])).rejects.toThrow(
    "The bundle holds without 1.0.0, which has neither a licence file nor a license field",
  );
});
