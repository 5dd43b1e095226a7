import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { startFakeAnthropic } from "../fakes/anthropic.ts";
import { shot } from "../browser/chromium.ts";
import { useBrowser, usePlace } from "./hooks.ts";
import { processesWith, running } from "./processes.ts";
import { patienceMs } from "./program.ts";

/** The first minute of a newcomer: the program as it starts without any account, in a real browser. */

const [at, chromium] = [usePlace(), useBrowser()];

async function open(env: Record<string, string> = {}): Promise<{ page: Page; pid: number }> {
  const program = at.place.start(["start"], env);
  const line = await program.line(/console +http/);
  const url = line.trim().split(/ +/)[1] ?? "";
  const page = await chromium.browser.newPage({ viewport: { width: 1280, height: 1180 } });
  page.setDefaultTimeout(patienceMs);
  await page.goto(url);
  return { page, pid: program.pid };
}

test("A newcomer has a calculator written, run and remembered, gets its files, and asks what was remembered", async () => {
  const { page } = await open();
  await shot(page, "welcome");
  await page.getByRole("button", { name: /Write a calculator/ }).click();
  // For a moment the answer is there twice: as it was streamed into the progress, and as the answer.
  await page.getByText("6 * 7 = 42").last().waitFor();
  await page.getByText("demo model").last().waitFor();
  await page.getByRole("link", { name: "calculator.py" }).waitFor();
  await page.getByText(/files changed: README.md, calculator.py/).waitFor();
  await shot(page, "calculator");

  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "calculator.py" }).click(),
  ]);
  expect(await readFile(await download.path(), "utf8")).toContain("def divide");

  await page.getByLabel("Message to Heddle").fill("What do you remember about this project?");
  await page.keyboard.press("Enter");
  await page
    .getByText(/dividing by zero raises ValueError/)
    .last()
    .waitFor();
  await shot(page, "remembered");

  await page.getByRole("link", { name: "Timeline" }).click();
  await page.locator(".entry.end").getByText("Answered").last().waitFor();
  await page.locator(".tool-call").filter({ hasText: "calculator.py" }).getByText("done").first().waitFor();
  await shot(page, "real-timeline");
  await page.getByRole("link", { name: "System" }).click();
  await page
    .getByText(/bubblewrap .*limits tier [123] \(/)
    .last()
    .waitFor();
  await page.getByText("of up to 50 turns").waitFor();
  await shot(page, "real-system");
  await page.getByRole("link", { name: "Audit log" }).click();
  await page.getByRole("row").filter({ hasText: "tool-began" }).first().waitFor();
  await page.getByRole("link", { name: "All threads" }).click();
  const line = page.locator("#report li").filter({ hasText: "Write a calculator" });
  await line.getByText("Answered").waitFor();
  // By its name, which the intake has heard: its id ends in "main".
  await page.getByRole("link", { name: "Usage" }).click();
  await page.locator(".bar-name").getByText("console", { exact: true }).waitFor();
  await shot(page, "real-usage");
});

test("A newcomer stops a command with the button, and nothing of it is left", async () => {
  const { page, pid } = await open();
  await page.getByRole("button", { name: /Sleep for ten minutes/ }).click();
  // Other programs of this machine may sleep as long.
  await running("sleep 600", pid);
  const begun = processesWith("sleep 600", pid);
  await shot(page, "sleeping");
  await page.getByRole("button", { name: "Stop", exact: true }).first().click();
  await shot(page, "pressed");
  await page.getByText(/1 command ended .* 0 left alive/).waitFor();
  expect(processesWith("sleep 600").filter((one) => begun.includes(one))).toEqual([]);
  await shot(page, "stopped");
});

test("A newcomer connects a model on the page, and it answers the next task without a restart", async () => {
  const key = "sk-ant-api03-secret-of-a-test-9876";
  const hello = { content: [{ type: "text" as const, text: "Hello from the real one." }] };
  const service = await startFakeAnthropic({ apiKey: key, replies: () => hello });
  onTestFinished(() => service.close());
  const { page } = await open({ ANTHROPIC_BASE_URL: service.url });
  await page.getByRole("link", { name: "Connect a model" }).click();
  await page.getByRole("button", { name: "Only Model" }).click();
  await page.getByRole("button", { name: /Anthropic/ }).click();
  await page.locator("#setup-answer[type=password]").fill(key);
  await page.keyboard.press("Enter");
  await page.locator("#setup-answer[type=text]").press("Enter");
  await page.getByText("no restart is needed").waitFor();
  await page.locator("#facts").getByText("anthropic/claude-sonnet-5-5").waitFor();
  const file = join(at.place.folder, ".env");
  expect(parseEnv(await readFile(file, "utf8"))).toMatchObject({ ANTHROPIC_API_KEY: key });
  expect((await stat(file)).mode & 0o777).toBe(0o600);

  await page.getByRole("link", { name: "New thread" }).click();
  await page.getByLabel("Message to Heddle").fill("Are you there?");
  await page.keyboard.press("Enter");
  await page.getByText("Hello from the real one.").last().waitFor();
  await page.getByRole("link", { name: "Audit log" }).click();
  const saved = page.getByRole("row").filter({ hasText: "setup-saved" });
  await saved.getByText("ANTHROPIC_API_KEY").waitFor();
  expect(await page.content()).not.toContain(key);
  expect(at.place.outputs()).not.toContain(key);
});
