import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startFakeAnthropic } from "../fakes/anthropic.ts";
import { startFakeDiscord } from "../fakes/discord/fake-discord.ts";
import { startProxy } from "../fakes/proxy.ts";
import { startFakeSlack } from "../fakes/slack/fake-slack.ts";
import { modelEnvironment, slackEnvironment } from "./environment.ts";
import { useSetting } from "./hooks.ts";
import { examine } from "./program.ts";

const here = useSetting();

test("where a proxy is the only way out, a mention arrives by Slack's socket and is answered by the model, and doctor finds all well", async () => {
  const [proxy, slack, model] = await Promise.all([
    startProxy(),
    startFakeSlack({ host: "slack.test" }),
    startFakeAnthropic({ replies: () => ({ content: [{ type: "text", text: "Hello from inside." }] }) }),
  ]);
  onTestFinished(async () => {
    await Promise.all([proxy.close(), slack.close(), model.close()]);
  });
  const environment = {
    REDIS_URL: here.redis.path,
    HTTP_PROXY: proxy.url,
    HTTPS_PROXY: proxy.url,
    ...slackEnvironment(slack),
    ...modelEnvironment(model),
    ANTHROPIC_BASE_URL: model.url.replace("127.0.0.1", "model.test"),
  };
  const doctor = await examine(() => here.place.start(["doctor"], environment));
  expect(doctor.output()).toMatch(/^✓ slack/m);
  expect(doctor.output()).toMatch(/^✓ model/m);
  const program = here.place.start(["start"], environment);
  await program.line(/Heddle is ready/);
  await slack.user("ada").says(slack.channel("general"), "<@BOT> hello");
  await slack.message(({ text }) => text.includes("Hello from inside."));
  expect(new Set(proxy.asked.map((line) => line.split(" ")[1]))).toEqual(
    new Set(["slack.test", "model.test"]),
  );
});

test("so is one on Discord, whose gateway is reached through the proxy too, also when a session is resumed", async () => {
  const [proxy, discord, model] = await Promise.all([
    startProxy(),
    startFakeDiscord({ host: "discord.test" }),
    startFakeAnthropic({ replies: () => ({ content: [{ type: "text", text: "Hello from inside." }] }) }),
  ]);
  onTestFinished(async () => {
    await Promise.all([proxy.close(), discord.close(), model.close()]);
  });
  const access = { discord: { guilds: [discord.guild.id] } };
  await writeFile(join(here.place.folder, "heddle.yaml"), JSON.stringify({ access }));
  const program = here.place.start(["start"], {
    REDIS_URL: here.redis.path,
    HTTP_PROXY: proxy.url,
    HTTPS_PROXY: proxy.url,
    DISCORD_TOKEN: discord.token,
    DISCORD_API_URL: discord.url,
    ...modelEnvironment(model),
    ANTHROPIC_BASE_URL: model.url.replace("127.0.0.1", "model.test"),
  });
  await program.line(/Heddle is ready/);
  expect(proxy.asked).toContain("CONNECT discord.test");
  discord.gateway.reconnect();
  await discord.until(() => discord.gateway.resumed === 1 && discord.gateway.connections === 1);
  discord.user("ada").says(discord.channel("general"), "<@BOT> hello");
  await discord.message(({ content }) => content.includes("Hello from inside."));
  expect(new Set(proxy.asked.map((line) => line.split(" ")[1]))).toEqual(
    new Set(["discord.test", "model.test"]),
  );
});
