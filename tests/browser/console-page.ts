/** A person before the console: a headless Chromium, the real server, a real Redis. */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { expect } from "vitest";
import { startConsole } from "../adapters/console/start-console.ts";
import type { ConsoleSettings, MessageEvent, TestConsole } from "../adapters/console/start-console.ts";
import { startRedis } from "../fakes/redis.ts";
import type { TestRedis } from "../fakes/redis.ts";

export const chromiumPath = ["/usr/bin/chromium", ...pathsOf("chromium")].find(isExecutable);
export const noChromium = "chromium is not on PATH: install it, as with apt install chromium";
const flags = [
  ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
];

/** With a browser beside everything else, a busy machine takes its time. */
const patienceMs = 90_000;

let redis: TestRedis | undefined;
let browser: Browser | undefined;

/** Once for a file; its pages share the browser and the Redis. */
export async function openBrowser(): Promise<void> {
  if (!chromiumPath) return;
  redis = await startRedis();
  browser = await chromium.launch({ executablePath: chromiumPath, args: flags, timeout: patienceMs });
}

export async function closeBrowser(): Promise<void> {
  await browser?.close();
  await redis?.stop();
}

/** Saves what is to be seen when HEDDLE_SCREENSHOTS names a folder. */
export async function shot(page: Page, name: string): Promise<void> {
  const folder = process.env["HEDDLE_SCREENSHOTS"];
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`) });
}

/** A person before the console. */
interface ConsolePage extends AsyncDisposable {
  page: Page;
  console: TestConsole;
  /** Writes the first message of a thread; resolves with it when it has reached the intake. */
  asks(text: string): Promise<MessageEvent>;
  /** The first message that reached the intake. */
  said(): Promise<MessageEvent>;
  /** The event with this number, counted from 1. */
  events(number: number): Promise<TestConsole["intake"]["events"][number]>;
  /** No error in the browser's console, no violation of the content policy, no dialog, no foreign request. */
  expectInnocent(): void;
}

interface ConsolePageOptions extends Pick<ConsoleSettings, "token" | "budgets" | "port"> {
  browser?: BrowserContextOptions;
  /** Before the page is opened. */
  prepare?(console: TestConsole): void | Promise<void>;
}

export async function openConsolePage({
  browser: options,
  prepare,
  ...settings
}: ConsolePageOptions = {}): Promise<ConsolePage> {
  if (!redis || !browser) throw new Error("There is no browser: the test should have been skipped.");
  const console = await startConsole({ redis, ...settings });
  await prepare?.(console);
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  const offences: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) offences.push(message.text());
  });
  page.on("pageerror", (error) => offences.push(String(error)));
  page.on("dialog", (dialog) => {
    offences.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(`${console.url}/`)) offences.push(`request ${request.url()}`);
  });
  await page.goto(console.url);
  const events = (number: number) => console.intake.event(number);
  const said = async () => {
    const event = await events(1);
    if (event.kind !== "message") throw new Error(`expected a message, got a ${event.kind}`);
    return event;
  };
  return {
    page,
    console,
    events,
    said,
    async asks(text) {
      await page.getByLabel("Message to Heddle").fill(text);
      await page.keyboard.press("Enter");
      return said();
    },
    expectInnocent: () => expect(offences).toEqual([]),
    async [Symbol.asyncDispose]() {
      await context.close();
      await console[Symbol.asyncDispose]();
    },
  };
}

export function article(page: Page, kind: "person" | "progress" | "answer" | "receipt" | "file") {
  return page.locator(`article.${kind}`);
}

function pathsOf(name: string): string[] {
  return (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, name));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
