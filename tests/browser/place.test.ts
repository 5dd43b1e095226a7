/** What a person leaves behind in a conversation is there when they come back. */
import { describe, expect, test } from "vitest";

import { article, openConsolePage, useConsolePages } from "./console-page.ts";

describe("a conversation that is left", () => {
  useConsolePages();

  test("keeps its draft and the place where somebody was reading, over a reload too", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const box = page.getByLabel("Message to Heddle");
    await box.fill("a new thought");
    await page.reload();
    await expect.poll(() => box.inputValue()).toBe("a new thought");
    const { thread } = await opened.asks("Tell me all of it");
    const markdown = Array.from({ length: 150 }, (_, line) => `Line ${line}`).join("\n\n");
    await console.surface.post(thread, { kind: "answer", markdown }, "answer");
    await article(page, "answer").getByText("Line 149").waitFor();
    expect(await box.inputValue()).toBe("");
    await box.fill("half a sent");
    await page.evaluate("document.querySelector('#scroller').scrollTop = 700");
    const line = async () => (await article(page, "answer").getByText("Line 30").boundingBox())?.y;
    const before = (await line()) ?? 0;
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(800);

    await page.getByRole("link", { name: "Usage" }).click();
    await page.getByRole("heading", { name: "Usage" }).first().waitFor();
    await page.goBack();
    await article(page, "answer").getByText("Line 149").waitFor();
    await expect.poll(async () => Math.abs(((await line()) ?? Infinity) - before)).toBeLessThan(2);
    expect(await box.inputValue()).toBe("half a sent");
    await page.reload();
    await article(page, "answer").getByText("Line 149").waitFor();
    await expect.poll(async () => Math.abs(((await line()) ?? Infinity) - before)).toBeLessThan(2);
    await page.goto(`${console.url}/#/`);
    await expect.poll(() => box.inputValue()).toBe("");
    opened.expectInnocent();
  });

  test("keeps what is in the box where something else is sent with one press, which is sent once", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const box = page.getByLabel("Message to Heddle");
    await box.fill("my own words");
    await page.getByRole("button", { name: /Write a calculator in Python/ }).dblclick();
    const { thread } = await opened.said();
    await page.waitForURL(({ hash }) => hash === `#/t/${thread.thread}`);
    await page.goto(`${console.url}/#/`);
    await expect.poll(() => box.inputValue()).toBe("my own words");
    expect(console.intake.events).toHaveLength(1);
    opened.expectInnocent();
  });

  test("is begun once, and says once what was on its way when the page was reloaded", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const box = page.getByLabel("Message to Heddle");
    const send = async (text: string, number: number) => {
      // It arrives, but nobody hears of that.
      await page.route("**/messages", (route) => void route.fetch(), { times: 1 });
      await box.fill(text);
      await page.keyboard.press("Enter");
      await opened.events(number);
      await page.reload();
      await expect.poll(() => box.inputValue()).toBe(text);
      await box.press("Enter");
      await opened.events(number + 1);
      await expect.poll(() => box.inputValue()).toBe("");
    };
    await send("begin", 1);
    const { thread } = await opened.said();
    await page.waitForURL(({ hash }) => hash === `#/t/${thread.thread}`);
    await send("go on", 3);
    // The same words, written anew, are another message.
    await box.fill("go on");
    await page.keyboard.press("Enter");
    await opened.events(5);
    const said = console.intake.events.flatMap((event) => (event.kind === "message" ? [event] : []));
    const refs = said.map(({ ref }) => ref.message);
    expect(refs).toEqual([refs[0], refs[0], refs[2], refs[2], refs[4]]);
    expect(new Set(refs).size).toBe(3);
    expect(new Set(said.map((one) => one.thread.thread))).toEqual(new Set([thread.thread]));
  });

  test("leaves whoever has gone elsewhere where they are when its first message is taken at last", async () => {
    await using opened = await openConsolePage();
    const { page } = opened;
    const taken = Promise.withResolvers<void>();
    await page.route("**/messages", async (route) => {
      await taken.promise;
      await route.continue();
    });
    const answered = page.waitForResponse("**/messages");
    await page.getByLabel("Message to Heddle").fill("slowly");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Usage" }).click();
    await page.getByRole("heading", { name: "Usage" }).first().waitFor();
    taken.resolve();
    await (await answered).finished();
    const row = page.locator("#threads").getByRole("link", { name: /slowly/ });
    await row.waitFor();
    expect(new URL(page.url()).hash).toBe("#/usage");
    opened.expectInnocent();
  });

  test("keeps the files that were meant for it, and none go with a message of another thread", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const box = page.getByLabel("Message to Heddle");
    const attached = page.locator("#attachments .title");
    const { thread } = await opened.asks("Read the letter");
    await page.waitForURL(({ hash }) => hash === `#/t/${thread.thread}`);
    await box.fill("here it is");
    await page
      .locator("#pick")
      .setInputFiles({ name: "letter.txt", mimeType: "text/plain", buffer: Buffer.from("Dear") });
    await expect.poll(() => attached.allTextContents()).toEqual(["letter.txt"]);

    await page.goto(`${console.url}/#/`);
    await expect.poll(() => box.inputValue()).toBe("");
    expect(await attached.allTextContents()).toEqual([]);
    await box.fill("Something else");
    await page.keyboard.press("Enter");
    expect(await opened.events(2)).toMatchObject({ text: "Something else", attachments: [] });

    await page.goto(`${console.url}/#/t/${thread.thread}`);
    await expect.poll(() => box.inputValue()).toBe("here it is");
    expect(await attached.allTextContents()).toEqual(["letter.txt"]);
    await page.getByRole("button", { name: "Send", exact: true }).click();
    expect(await opened.events(3)).toMatchObject({ thread, attachments: [{ name: "letter.txt" }] });
    await expect.poll(() => attached.count()).toBe(0);
    opened.expectInnocent();
  });

  test("takes along what is written and attached while its first message is on its way", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const box = page.getByLabel("Message to Heddle");
    const attached = page.locator("#attachments .title");
    const pick = (name: string) =>
      page.locator("#pick").setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from(name) });
    const asked = Promise.withResolvers<void>();
    const taken = Promise.withResolvers<void>();
    await page.route("**/messages", async (route) => {
      asked.resolve();
      await taken.promise;
      await route.continue();
    });
    await pick("first.txt");
    await box.fill("Look at this");
    await page.keyboard.press("Enter");
    await asked.promise;
    await box.fill("and then at that");
    await pick("second.txt");
    taken.resolve();

    const { thread } = await opened.said();
    await page.waitForURL(({ hash }) => hash === `#/t/${thread.thread}`);
    await article(page, "person").getByText("Look at this").waitFor();
    expect(await box.inputValue()).toBe("and then at that");
    expect(await attached.allTextContents()).toEqual(["second.txt"]);
    await page.goto(`${console.url}/#/`);
    await expect.poll(() => box.inputValue()).toBe("");
    expect(await attached.count()).toBe(0);
    opened.expectInnocent();
  });

  test("is printed as its title and what was said", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const { thread } = await opened.asks("Say it");
    await console.surface.post(thread, { kind: "answer", markdown: "Said." }, "answer");
    await article(page, "answer").getByText("Said.").waitFor();
    await page.emulateMedia({ media: "print" });
    expect(await article(page, "answer").getByText("Said.").isVisible()).toBe(true);
    expect(await page.getByRole("heading", { name: "Say it" }).isVisible()).toBe(true);
    for (const hidden of ["#threads", "#files", "#composer", "#to-timeline"])
      expect([hidden, await page.locator(hidden).isVisible()]).toEqual([hidden, false]);
    opened.expectInnocent();
  });

  test("costs the list one update a frame, and rows that say the same stay, in a list of any length", async () => {
    await using opened = await openConsolePage();
    const result = await opened.page.evaluate(`(async () => {
      const { ThreadList } = await import("/conversation/thread-list.js");
      const frame = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      const root = document.createElement("ol");
      document.body.append(root);
      const list = new ThreadList(root);
      const thread = (n, at) => ({ id: "thread" + String(n).padStart(6, "0"), title: "T" + n, activeAt: at });
      list.replace(Array.from({ length: 280 }, (_, n) => thread(n, n)));
      await frame();
      const before = [...root.children];
      let changes = 0;
      const observer = new MutationObserver(() => (changes += 1));
      observer.observe(root, { childList: true });
      for (let n = 0; n < 40; n += 1) list.put(thread(107, 1_000 + n));
      await frame();
      const kept = [...root.children].filter((row) => before.includes(row)).length;
      const first = root.querySelector("a").textContent.startsWith("T107");
      return { rows: root.childElementCount, changes, kept, first };
    })()`);
    // The newest 200, the day that they are of, and the line that says where older ones are.
    expect(result).toEqual({ rows: 202, changes: 1, kept: 201, first: true });
  });

  test("makes no row anew but the one that has changed, and holds up the page by 40 changes at once for no 200 ms", async () => {
    await using opened = await openConsolePage();
    const result = await opened.page.evaluate(`(async () => {
      const { ThreadList } = await import("/conversation/thread-list.js");
      const frame = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      const thread = (n, at) => ({ id: "thread" + String(n).padStart(6, "0"), title: "T" + n, activeAt: at });
      const madeByOne = async (rows) => {
        const root = document.createElement("ol");
        document.body.append(root);
        const list = new ThreadList(root);
        list.replace(Array.from({ length: rows }, (_, n) => thread(n, n)));
        await frame();
        // Only what comes into this list: the page draws other things meanwhile.
        const before = new Set(root.children);
        list.put(thread(rows - 5, 1_000));
        await frame();
        return { made: [...root.children].filter((row) => !before.has(row)).length, list };
      };
      const few = await madeByOne(10);
      const many = await madeByOne(280);
      const long = [];
      new PerformanceObserver((all) => long.push(...all.getEntries().map(({ duration }) => duration)))
        .observe({ type: "longtask" });
      for (let n = 0; n < 40; n += 1) many.list.put(thread(100 + n, 2_000 + n));
      await frame();
      await new Promise((done) => setTimeout(done, 100));
      return { few: few.made, many: many.made, longest: Math.max(0, ...long) };
    })()`);
    expect(result).toMatchObject({ few: 1, many: 1 });
    expect((result as { longest: number }).longest).toBeLessThan(200);
  });
});
