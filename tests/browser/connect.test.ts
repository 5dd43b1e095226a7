/** A newcomer connects a model, Slack and Discord on the page; the services are fakes that speak their protocols. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { startFakeAnthropic } from "../fakes/anthropic.ts";
import { startFakeDiscord } from "../fakes/discord/fake-discord.ts";
import { startFakeSlack } from "../fakes/slack/fake-slack.ts";
import { shot } from "./chromium.ts";
import { openConsolePage, useConsolePages } from "./console-page.ts";
import { overflow, poorContrast, walk } from "./visibility.ts";

const key = "sk-ant-api03-secret-of-a-test-9876";

async function services() {
  const hello = { content: [{ type: "text" as const, text: "Hello!" }] };
  const [model, slack, discord] = await Promise.all([
    startFakeAnthropic({ apiKey: key, replies: () => hello }),
    startFakeSlack({ botToken: "xoxb-1-2-bot-secret-1234", appToken: "xapp-1-A0HEDDLE-3-app-secret-5678" }),
    startFakeDiscord(),
  ]);
  onTestFinished(async () => {
    await Promise.all([model.close(), slack.close(), discord.close()]);
  });
  const [ANTHROPIC_BASE_URL, SLACK_API_URL, DISCORD_API_URL] = [model.url, slack.url, discord.url];
  return { slack, discord, env: { ANTHROPIC_BASE_URL, SLACK_API_URL, DISCORD_API_URL } };
}

const press = (page: Page, name: string | RegExp) => page.getByRole("button", { name }).click();
const field = (page: Page, label: string | RegExp) =>
  page.getByLabel(label).and(page.locator("#setup-answer"));
const line = (page: Page, text: string | RegExp) => page.getByRole("log", { name: "Set-up" }).getByText(text);

/** Fills a field that asks for something secret, which shows nothing of it. */
async function paste(page: Page, label: string | RegExp, secret: string): Promise<void> {
  await field(page, label).waitFor();
  expect(await field(page, label).getAttribute("type")).toBe("password");
  await field(page, label).fill(secret);
  await page.keyboard.press("Enter");
}

/** Whatever the browser keeps of the page, and whatever the page shows. */
async function kept(page: Page): Promise<string> {
  const stored = await page.evaluate(
    "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, [...document.querySelectorAll('input')].map(({ value }) => value)])",
  );
  return `${String(stored)}${await page.content()}`;
}

describe("Connect", () => {
  useConsolePages();

  test("leads from the demo model to a model, Slack and Discord, and keeps no secret in the browser", async () => {
    const { slack, discord, env } = await services();
    await using at = await openConsolePage({
      setup: { env },
      prepare({ status }) {
        status.demo = true;
      },
    });
    const { page, console } = at;
    await page.getByRole("link", { name: "Connect a model" }).click();
    await page.getByRole("heading", { name: "Connect" }).waitFor();
    await press(page, "Begin");
    await press(page, /Anthropic/);
    await shot(page, "connect-key");
    await paste(page, "Key", key);
    await field(page, "Model").waitFor();
    expect(await field(page, "Model").inputValue()).toBe("anthropic/claude-sonnet-5-5");
    // The focus has come along, so that the keyboard alone does.
    await page.keyboard.press("Enter");
    await line(page, /answered “Hello!”/)
      .first()
      .waitFor();

    await press(page, /Make the app: open a form/);
    const form = page.getByRole("link", { name: /api.slack.com\/apps\?/ });
    expect(await form.getAttribute("href")).toContain("manifest_json=");
    await page.getByRole("button", { name: "Copy the manifest" }).waitFor();
    await paste(page, /Bot token/, "xoxp-1-not-this-one-secret");
    await line(page, /That is a user token of Slack/).waitFor();
    await paste(page, /Bot token/, slack.botToken);
    await line(page, "heddle in Fake team (bot token …1234)").waitFor();
    await shot(page, "connect-slack");
    expect([await overflow(page), await poorContrast(page)]).toEqual([0, {}]);
    await paste(page, /App-level token/, slack.appToken);

    await press(page, "Yes: make an app and paste its token");
    await paste(page, /Bot token/, discord.token);
    await press(page, "Weavers");
    await line(page, /Start Heddle again, so that it takes SLACK_BOT_TOKEN/).waitFor();
    await shot(page, "connect-done");
    expect(await walk(page)).toEqual({ unseen: [], missed: [] });

    const stored = parseEnv(readFileSync(join(console.folder, ".env"), "utf8"));
    expect(stored).toMatchObject({ ANTHROPIC_API_KEY: key, DISCORD_TOKEN: discord.token });
    expect(statSync(join(console.folder, ".env")).mode & 0o777).toBe(0o600);
    await page.reload();
    await line(page, /Start Heddle again/).waitFor();
    const left = await kept(page);
    for (const secret of [key, slack.botToken, slack.appToken, discord.token, "not-this-one"])
      expect(left).not.toContain(secret);
    at.expectInnocent();
  });

  test("goes on after a reload, can leave a question, and can be ended at any time", async () => {
    const { env } = await services();
    await using at = await openConsolePage({ setup: { env } });
    const { page, console } = at;
    await page.getByRole("link", { name: "Connect" }).click();
    await press(page, "Only Slack");
    await press(page, /I have an app/);
    await field(page, /Bot token/).waitFor();
    await page.reload();
    await field(page, /Bot token/).waitFor();
    await press(page, "Leave it out");
    await line(page, "· Slack is not connected.").waitFor();
    await press(page, "Only Model");
    await page.getByText("Which model should answer?").waitFor();
    await press(page, "End the set-up");
    await line(page, "Ended.").waitFor();
    await page.getByRole("button", { name: "Begin" }).waitFor();
    expect(console.setUp.map((event) => ("outcome" in event ? event.outcome : event.action))).toEqual([
      ...["setup-begun", "done"],
      ...["setup-begun", "cancelled"],
    ]);
    at.expectInnocent();
  });

  test("is on a phone as wide as the phone", async () => {
    const { env } = await services();
    const browser = { viewport: { width: 360, height: 740 }, colorScheme: "dark" as const };
    await using at = await openConsolePage({ setup: { env }, browser });
    const { page } = at;
    await page.goto(`${at.console.url}/#/connect`);
    await press(page, "Only Slack");
    await press(page, /Make the app: open a form/);
    await field(page, /Bot token/).waitFor();
    await shot(page, "connect-phone");
    expect([await overflow(page), await poorContrast(page)]).toEqual([0, {}]);
  });

  test("is not offered where .env is not to be written, and the demo model is explained instead", async () => {
    await using at = await openConsolePage({
      setup: { isWhole: false },
      prepare({ status }) {
        status.demo = true;
      },
    });
    const { page } = at;
    await page.getByText("put ANTHROPIC_API_KEY").waitFor();
    expect(await page.getByRole("link", { name: /Connect/ }).count()).toBe(0);
    await page.goto(`${at.console.url}/#/connect`);
    await page.getByText("each with its own environment").waitFor();
    at.expectInnocent();
  });
});
