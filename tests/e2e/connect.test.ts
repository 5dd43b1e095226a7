import { expect, onTestFinished, test } from "vitest";
import { shot } from "../browser/chromium.ts";
import { freePort } from "../fakes/free-port.ts";
import { startFakeDiscord } from "../fakes/discord/fake-discord.ts";
import { startFakeSlack } from "../fakes/slack/fake-slack.ts";
import { useBrowser, usePlace } from "./hooks.ts";
import { patienceMs } from "./program.ts";

/** Connect, from two pasted tokens to the first mention: the real program, a real browser, Slack and Discord as fakes. */

const [at, chromium] = [usePlace(), useBrowser()];

/** A page of the console that stays open while the program is started again. */
async function open(env: Record<string, string>) {
  const HEDDLE_PORT = String(await freePort());
  const run = async () => {
    const program = at.place.start(["start"], { ...env, HEDDLE_PORT });
    await program.line(/console +http/);
    return program;
  };
  let program = await run();
  const page = await chromium.browser.newPage({ viewport: { width: 1280, height: 1180 } });
  onTestFinished(() => page.close());
  page.setDefaultTimeout(patienceMs);
  await page.goto(`http://127.0.0.1:${HEDDLE_PORT}/#/connect`);
  const restart = async () => {
    program.signal("SIGTERM");
    await program.ended;
    program = await run();
  };
  return { page, restart };
}

test("after the restart the open page says what keeps Slack silent, and then that it hears a first mention", async () => {
  const slack = await startFakeSlack({ withoutScopes: ["reactions:write"] });
  onTestFinished(() => slack.close());
  const [ada, general] = [slack.user("Ada"), slack.channel("general", { withoutBot: true })];
  const { page, restart } = await open({ SLACK_API_URL: slack.url });
  expect(await page.getByText("The first mention").count()).toBe(0);
  await page.getByRole("button", { name: "Only Slack" }).click();
  await page.getByRole("button", { name: /I have an app/ }).click();
  for (const [label, token] of [
    [/Bot token/, slack.botToken],
    [/App-level token/, slack.appToken],
  ] as const) {
    await page.getByLabel(label).and(page.locator("#setup-answer")).fill(token);
    await page.keyboard.press("Enter");
    if (token === slack.botToken) await page.getByRole("button", { name: "Take it as it is" }).click();
  }
  await page.getByText(/Start Heddle again, so that it takes SLACK_BOT_TOKEN/).waitFor();

  await restart();
  await page.getByText("Slack is connected. Mention the bot in a channel where it is").waitFor();
  await page.getByText("lacks the scopes reactions:write").waitFor();
  await page.getByText("The bot is in no channel yet: write /invite").waitFor();
  await shot(page, "connect-listening");

  general.members.add(slack.workspace.bot.id);
  await ada.says(general, "<@BOT> are you there?");
  await page.getByText(/Slack: I hear you in #general\. Ada wrote to me at/).waitFor();
  expect(await page.getByText("The bot is in no channel yet").count()).toBe(0);
  await shot(page, "connect-heard");
});

test("a mention on Discord is heard even while nobody there may give work, which the page says", async () => {
  const discord = await startFakeDiscord();
  onTestFinished(() => discord.close());
  const env = { DISCORD_API_URL: discord.url, DISCORD_TOKEN: discord.token };
  const { page } = await open(env);
  await page.getByText("Discord is connected. Mention the bot").waitFor();
  await page.getByText("Nobody on Discord may give work").waitFor();
  discord.user("Ada").says(discord.channel("general"), "<@BOT> hello");
  await page.getByText(/Discord: I hear you in #general\. Ada wrote to me at/).waitFor();
});
