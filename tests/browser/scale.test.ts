/** However much there is, the page holds what is near the view, and a change touches what has changed. */
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { createLivePublisher } from "../../src/queue/outbox/live-events.ts";
import { begin, write } from "../adapters/console/sessions.ts";

import { openConsolePage, useConsolePages, onError } from "./console-page.ts";
import { longConversation, recordsOf, writeMessages, writeRecords, writeThreads } from "./large-console.ts";

const mostNodes = 3_000;
const threads = 5_000;
const records = 20_000;
const messages = 2_000;

const nodes = (page: Page) => page.evaluate("document.querySelectorAll('*').length");
const scrollTo = (page: Page, share: number) =>
  page.evaluate(
    `(() => { const r = document.getElementById("report"); r.scrollTop = r.scrollHeight * ${share}; })()`,
  );
/** What matches, and is in view first: its text, and where it is. */
const firstInView = (page: Page, selector: string) =>
  page.evaluate(`(() => {
    const { top, bottom } = document.getElementById("report").getBoundingClientRect();
    for (const row of document.querySelectorAll(${JSON.stringify(selector)})) {
      const box = row.getBoundingClientRect();
      if (box.top >= top && box.bottom <= bottom) return { text: row.textContent, top: Math.round(box.top - top) };
    }
  })()`) as Promise<{ text: string; top: number } | undefined>;
/** From now on, which rows change. */
const watchRows = (page: Page, selector: string, root = "report") =>
  page.evaluate(`{
    window.touched = new Set();
    new MutationObserver((changes) => {
      for (const { target, addedNodes, removedNodes } of changes) {
        const node = target.nodeType === 1 ? target : target.parentElement;
        const row = node.closest(${JSON.stringify(selector)});
        for (const one of row ? [row] : [...addedNodes, ...removedNodes])
          if (one.nodeType === 1 && one.matches(${JSON.stringify(selector)})) window.touched.add(one);
      }
    }).observe(document.getElementById("${root}"), {
      subtree: true, childList: true, characterData: true, attributes: true,
    });
  }`);
/** Of those that are still there. */
const touched = (page: Page) =>
  page.evaluate("[...window.touched].filter((row) => row.isConnected).map((row) => row.textContent)");

const scrollLog = (page: Page, share: number) =>
  page.evaluate(
    `(() => { const s = document.getElementById("scroller"); s.scrollTop = s.scrollHeight * ${share}; })()`,
  );
const toEnd = (page: Page) =>
  page.evaluate(
    `(() => { const s = document.getElementById("scroller"); return s.scrollHeight - s.scrollTop - s.clientHeight; })()`,
  );
/** The message that begins in view first. */
const firstMessage = (page: Page) =>
  page.evaluate(`(() => {
    const { top } = document.getElementById("scroller").getBoundingClientRect();
    for (const one of document.querySelectorAll("article")) {
      const box = one.getBoundingClientRect();
      if (box.top < top) continue;
      const number = Number(/(?:Question|Answer) (\\d+)/.exec(one.textContent)?.[1]);
      return { number, isFar: one.classList.contains("far"), top: Math.round(box.top - top) };
    }
  })()`) as Promise<{ number: number; isFar: boolean; top: number } | undefined>;
const inView = (page: Page, text: string) =>
  page.evaluate(`(() => {
    const { top, bottom } = document.getElementById("scroller").getBoundingClientRect();
    const one = [...document.querySelectorAll("article")].find((a) => a.textContent.includes(${JSON.stringify(text)}));
    const box = one.getBoundingClientRect();
    return box.top < bottom && box.bottom > top;
  })()`);

describe("a console with a long history", () => {
  useConsolePages();

  test("lists 5,000 threads: what is in view is on the page, and nothing else changes with one of them", async () => {
    await using opened = await openConsolePage({
      prepare: ({ redis }) => writeThreads(redis.client(), threads),
    });
    const { page, console } = opened;
    const redis = console.redis.client();
    const row = (n: number) => page.locator(".lines li").filter({ hasText: new RegExp(`Task ${n}(?!\\d)`) });
    await page.getByRole("link", { name: "All threads" }).click();
    await row(threads - 1).waitFor();
    await page.getByText("5,000 of 5,000").waitFor();
    expect(await nodes(page)).toBeLessThan(mostNodes);
    expect(await row(threads - 3).getAttribute("aria-posinset")).toBe("3");
    expect(await row(threads - 3).getAttribute("aria-setsize")).toBe("5000");

    await watchRows(page, ".lines li");
    const changed = `slack:T1:C1:${threads - 1}.0`;
    await write(redis, changed, "Once more");
    await begin(redis, changed, "t2");
    createLivePublisher(redis, changed, onError)({ type: "turn-start" });
    await row(threads - 1)
      .getByText("Running")
      .waitFor();
    const all = (await touched(page)) as string[];
    expect(all.length).toBe(1);
    expect(all[0]).toContain(`Task ${threads - 1}`);

    // To the middle, by the scroll bar.
    await scrollTo(page, 0.5);
    await expect.poll(async () => (await firstInView(page, ".lines li"))?.text).toMatch(/Task 2[45]\d\d/);
    expect(await nodes(page)).toBeLessThan(mostNodes);
    const before = await firstInView(page, ".lines li");
    const fresh = "slack:T1:C1:9999.0";
    await write(redis, fresh, "Begun meanwhile");
    createLivePublisher(redis, fresh, onError)({ type: "turn-start" });
    await page.getByText("5,001 of 5,001").waitFor();
    expect(await firstInView(page, ".lines li")).toEqual(before);

    // Through the rows of several pages, by the wheel.
    const task = async () =>
      Number(/Task (\d+)/.exec((await firstInView(page, ".lines li"))?.text ?? "")?.[1]);
    await page.mouse.move(700, 500);
    let reached = await task();
    for (const goal = reached - 90; reached > goal; ) {
      await page.mouse.wheel(0, 600);
      await expect.poll(task).toBeLessThan(reached);
      reached = await task();
      expect(await nodes(page)).toBeLessThan(mostNodes);
    }

    await scrollTo(page, 1);
    await row(0).waitFor();
    expect(await nodes(page)).toBeLessThan(mostNodes);
    await row(0).getByRole("link").focus();
    await page.keyboard.press("k");
    expect(await page.evaluate("document.activeElement.textContent")).toMatch(/^Task 1(?!\d)/);

    // The focus is not lost with its row: the keyboard goes on where the view is.
    await scrollTo(page, 0);
    await row(threads - 1).waitFor();
    expect(await page.evaluate("document.activeElement.matches('.lines')")).toBe(true);
    await page.keyboard.press("j");
    expect(await page.evaluate("document.activeElement.textContent")).toContain("Begun meanwhile");
    // An old one is found, too.
    await page.getByRole("searchbox").fill("C1:17.0");
    await row(17).waitFor();
    opened.expectInnocent();
  });

  test("shows 20,000 records: scrolled, jumped through and followed with a bounded page that keeps its place", async () => {
    const thread = "slack:T1:C2:1.0";
    await using opened = await openConsolePage({
      prepare: ({ redis }) => writeRecords(redis.client(), thread, records),
    });
    const { page, console } = opened;
    const redis = console.redis.client();
    await page.goto(`${console.url}/#/s/${encodeURIComponent(thread)}`);
    const last = Math.floor((records - 3) / 3);
    await page.getByText(`Step ${last}`, { exact: true }).waitFor();
    expect(await nodes(page)).toBeLessThan(mostNodes);

    const step = ".timeline .model";
    const numberOf = (line: { text: string } | undefined) => Number(/Step (\d+)/.exec(line?.text ?? "")?.[1]);
    await page.mouse.move(500, 500);
    let reached = last;
    while (reached > last - 200) {
      await page.mouse.wheel(0, -700);
      await expect.poll(async () => numberOf(await firstInView(page, step))).toBeLessThan(reached);
      reached = numberOf(await firstInView(page, step));
      expect(await nodes(page)).toBeLessThan(mostNodes);
    }

    await scrollTo(page, 0.5);
    await expect
      .poll(async () => Math.abs(numberOf(await firstInView(page, step)) - last / 2))
      .toBeLessThan(last / 20);
    expect(await nodes(page)).toBeLessThan(mostNodes);
    await scrollTo(page, 0);
    await page.locator(".said").getByText("A long task").waitFor();
    expect(await nodes(page)).toBeLessThan(mostNodes);

    await page.getByRole("button", { name: "Go to the end" }).click();
    await page.getByText(`Step ${last}`, { exact: true }).waitFor();
    // The records above these may still be on their way.
    const entries = () => page.evaluate("document.querySelectorAll('.timeline > li').length");
    for (let before; before !== (await entries()); ) {
      before = await entries();
      await page.evaluate("new Promise((done) => setTimeout(done, 300))");
    }
    await watchRows(page, ".timeline > li");
    await write(redis, thread, "And now?");
    const lease = await begin(redis, thread, "t2");
    await lease.append(recordsOf(last + 1));
    createLivePublisher(redis, thread, onError)({ type: "turn-start" });
    await page.getByText(`Step ${last + 1}`, { exact: true }).waitFor();
    // A turn, its message and its step are added; what is read stays as it is.
    const lines = (await touched(page)) as string[];
    expect(lines.map((text) => /Turn t2|And now\?|Step \d+/.exec(text)?.[0])).toEqual([
      ...["Turn t2", "And now?", `Step ${last + 1}`],
    ]);
    expect(await nodes(page)).toBeLessThan(mostNodes);
    opened.expectInnocent();
  });

  test("shows 2,000 messages: those near the view with all their parts, of the others their text, in order", async () => {
    const thread = longConversation;
    await using opened = await openConsolePage({
      prepare: ({ redis }) => writeMessages(redis.client(), messages),
    });
    const { page, console } = opened;
    await page.goto(`${console.url}/#/t/${thread}`);
    const message = (n: number) =>
      page.locator("article").filter({ hasText: new RegExp(`(Question|Answer) ${n}:`) });
    const isDrawn = (n: number) => message(n).evaluate((one) => !one.classList.contains("far"));
    const ref = { platform: "local", workspace: "console", channel: "main", thread };
    const last = messages - 1;
    await message(last).getByRole("button", { name: "Copy answer" }).waitFor();
    // Two elements for each that is far, and some twenty for each that is near.
    expect(await nodes(page)).toBeLessThan(2 * messages + mostNodes);
    expect(await page.locator("article:not(.far)").count()).toBeLessThan(80);
    expect(await page.locator("#log").getByRole("heading", { level: 3 }).count()).toBe(messages);
    const texts = await page.locator("article").allTextContents();
    expect(texts.map((text) => Number(/(?:Question|Answer) (\d+)/.exec(text)?.[1]))).toEqual([
      ...Array(messages).keys(),
    ]);

    // One more is followed, and changes no other.
    await watchRows(page, "article", "log");
    await console.surface.post(ref, { kind: "answer", markdown: "One more." }, "one more");
    await page.locator("article").getByText("One more.").waitFor();
    expect(await touched(page)).toEqual([expect.stringContaining("One more.")]);
    expect(await toEnd(page)).toBeLessThan(2);

    // To the middle, by the scroll bar: what is in view is whole.
    await scrollLog(page, 0.5);
    await expect.poll(() => firstMessage(page)).toMatchObject({ isFar: false });
    const middle = await firstMessage(page);
    expect(middle?.number).toBeGreaterThan(messages / 4);
    expect(middle?.number).toBeLessThan((3 * messages) / 4);
    await console.surface.post(ref, { kind: "answer", markdown: "And another." }, "another");
    await page.locator("article").getByText("And another.").waitFor({ state: "attached" });
    expect(await firstMessage(page)).toEqual(middle);

    // Away and back: the same message, where it was.
    await page.getByRole("link", { name: "Usage" }).click();
    await page.getByRole("heading", { name: "Usage" }).first().waitFor();
    await page.goBack();
    await expect.poll(() => firstMessage(page)).toEqual(middle);

    // By the wheel, through what was never drawn.
    await page.mouse.move(640, 400);
    for (let reached = middle?.number ?? 0, goal = reached - 60; reached > goal; ) {
      await page.mouse.wheel(0, -600);
      await expect.poll(async () => (await firstMessage(page))?.number).toBeLessThan(reached);
      const now = await firstMessage(page);
      expect(now?.isFar).toBe(false);
      reached = now?.number ?? 0;
      expect(await page.locator("article:not(.far)").count()).toBeLessThan(80);
    }

    // What the browser's own search finds is whole when it comes into view; `find` itself does not scroll.
    expect(await isDrawn(201)).toBe(false);
    expect(await page.evaluate("window.find('Answer 201: it is', false, false, true)")).toBe(true);
    await page.evaluate("getSelection().anchorNode.parentElement.scrollIntoView({ block: 'center' })");
    await expect.poll(() => isDrawn(201)).toBe(true);
    await message(201).getByText("const answer = 201;").waitFor();
    expect(await inView(page, "Answer 201:")).toBe(true);

    // On paper there is all of it.
    await page.evaluate("dispatchEvent(new Event('beforeprint'))");
    expect(await page.locator("article.far").count()).toBe(0);
    await page.evaluate("dispatchEvent(new Event('afterprint'))");
    expect(await page.locator("article:not(.far)").count()).toBeLessThan(80);
    opened.expectInnocent();
  });

  test("keeps in a long conversation what was unfolded, and says what was streamed once", async () => {
    const before = 149;
    const thread = "longconversation2";
    await using opened = await openConsolePage({
      prepare: ({ redis }) => writeMessages(redis.client(), before, thread),
    });
    const { page, console } = opened;
    const ref = { platform: "local", workspace: "console", channel: "main", thread };
    await page.goto(`${console.url}/#/t/${thread}`);
    await page.getByText(`Question ${before - 1}:`).waitFor();
    const items = [{ id: "1", name: "bash", about: "ls", state: "ok" as const, result: "a.txt is there" }];
    const calls = { title: "Working", above: "**Working**", below: "It grows.", items };
    await console.surface.post(
      ref,
      { kind: "progress", stoppable: true, markdown: "all of it", calls },
      "progress",
    );
    const progress = page.locator("article.progress");
    await progress.getByText("It grows.").waitFor();
    await progress.locator("summary.head").click();
    await progress.getByText("a.txt is there").waitFor();

    // The last of its parent's, so that the answer has another.
    await console.surface.post(ref, { kind: "answer", markdown: "It is done." }, "answer");
    await page.locator("article.answer").getByText("It is done.").waitFor();
    expect(await page.locator(".batch").count()).toBe(4);
    expect(await progress.getByText("It grows.").isVisible()).toBe(false);

    // What has the focus would stay as it is.
    await page.getByLabel("Message to Heddle").focus();
    await scrollLog(page, 0);
    await expect.poll(() => progress.evaluate((one) => one.classList.contains("far"))).toBe(true);
    await scrollLog(page, 1);
    await progress.getByText("a.txt is there").waitFor();
    expect(await progress.getByText("It grows.").isVisible()).toBe(false);
    opened.expectInnocent();
  });
});
