/** The console as a person uses it: a headless Chromium, the real server, a real Redis. */
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startConsole } from "../adapters/local/start-console.ts";
import { article, chromiumPath, closeBrowser, noChromium, openBrowser, openDesk } from "./desk.ts";

describe("the console's page", () => {
  beforeAll(openBrowser);
  beforeEach((context) => context.skip(!chromiumPath, noChromium));
  afterAll(closeBrowser);

  test("a task: written, watched, answered, and its files fetched", async () => {
    await using desk = await openDesk();
    const { page, console } = desk;
    await page.getByRole("button", { name: /Write a calculator in Python/ }).click();

    const { thread, ref } = await desk.said();
    await page.waitForURL(({ hash }) => hash === `#/t/${thread.thread}`);
    await console.surface.mark(ref, "taken");
    await article(page, "person").getByText("Working on it").waitFor();

    const progress = {
      kind: "progress" as const,
      stoppable: true,
      markdown: "- write_file `calculator.py`",
    };
    const [shown] = await console.surface.post(thread, progress, "progress");
    if (!shown) throw new Error("nothing was posted");
    await article(page, "progress").getByText("calculator.py").waitFor();
    await console.surface.edit(shown, { ...progress, markdown: "- bash `python -m pytest` · 12 passed" });
    await article(page, "progress").getByText("12 passed").waitFor();
    expect(await article(page, "progress").getByText("calculator.py").count()).toBe(0);

    console.workspace.set("calculator.py", "print(2 + 2)\n");
    await console.surface.edit(shown, { kind: "progress", markdown: "4 steps" });
    await console.surface.post(
      thread,
      { kind: "answer", markdown: "It **works**.\n\n| a | b |\n|--|--|\n| 1 | 2 |", footer: "4 steps" },
      "answer",
    );
    await console.surface.mark(ref, "answered");
    await article(page, "answer").getByText("works").waitFor();
    expect(await article(page, "answer").locator("strong, td").allTextContents()).toEqual([
      "works",
      "1",
      "2",
    ]);
    await page.getByRole("status").getByText("Heddle: It **works**.").waitFor({ state: "attached" });
    expect(await page.getByRole("button", { name: "Stop" }).count()).toBe(0);

    await page.getByRole("button", { name: "Look again" }).click();
    const file = page.getByRole("link", { name: "calculator.py" });
    const [download] = await Promise.all([page.waitForEvent("download"), file.click()]);
    expect(download.suggestedFilename()).toBe("calculator.py");
    expect(await readFile(await download.path(), "utf8")).toBe("print(2 + 2)\n");

    await console.surface.upload(thread, { name: "plot.png", data: Buffer.from("png") }, "upload");
    const card = article(page, "file").getByRole("link", { name: "plot.png" });
    const [upload] = await Promise.all([page.waitForEvent("download"), card.click()]);
    expect(await readFile(await upload.path(), "utf8")).toBe("png");

    await page.reload();
    await article(page, "answer").getByText("works").waitFor();
    expect(await page.title()).toContain("Write a calculator");
    desk.expectInnocent();
  });

  test("a stop: by the button of the message, by the button of the box, and by Esc", async () => {
    await using desk = await openDesk();
    const { page, console } = desk;
    await page.getByLabel("Message to Heddle").fill("Sleep for ten minutes");
    await page.keyboard.press("Enter");
    const { thread, ref } = await desk.said();
    await console.surface.mark(ref, "taken");
    const progress = { kind: "progress" as const, stoppable: true, markdown: "bash `sleep 600`" };
    const [shown] = await console.surface.post(thread, progress, "progress");
    if (!shown) throw new Error("nothing was posted");

    console.door.verdict = () => ({ kind: "refused", reply: "Only Ada may stop this." });
    await article(page, "progress").getByRole("button", { name: "Stop" }).click();
    await page.getByRole("alert").getByText("Only Ada may stop this.").waitFor();
    await page.locator("#composer").getByRole("button", { name: "Stop" }).click();
    await desk.events(3);

    console.door.verdict = () => ({ kind: "stopping", thread: "x" });
    await page.getByLabel("Message to Heddle").press("Escape");
    const stop = await desk.events(4);
    expect(stop).toMatchObject({ kind: "stop", target: { thread } });
    await article(page, "progress").getByRole("button", { name: "Stopping…" }).waitFor();

    await console.surface.edit(shown, { kind: "progress", markdown: "bash `sleep 600`" });
    await console.surface.post(
      thread,
      { kind: "receipt", markdown: "Stopped. 2 processes ended, 0 left." },
      "receipt",
    );
    await console.surface.mark(ref, "stopped");
    await article(page, "receipt").getByText("0 left").waitFor();
    await article(page, "person").getByText("Stopped").waitFor();
    expect(await page.getByRole("button", { name: /Stop/ }).count()).toBe(0);
    desk.expectInnocent();
  });

  test("a button under a message: pressed, answered with a sentence, refused, and taken away", async () => {
    await using desk = await openDesk();
    const { page, console } = desk;
    await page.getByLabel("Message to Heddle").fill("Sort the archive");
    await page.keyboard.press("Enter");
    const { thread } = await desk.said();
    const actions = [
      { id: "continue:t1", label: "Continue", style: "primary" as const },
      { id: "deny:t1", label: "No", style: "danger" as const, asksFor: "Why not?" },
    ];
    const message = { kind: "answer" as const, markdown: "Paused at the limit of 50 steps." };
    const [shown] = await console.surface.post(thread, { ...message, actions }, "answer");
    if (!shown) throw new Error("nothing was posted");

    // Here one is asked for.
    page.removeAllListeners("dialog");
    page.once("dialog", (dialog) => void dialog.accept("too dear"));
    await article(page, "answer").getByRole("button", { name: "No" }).click();
    expect(await desk.events(2)).toMatchObject({ kind: "action", action: "deny:t1", text: "too dear" });

    console.door.verdict = () => ({ kind: "ignored", why: "the work has gone on since" });
    await article(page, "answer").getByRole("button", { name: "Continue" }).click();
    await page.getByRole("alert").getByText("Nothing happened: the work has gone on since.").waitFor();
    expect(await desk.events(3)).toMatchObject({ kind: "action", action: "continue:t1", ref: shown });

    await console.surface.edit(shown, message);
    await article(page, "answer").getByRole("button").first().waitFor({ state: "detached" });
    desk.expectInnocent();
  });

  test("an edit takes the focus from nobody who is about to press Stop", async () => {
    await using desk = await openDesk();
    const { page, console } = desk;
    await page.getByLabel("Message to Heddle").fill("Count");
    await page.keyboard.press("Enter");
    const { thread } = await desk.said();
    const progress = { kind: "progress" as const, stoppable: true, markdown: "count 0" };
    const [shown] = await console.surface.post(thread, progress, "progress");
    if (!shown) throw new Error("nothing was posted");
    await article(page, "progress").getByRole("button", { name: "Stop" }).focus();
    await console.surface.edit(shown, { ...progress, markdown: "count 1" });
    await article(page, "progress").getByText("count 1").waitFor();
    await page.keyboard.press("Enter");
    expect(await desk.events(2)).toMatchObject({ kind: "stop" });
  });

  test("nothing that is written becomes part of the page", async () => {
    await using desk = await openDesk();
    const { page, console } = desk;
    const attack = [
      "<img src=x onerror=alert(1)><script>alert(1)</script>",
      '<iframe srcdoc="<script>alert(1)</script>"></iframe><svg onload=alert(1)>',
      "[click](javascript:alert(1)) ![x](https://evil.example/pixel.png)",
      "<style>body{display:none}</style>",
      "```html\n</code></pre><script>alert(1)</script>\n```",
    ].join("\n\n");
    await page.getByLabel("Message to Heddle").fill(attack);
    await page.getByRole("button", { name: "Send" }).click();
    const { thread } = await desk.said();
    await console.surface.post(thread, { kind: "answer", markdown: attack, footer: attack }, "answer");
    await console.surface.upload(
      thread,
      { name: '"><script>alert(1)</script>', data: Buffer.from("x") },
      "upload",
    );
    console.workspace.set('<img src=x onerror="alert(1)">', "x");
    await article(page, "file").waitFor();
    await page.getByRole("button", { name: "Look again" }).click();
    await page.locator("#file-list a").waitFor();

    expect(
      await page
        .locator("#main script, iframe, #main img, #main style, #files img, [onerror], [onload]")
        .count(),
    ).toBe(0);
    const links = await page
      .locator("#log a")
      .evaluateAll((all) => all.map((link) => link.getAttribute("href")));
    expect(links.filter((href) => !/^(https:\/\/evil\.example\/|\/api\/threads\/)/.test(href ?? ""))).toEqual(
      [],
    );
    const link = article(page, "answer").getByRole("link").first();
    expect(await link.getAttribute("rel")).toContain("noopener");
    expect(await link.textContent()).toContain("(evil.example)");
    desk.expectInnocent();
  });

  test("a message that could not be sent stays in the box, and is said once when it is sent again", async () => {
    await using desk = await openDesk();
    const { page, console } = desk;
    console.door.verdict = () => Promise.reject(new Error("Redis is away"));
    const box = page.getByLabel("Message to Heddle");
    await box.fill("hello");
    await box.press("Enter");
    await page.getByRole("alert").getByText("Try again").waitFor();
    expect(await box.inputValue()).toBe("hello");

    console.door.verdict = (event) => ({ kind: "accepted", thread: event.kind, position: 1 });
    await box.press("Shift+Enter");
    await box.press("Backspace");
    await box.press("Enter");
    await article(page, "person").waitFor();
    expect(await article(page, "person").count()).toBe(1);
    expect(await box.inputValue()).toBe("");
  });

  test("the page says what should be known before trusting it with work", async () => {
    await using desk = await openDesk({
      prepare(console) {
        const problems = [{ what: "bwrap is not on PATH.", fix: "Install bubblewrap." }];
        Object.assign(console.status, {
          demo: true,
          redis: "embedded",
          sandbox: { ok: false, summary: "none", problems },
        });
      },
    });
    const { page } = desk;
    await page.getByText("This is the demo model.").waitFor();
    await page.getByText("Redis is embedded").waitFor();
    await page.getByText("How to fix it").click();
    await page.getByText("Install bubblewrap.").waitFor();
    desk.expectInnocent();
  });

  test("the page goes on by itself after the console was restarted", async () => {
    await using desk = await openDesk();
    const { page, console } = desk;
    await page.getByLabel("Message to Heddle").fill("hello");
    await page.keyboard.press("Enter");
    const { thread } = await desk.said();
    await article(page, "person").waitFor();
    const port = Number(new URL(console.url).port);
    await console[Symbol.asyncDispose]();
    await page.getByText("Reconnecting…").waitFor();
    await console.surface.post(thread, { kind: "answer", markdown: "written meanwhile" }, "answer");
    await using restarted = await startConsole({ redis: console.redis, port });
    await article(page, "answer").getByText("written meanwhile").waitFor();
    expect(page.url()).toContain(restarted.url);
    await page.getByText("Reconnecting…").waitFor({ state: "hidden" });
  });

  test("a console with a token asks for it once, and takes it out of the address at once", async () => {
    const token = "correct-horse-battery";
    await using desk = await openDesk({ token });
    const { page, console } = desk;
    await page.getByLabel("Token").fill("wrong-token");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("needs its token").waitFor();
    await page.getByLabel("Token").fill(token);
    await page.keyboard.press("Enter");
    await page.getByText("demo").waitFor();

    await page.context().clearCookies();
    await page.goto("about:blank");
    await page.goto(`${console.url}/#token=${token}`);
    await page.getByText("demo").waitFor();
    expect(page.url()).not.toContain(token);
  });

  test("on a phone nothing is cut off, and threads and files are drawers that the keyboard can close", async () => {
    const phone = { viewport: { width: 375, height: 740 }, isMobile: true, hasTouch: true };
    await using desk = await openDesk({ browser: phone });
    const { page, console } = desk;
    await page.getByLabel("Message to Heddle").fill("Show a wide table");
    await page.getByRole("button", { name: "Send" }).tap();
    const { thread } = await desk.said();
    console.workspace.set("notes.md", "x");
    const wide = Array.from({ length: 12 }, (_, column) => `a-rather-long-cell-${column}`).join(" | ");
    const rule = "|--".repeat(12);
    const markdown = `| ${wide} |\n${rule}|\n| ${wide} |\n\n\`${"x".repeat(400)}\`\n\n${"https://example.com/".padEnd(300, "y")}`;
    await console.surface.post(thread, { kind: "answer", markdown }, "answer");
    await article(page, "answer").getByRole("table").waitFor();
    const overflow = await page.evaluate(
      "document.documentElement.scrollWidth - document.documentElement.clientWidth",
    );
    const inside = await page.evaluate(
      "document.getElementById('scroller').scrollWidth - document.getElementById('scroller').clientWidth",
    );
    expect([overflow, inside]).toEqual([0, 0]);

    await page.getByRole("button", { name: "Workspace files" }).tap();
    await page.getByRole("link", { name: "notes.md" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "notes.md" }).waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Threads" }).tap();
    await page.getByRole("link", { name: "New thread" }).tap();
    await page.getByRole("heading", { name: "Begin a thread" }).waitFor();
    expect(console.door.events).toHaveLength(1);
    desk.expectInnocent();
  });
});
