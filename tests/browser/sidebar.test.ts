/** The list of the console's threads, beside every page. */
import { describe, expect, test } from "vitest";
import { threadId } from "../../src/chat/threads.ts";
import { begin, write } from "../adapters/console/sessions.ts";
import { shot } from "./chromium.ts";
import { openConsolePage, useConsolePages } from "./console-page.ts";

describe("the list of threads", () => {
  useConsolePages();

  test("gets most of the height of a low screen, has days, and is searched by words of titles", async () => {
    await using opened = await openConsolePage({
      browser: { viewport: { width: 1024, height: 768 } },
      prepare: async ({ redis }) => void (await redis.client().flushdb()),
    });
    const { page } = opened;
    const heading = page.locator("#thread-list .day");
    const search = page.getByLabel("Search your threads");
    for (let n = 1; n <= 10; n += 1) {
      await page.goto(`${opened.console.url}/#/`);
      await page.getByLabel("Message to Heddle").fill(n === 3 ? "Paint the fence" : `Task number ${n}`);
      await page.keyboard.press("Enter");
      await expect.poll(() => page.locator("#thread-list a").count()).toBe(n);
      // Nobody searches among a few.
      expect(await search.isVisible()).toBe(n > 8);
    }
    const share = "document.getElementById('thread-list').clientHeight / innerHeight";
    expect(await page.evaluate(share)).toBeGreaterThan(0.5);
    expect(await heading.allTextContents()).toEqual(["Today"]);
    await shot(page, "sidebar-low");

    await search.fill("FENCE pa");
    await expect
      .poll(() => page.locator("#thread-list .title").allTextContents())
      .toEqual(["Paint the fence"]);
    await search.fill("roof");
    await page.getByText("None of these is called that.").waitFor();
    // What is being written there is no reason to stop a turn.
    await search.press("Escape");
    await search.fill("");
    await expect.poll(() => page.locator("#thread-list a").count()).toBe(10);
    expect(opened.console.intake.events.map(({ kind }) => kind)).not.toContain("stop");
    opened.expectInnocent();
  });

  test("names the days before today", async () => {
    await using opened = await openConsolePage();
    const days = await opened.page.evaluate(`(async () => {
      const { ThreadList } = await import("/conversation/thread-list.js");
      const root = document.createElement("ol");
      const list = new ThreadList(root);
      const at = (days, hour) => { const d = new Date(); d.setDate(d.getDate() - days); d.setHours(hour); return d.getTime(); };
      const thread = (id, activeAt) => ({ id, title: id, activeAt });
      list.replace([thread("old", new Date(2026, 0, 5, 9).getTime()), thread("b", at(1, 1)), thread("c", at(1, 23)), thread("a", Date.now())]);
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      return [...root.children].map((row) => row.querySelector(".title")?.textContent ?? row.textContent);
    })()`);
    expect(days).toEqual(["Today", "a", "Yesterday", "c", "b", expect.stringMatching(/^Mon.*5/), "old"]);
  });

  test("and times beside it say the day of what was today when the page is left open over night", async () => {
    await using opened = await openConsolePage({
      browser: { timezoneId: "UTC" },
      async prepare({ surface, redis }) {
        const redisOfThreads = redis.client();
        await redisOfThreads.flushdb();
        const thread = { platform: "local", workspace: "console", channel: "main", thread: "abcdefgh1234" };
        await surface.post(thread, { kind: "answer", markdown: "Left open" }, "first");
        await write(redisOfThreads, "slack:T1:C9OPS:190.1", "Look after it over night", "Ada");
        await begin(redisOfThreads, "slack:T1:C9OPS:190.1");
      },
    });
    const { page, console } = opened;
    await page.clock.install({ time: new Date() });
    await page.goto(`${console.url}/#/s/slack:T1:C9OPS:190.1`);
    await page.reload();
    const times = [page.locator("#threads time"), page.locator(".timeline a.when").first()];
    const withDay = /[A-Z][a-z]{2} \d/;
    await page.locator(".day").getByText("Today").waitFor();
    for (const time of times) expect(await time.textContent()).not.toMatch(withDay);
    await page.clock.fastForward("24:00:00");
    await page.locator(".day").getByText("Yesterday").waitFor();
    for (const time of times) expect(await time.textContent()).toMatch(withDay);
  });

  test("marks the thread whose timeline is open; an address that leads nowhere says so", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const { thread } = await opened.asks("Sweep the yard");
    await write(console.redis.client(), threadId(thread), "Sweep the yard");
    await page.getByRole("link", { name: "Timeline", exact: true }).click();
    await page.locator(".timeline-head").waitFor();
    await page.locator("#thread-list a[aria-current]").getByText("Sweep the yard").waitFor();
    await page.goto(`${console.url}/#/nonsense`);
    await page.getByRole("alert").getByText("This address leads nowhere").waitFor();
    await page.goto(`${console.url}/#/`);
    await expect.poll(() => page.getByText("This address leads nowhere").isVisible()).toBe(false);
    opened.expectInnocent();
  });
});
