/** A person before the console: a headless Chromium, the real server, a real Redis. */
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import {
  type ConsoleSettings,
  type MessageEvent,
  startConsole,
  type TestConsole,
} from "../adapters/console/start-console.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { browserPatienceMs, launchChromium, noChromium } from "./chromium.ts";

let redis: TestRedis | undefined;
let browser: Browser | undefined;

/** For the tests of this file, which share the browser and the Redis. Where there is no browser they are skipped, and say so. */
export function useConsolePages(): void {
  beforeAll(async () => {
    browser = await launchChromium();
    if (browser) redis = await startRedis();
  }, browserPatienceMs);
  beforeEach((context) => context.skip(!browser, noChromium));
  afterAll(async () => {
    await browser?.close();
    await redis?.stop();
  });
}

/** For what runs beside a test, and is not to fail. */
export const onError = (error: unknown): void => {
  throw error;
};

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

interface ConsolePageOptions
  extends Pick<
    ConsoleSettings,
    | "token"
    | "budgets"
    | "configuration"
    | "triggerBudgets"
    | "port"
    | "proxies"
    | "identity"
    | "setup"
    | "hearing"
  > {
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
  context.setDefaultTimeout(browserPatienceMs);
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

export function article(
  page: Page,
  kind: "person" | "progress" | "answer" | "question" | "receipt" | "file",
) {
  return page.locator(`article.${kind}`);
}
