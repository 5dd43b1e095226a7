/** Somebody with the console open in many tabs. */
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { ThreadId } from "../../src/chat/threads.ts";
import { announceSession, createLivePublisher } from "../../src/queue/outbox/live-events.ts";
import { askChoice, begin, calling, end, usageOf, write } from "../adapters/console/sessions.ts";
import { browserPatienceMs } from "./chromium.ts";
import { onError, openConsolePage, useConsolePages } from "./console-page.ts";

/** As the browser has it when another tab comes to the front, and when this one does. */
async function setBehind(page: Page, isBehind: boolean): Promise<void> {
  await page.evaluate(`(() => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => ${isBehind} });
    document.dispatchEvent(new Event("visibilitychange"));
  })()`);
}

describe("many tabs", () => {
  useConsolePages();

  let threads = 0;
  const openTab = async (beside: Page, address: string): Promise<Page> => {
    await setBehind(beside, true);
    const tab = await beside.context().newPage();
    await tab.goto(address);
    return tab;
  };

  test("leave each other connections, of which browsers have six, and all count what waits for a person", async () => {
    await using at = await openConsolePage();
    const { page, console } = at;
    const redis = console.redis.client();
    const ask = async (place: ThreadId, words: string[]) => {
      await askChoice(redis, place, "U2", words);
      announceSession(redis, place, onError);
    };
    const tabs = [page];
    for (let tab = page; tabs.length < 7; tabs.push(tab)) {
      tab = await openTab(tab, console.url);
      await tab.getByRole("button", { name: /Write a calculator/ }).waitFor();
    }
    // Nobody sees any of them, and one hears for all.
    for (const tab of tabs) await setBehind(tab, true);
    await ask("discord:88:4411:9100", ["Up", "Down"]);
    for (const tab of tabs)
      await expect.poll(() => tab.title(), { timeout: browserPatienceMs }).toMatch(/^\(1\)/);
    at.expectInnocent();
    await page.close();
    await ask("discord:88:4411:9101", ["Left", "Right"]);
    for (const tab of tabs.slice(1))
      await expect.poll(() => tab.title(), { timeout: browserPatienceMs }).toMatch(/^\(2\)/);
  });

  test("one behind catches up when it comes to the front", async () => {
    // Another one for a second try: the first may have left what it wrote.
    const thread = `slack:T1:C9OPS:180.${(threads += 1)}`;
    await using at = await openConsolePage({
      prepare: async ({ redis }) => void (await write(redis.client(), thread, "Sort the files", "Ada")),
    });
    const { page, console } = at;
    const redis = console.redis.client();
    const lease = await begin(redis, thread);
    await page.goto(`${console.url}#/s/${thread}`);
    await page.locator(".timeline").getByText("Sort the files").waitFor();
    const second = await openTab(page, console.url);
    const third = await openTab(second, `${console.url}#/s/${thread}`);
    await third.locator(".timeline").getByText("Sort the files").waitFor();
    // The second one waits for its turn; the first one has it.
    await setBehind(page, false);
    await setBehind(second, true);
    await setBehind(third, true);
    await setBehind(page, true);
    await lease.append([calling(1, [{ type: "text", text: "They are sorted." }])]);
    await end(lease, { kind: "answered", text: "They are sorted.", steps: 1, usage: usageOf(0) });
    // Whichever tab listens for those behind keeps its stream, and has to be told as workers tell it.
    createLivePublisher(redis, thread, onError)({ type: "turn-end" });
    for (const tab of [page, third]) {
      await setBehind(tab, false);
      await tab.locator(".entry.end").getByText("Answered").waitFor();
      await setBehind(tab, true);
    }
    at.expectInnocent();
  });
});
