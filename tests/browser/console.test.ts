/** The console as a person uses it: a headless Chromium, the real server, a real Redis. */
import { mkdtemp, readFile, rm, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Route } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ShownCall } from "../../src/chat/outbound.ts";
import { startConsole } from "../adapters/console/start-console.ts";
import { freePort } from "../fakes/free-port.ts";
import { shot } from "./chromium.ts";
import { article, openConsolePage, useConsolePages } from "./console-page.ts";

describe("the console's page", () => {
  useConsolePages();

  test("a task: written, watched, answered, and its files fetched", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    await page.getByRole("button", { name: /Write a calculator in Python/ }).click();

    const { thread, ref } = await opened.said();
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
    await page.getByRole("status").getByText("Heddle: It works.").waitFor({ state: "attached" });
    // With the mark, which the page hears of by itself.
    await expect.poll(() => page.getByRole("button", { name: "Stop" }).count()).toBe(0);

    await page.getByRole("button", { name: "Refresh" }).click();
    await page.getByRole("button", { name: "calculator.py" }).click();
    const viewer = page.getByRole("dialog", { name: "calculator.py" });
    await viewer.getByText("print(2 + 2)").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("#file-list button:focus").getByText("calculator.py").waitFor();
    const file = page.getByRole("link", { name: "Save calculator.py" });
    const [download] = await Promise.all([page.waitForEvent("download"), file.click()]);
    expect(download.suggestedFilename()).toBe("calculator.py");
    expect(await readFile(await download.path(), "utf8")).toBe("print(2 + 2)\n");

    await console.surface.upload(thread, { name: "plot.png", data: Buffer.from("png") }, "upload");
    const card = article(page, "file").getByRole("link", { name: "Save plot.png" });
    const [upload] = await Promise.all([page.waitForEvent("download"), card.click()]);
    expect(await readFile(await upload.path(), "utf8")).toBe("png");

    await page.reload();
    await article(page, "answer").getByText("works").waitFor();
    expect(await page.title()).toContain("Write a calculator");
    opened.expectInnocent();
  });

  test("pictures are shown in their messages, and an answer is copied as Markdown", async () => {
    await using opened = await openConsolePage({
      browser: { permissions: ["clipboard-read", "clipboard-write"] },
    });
    const { page, console } = opened;
    const { thread } = await opened.asks("Draw it");
    const svg =
      '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40"><rect width="60" height="40"/></svg>';
    await console.surface.upload(thread, { name: "plot.svg", data: Buffer.from(svg) }, "1");
    await console.surface.upload(thread, { name: "data.csv", data: Buffer.from("a,b") }, "2");
    await console.surface.post(thread, { kind: "answer", markdown: "It is **drawn**." }, "answer");
    const pictures = {
      "a.png":
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "b.gif": "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7",
      "c.webp": "UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAgA0JaQAA3AA/vuUAAA=",
    };
    for (const [name, base64] of Object.entries(pictures))
      await console.surface.upload(thread, { name, data: Buffer.from(base64, "base64") }, name);
    // What a browser draws and saves is a JPEG as people send them.
    const jpeg = "document.createElement('canvas').toDataURL('image/jpeg').split(',')[1]";
    const data = Buffer.from(String(await page.evaluate(jpeg)), "base64");
    await console.surface.upload(thread, { name: "d.jpg", data }, "d.jpg");
    const widths = "[...document.querySelectorAll('article.file img')].map((one) => one.naturalWidth)";
    await expect.poll(() => page.evaluate(widths)).toEqual([60, 1, 1, 1, 300]);
    expect(await page.locator("article img").count()).toBe(5);
    await article(page, "file").getByText("data.csv").waitFor();
    await shot(page, "thumbnail");
    await article(page, "answer").hover();
    await article(page, "answer").getByRole("button", { name: "Copy answer" }).click();
    await expect.poll(() => page.evaluate("navigator.clipboard.readText()")).toBe("It is **drawn**.");
    opened.expectInnocent();
  });

  test("code is headed by its language where it names one, and by nothing else", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const { thread } = await opened.asks("Show me");
    const markdown = "```\nplain\n```\n\n```python\nprint(1)\n```\n\n    indented\n";
    await console.surface.post(thread, { kind: "answer", markdown }, "answer");
    const code = article(page, "answer").locator(".code");
    await expect.poll(() => code.count()).toBe(3);
    expect(await code.locator("pre").allInnerTexts()).toEqual(["plain", "print(1)", "indented"]);
    expect(await code.locator(".code-head").allInnerTexts()).toEqual(["", "python", ""]);
    opened.expectInnocent();
  });

  test("the last message is sent again, as it was and edited", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const { thread, ref } = await opened.asks("Frist try");
    await console.surface.mark(ref, "answered");
    await console.surface.post(thread, { kind: "answer", markdown: "What?" }, "answer");
    const last = article(page, "person").last();
    await last.hover();
    await last.getByRole("button", { name: "Send again", exact: true }).click();
    expect(await opened.events(2)).toMatchObject({ kind: "message", text: "Frist try" });
    await expect.poll(() => article(page, "person").count()).toBe(2);
    // Only the last one can be.
    expect(await page.getByRole("button", { name: "Edit and send again" }).count()).toBe(1);
    await article(page, "person").last().hover();
    await page.getByRole("button", { name: "Edit and send again" }).click();
    const box = page.getByLabel("Message to Heddle");
    expect(await box.inputValue()).toBe("Frist try");
    await box.fill("First try");
    await page.keyboard.press("Enter");
    expect(await opened.events(3)).toMatchObject({ kind: "message", text: "First try" });
    opened.expectInnocent();
  });

  test("calls with their results folded away: unfolded by keyboard, and left so while the message changes", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const { thread } = await opened.asks("Look around");
    const listed = { id: "1", name: "bash", about: "ls", state: "ok" as const, result: "<b>a.txt</b>" };
    const made = { id: "2", name: "bash", about: "make", state: "running" as const };
    const progress = (...items: ShownCall[]) => ({
      ...{ kind: "progress" as const, stoppable: true, markdown: "in one text" },
      calls: { title: "Working", above: "**Working**", below: `${items.length} calls`, items },
    });
    const [shown] = await console.surface.post(thread, progress(listed, made), "progress");
    if (!shown) throw new Error("nothing was posted");

    const call = (about: string) => article(page, "progress").locator("li").filter({ hasText: about });
    await call("make").getByText("running").waitFor();
    expect(await call("ls").getByText("a.txt").isVisible()).toBe(false);
    await call("ls").locator("summary").focus();
    await page.keyboard.press("Enter");
    await call("ls").getByText("<b>a.txt</b>").waitFor();
    await console.surface.edit(
      shown,
      progress(listed, { ...made, state: "error", result: "no rule" }, { ...made, id: "3", about: "test" }),
    );
    await article(page, "progress").getByText("3 calls").waitFor();
    expect(await call("ls").getByText("<b>a.txt</b>").isVisible()).toBe(true);
    await page.keyboard.press("Enter");
    await call("ls").getByText("a.txt").waitFor({ state: "hidden" });
    await call("make").getByText("failed").click();
    await call("make").getByText("no rule").waitFor();
    await console.surface.edit(shown, progress({ ...made, state: "error", result: "no rule" }));
    await call("ls").waitFor({ state: "detached" });
    await call("make").getByText("no rule").waitFor();

    // What was streamed is not said twice, nor is the message that is about to change gone.
    await article(page, "progress").getByText("1 calls").waitFor();
    await console.surface.post(thread, { kind: "answer", markdown: "Looked around." }, "answer");
    await article(page, "answer").getByText("Looked around.").waitFor();
    expect(await article(page, "progress").getByText("1 calls").isVisible()).toBe(false);
    expect(await call("make").getByText("no rule").isVisible()).toBe(true);
    opened.expectInnocent();
  });

  test("a plan stays when the answer comes, and what was streamed below it goes", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const { thread } = await opened.asks("Plan it");
    const plan = "**Plan** · 1 of 2 done  \n☑ read  \n▸ write";
    const calls = { title: "Working", above: plan, below: "It is wri", items: [] };
    const progress = { kind: "progress" as const, stoppable: true, markdown: `${plan}\n\nIt is wri`, calls };
    await console.surface.post(thread, progress, "progress");
    await article(page, "progress").getByText("It is wri").waitFor();
    await console.surface.post(thread, { kind: "answer", markdown: "It is written." }, "answer");
    await article(page, "answer").getByText("It is written.").waitFor();
    expect(await article(page, "progress").getByText("▸ write").isVisible()).toBe(true);
    expect(await article(page, "progress").getByText("It is wri").isVisible()).toBe(false);
    opened.expectInnocent();
  });

  test("while a message grows, what is read in it stays: the focus and the selection", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const { ref, thread } = await opened.asks("Explain it");
    await console.surface.mark(ref, "taken");
    const progress = (below: string) => ({
      ...{ kind: "progress" as const, stoppable: true, markdown: below },
      calls: { title: "Working", above: "⏳ **Working** · step 1", below, items: [] },
    });
    const code = "The command:\n\n```sh\nmake\n```\n\n";
    const [shown] = await console.surface.post(thread, progress(`${code}It bu`), "progress");
    if (!shown) throw new Error("nothing was posted");
    await article(page, "progress").locator("pre").focus();
    await article(page, "progress").getByText("The command:").selectText();
    await console.surface.edit(shown, progress(`${code}It builds all of it.`));
    await article(page, "progress").getByText("It builds all of it.").waitFor();
    expect(await page.evaluate("document.activeElement.matches('.progress pre')")).toBe(true);
    expect(await page.evaluate("String(getSelection())")).toBe("The command:");

    // A sign of Heddle's own is a drawing; the model's words are left as they are.
    expect(await article(page, "progress").locator(".own-sign.waiting svg").count()).toBe(1);
    expect(await article(page, "progress").textContent()).not.toContain("⏳");
    await console.surface.post(thread, { kind: "answer", markdown: "✅ It builds." }, "answer");
    await article(page, "answer").getByText("✅ It builds.").waitFor();
    await console.surface.post(thread, { kind: "receipt", markdown: "🛑 **Stopped by Ada**" }, "receipt");
    await article(page, "receipt").getByText("Stopped by Ada").waitFor();
    expect(await article(page, "receipt").textContent()).not.toContain("🛑");
    opened.expectInnocent();
  });

  test("the box is as wide as the conversation, also beside its scroll bar, and the way to its end is not behind it", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const { thread } = await opened.asks("Tell it at length");
    const markdown = Array.from({ length: 60 }, (_, n) => `Sentence ${n + 1}.`).join("\n\n");
    await console.surface.post(thread, { kind: "answer", markdown }, "answer");
    await page.getByText("Sentence 60.").waitFor();
    const edges = (selector: string) =>
      page.evaluate(
        `(({ left, right }) => [left, right])(document.querySelector("${selector}").getBoundingClientRect())`,
      );
    expect(await edges("#composer")).toEqual(await edges("#log"));
    const head = await edges("#main > header");
    await page.getByText("Sentence 1.", { exact: true }).scrollIntoViewIfNeeded();
    await page.getByRole("button", { name: "Latest" }).waitFor();
    expect(await edges("#scroller")).toEqual(await edges("#main"));
    expect(await edges("#main > header")).toEqual(head);
    await shot(page, "scrolled-up");
    await page.getByRole("button", { name: "Latest" }).click();
    await page.getByRole("button", { name: "Latest" }).waitFor({ state: "hidden" });

    // A box that grows hides nothing of what was read.
    const below = () =>
      page.evaluate(
        "(({ scrollHeight: all, scrollTop, clientHeight }) => all - scrollTop - clientHeight)(scroller)",
      );
    await expect.poll(below).toBeLessThan(2);
    await page.getByLabel("Message to Heddle").fill("one\ntwo\nthree\nfour\nfive");
    await expect.poll(below).toBeLessThan(2);
    expect(await page.getByRole("button", { name: "Latest" }).isVisible()).toBe(false);
    opened.expectInnocent();
  });

  test("a stop: by the button of the message, by the button of the box, and by Esc", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const { thread, ref } = await opened.asks("Sleep for ten minutes");
    await console.surface.mark(ref, "taken");
    const markdown = "```sh\nsleep 600\n```";
    const progress = { kind: "progress" as const, stoppable: true, markdown };
    const [shown] = await console.surface.post(thread, progress, "progress");
    if (!shown) throw new Error("nothing was posted");

    console.intake.result = () => ({ kind: "refused", reply: "Only Ada may stop this." });
    await article(page, "progress").getByRole("button", { name: "Stop" }).click();
    await page.getByRole("alert").getByText("Only Ada may stop this.").waitFor();
    await page.locator("#text:focus").waitFor();
    const late = Promise.withResolvers<void>();
    console.intake.result = () => late.promise.then(() => ({ kind: "refused", reply: "Nor may Bob." }));
    await page.locator("#composer").getByRole("button", { name: "Stop" }).click();
    await opened.events(3);

    // What was decided late about an earlier press undoes nothing.
    console.intake.result = () => ({ kind: "stopping", thread: "x" });
    await page.getByLabel("Message to Heddle").press("Escape");
    const stop = await opened.events(4);
    expect(stop).toMatchObject({ kind: "stop", target: { thread } });
    late.resolve();
    await page.getByRole("alert").getByText("Nor may Bob.").waitFor();
    await article(page, "progress").getByRole("button", { name: "Stopping…" }).waitFor();

    // Whoever reads with the keyboard is not thrown out of a text that stays as it was.
    await article(page, "progress").locator("pre").focus();
    await console.surface.edit(shown, { kind: "progress", markdown });
    await console.surface.post(
      thread,
      { kind: "receipt", markdown: "Stopped. 2 processes ended, 0 left." },
      "receipt",
    );
    await console.surface.mark(ref, "stopped");
    await article(page, "receipt").getByText("0 left").waitFor();
    await article(page, "person").getByText("Stopped").waitFor();
    expect(await page.getByRole("button", { name: /Stop/ }).count()).toBe(0);
    expect(await page.evaluate("document.activeElement.textContent")).toBe("sleep 600");
    opened.expectInnocent();
  });

  test("a button under a message: pressed, answered with a sentence, refused, taken away, and left the focus by an edit", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const { thread } = await opened.asks("Sort the archive");
    const actions = [
      { id: "continue:t1", label: "Continue", style: "primary" as const },
      { id: "deny:t1", label: "No", style: "danger" as const, asksFor: "Why not?" },
    ];
    const message = { kind: "answer" as const, markdown: "Paused at the limit of 50 steps." };
    const [shown] = await console.surface.post(thread, { ...message, actions }, "answer");
    if (!shown) throw new Error("nothing was posted");

    const question = page.getByRole("dialog", { name: "Why not?" });
    await article(page, "answer").getByRole("button", { name: "No" }).click();
    await question.getByRole("button", { name: "Cancel" }).click();
    await article(page, "answer").getByRole("button", { name: "No" }).click();
    await question.getByLabel("Why not?").fill("too dear");
    await page.keyboard.press("Enter");
    expect(await opened.events(2)).toMatchObject({ kind: "action", action: "deny:t1", text: "too dear" });

    console.intake.result = () => ({ kind: "ignored", why: "the work has gone on since" });
    await article(page, "answer").getByRole("button", { name: "Continue" }).click();
    await page.getByRole("alert").getByText("Nothing happened: the work has gone on since.").waitFor();
    expect(await opened.events(3)).toMatchObject({ kind: "action", action: "continue:t1", ref: shown });

    await console.surface.edit(shown, message);
    await article(page, "answer").locator(".actions button").first().waitFor({ state: "detached" });

    const progress = { kind: "progress" as const, stoppable: true, markdown: "count 0" };
    const [counting] = await console.surface.post(thread, progress, "progress");
    if (!counting) throw new Error("nothing was posted");
    await article(page, "progress").getByRole("button", { name: "Stop" }).focus();
    await console.surface.edit(counting, { ...progress, markdown: "count 1" });
    await article(page, "progress").getByText("count 1").waitFor();
    await page.keyboard.press("Enter");
    expect(await opened.events(4)).toMatchObject({ kind: "stop" });
    opened.expectInnocent();
  });

  test("what a button asks for stays in its dialog until it is taken", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const { thread } = await opened.asks("Sort the archive");
    const deny = { id: "deny:t1", label: "No", style: "danger" as const, asksFor: "Why not?" };
    await console.surface.post(thread, { kind: "answer", markdown: "May I?", actions: [deny] }, "answer");
    const question = page.getByRole("dialog", { name: "Why not?" });
    await article(page, "answer").getByRole("button", { name: "No" }).click();
    await question.getByLabel("Why not?").fill("too dear");
    console.intake.result = () => Promise.reject(new Error("Redis is away"));
    await page.keyboard.press("Enter");
    await question.getByRole("alert").getByText("Try again").waitFor();
    console.intake.result = () => ({ kind: "acted", thread: "x" });
    await page.keyboard.press("Enter");
    await question.waitFor({ state: "hidden" });
    expect(await opened.events(3)).toMatchObject({ kind: "action", action: "deny:t1", text: "too dear" });
  });

  test("nothing that is written becomes part of the page", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const attack = [
      "<img src=x onerror=alert(1)><script>alert(1)</script>",
      '<iframe srcdoc="<script>alert(1)</script>"></iframe><svg onload=alert(1)>',
      "[click](javascript:alert(1)) ![x](https://evil.example/pixel.png)",
      "<style>body{display:none}</style>",
      "```html\n</code></pre><script>alert(1)</script>\n```",
    ].join("\n\n");
    await page.getByLabel("Message to Heddle").fill(attack);
    await page.getByRole("button", { name: "Send" }).click();
    const { thread } = await opened.said();
    await console.surface.post(thread, { kind: "answer", markdown: attack, footer: attack }, "answer");
    await console.surface.upload(
      thread,
      { name: '"><script>alert(1)</script>', data: Buffer.from("x") },
      "upload",
    );
    console.workspace.set('<img src=x onerror="alert(1)">', "x");
    console.workspace.set("drawing.svg", `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`);
    console.workspace.set("page.html", "<script>alert(1)</script>".repeat(20_000));
    console.workspace.set("binary.png", "\0\0");
    await article(page, "file").waitFor();
    await page.getByRole("button", { name: "Refresh" }).click();
    await page.locator("#file-list a").first().waitFor();
    for (const [name, shown] of [
      ["page.html", "300,000 more characters not shown"],
      ["binary.png", "Not a text file"],
    ] as const) {
      await page.getByRole("button", { name }).click();
      await page.locator("#viewer-content").getByText(shown).waitFor();
      expect(await page.locator("#viewer-content :is(svg, script, img)").count()).toBe(0);
      await page.keyboard.press("Escape");
    }

    await page.getByRole("button", { name: "drawing.svg" }).click();
    await page.locator("#viewer-content img").waitFor();
    await page.getByRole("button", { name: "Source" }).click();
    await page.locator("#viewer-content").getByText("onload=").waitFor();
    expect(await page.locator("#viewer-content :is(svg, script, img)").count()).toBe(0);
    await page.keyboard.press("Escape");

    expect(
      await page
        .locator("#main script, iframe, #main img, #main style, #files img, [onerror], [onload]")
        .count(),
    ).toBe(0);
    const links = await page
      .locator("#log a")
      .evaluateAll((all) => all.map((link) => link.getAttribute("href")));
    expect(
      links.filter((href) => !/^(https:\/\/evil\.example\/|\/api\/v1\/threads\/)/.test(href ?? "")),
    ).toEqual([]);
    const link = article(page, "answer").getByRole("link").first();
    expect(await link.getAttribute("rel")).toContain("noopener");
    expect(await link.textContent()).toContain("(evil.example)");
    opened.expectInnocent();
  });

  test("a message that could not be sent stays in the box, and is said once when it is sent again", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    console.intake.result = () => Promise.reject(new Error("Redis is away"));
    const box = page.getByLabel("Message to Heddle");
    await box.fill("hello");
    await box.press("Enter");
    await page.getByRole("alert").getByText("Try again").waitFor();
    expect(await box.inputValue()).toBe("hello");

    console.intake.result = (event) => ({ kind: "accepted", thread: event.kind, position: 1 });
    await box.press("Shift+Enter");
    await box.press("Backspace");
    await box.press("Enter");
    await article(page, "person").waitFor();
    expect(await article(page, "person").count()).toBe(1);
    expect(await box.inputValue()).toBe("");
  });

  test("an error of a proxy in front of it is told as a sentence, with what was written kept", async () => {
    await using opened = await openConsolePage();
    const { page } = opened;
    const sentences: Record<number, string> = {
      408: "It took too long to send.",
      413: "It is too large for the proxy in front of Heddle.",
      418: "Heddle answered with status 418.",
      502: "Heddle is not responding. Is it running?",
      504: "Heddle is not responding. Is it running?",
    };
    const box = page.getByLabel("Message to Heddle");
    await box.fill("hello");
    for (const [status, sentence] of Object.entries(sentences)) {
      const html = { status: Number(status), contentType: "text/html", body: "<html>An error</html>" };
      await page.route("**/messages", (route) => route.fulfill(html));
      const send = page.getByRole("button", { name: "Send" });
      // Two of them have the same sentence: what is on its way would be taken by the next route.
      await Promise.all([
        page.waitForResponse((response) => response.status() === html.status),
        send.click(),
      ]);
      await expect.poll(() => page.locator("#toast").textContent()).toBe(sentence);
      await page.unroute("**/messages");
    }
    expect(await box.inputValue()).toBe("hello");
    await page.getByRole("button", { name: "Send" }).click();
    await article(page, "person").getByText("hello").waitFor();
  });

  test("a listing of the workspace that a stop has ended is retried before it is shown as failed", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    await opened.asks("Write it down");
    console.workspace.set("notes.md", "x");
    await page.getByRole("button", { name: "Refresh" }).click();
    await page.getByRole("button", { name: "notes.md" }).waitFor();
    const refusal = { status: 409, json: { error: "The operation was stopped." } };
    await page.route("**/files", (route) => route.fulfill(refusal), { times: 1 });
    const refresh = page.getByRole("button", { name: "Refresh" });
    await Promise.all([page.waitForResponse((response) => response.status() === 409), refresh.click()]);
    console.workspace.set("later.md", "x");
    await page.getByRole("button", { name: "later.md" }).waitFor();

    await page.route("**/files", (route) => route.fulfill(refusal));
    await refresh.click();
    await page.getByText("The operation was stopped.").waitFor();
  });

  test("a first listing that an early stop has ended is retried as well", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const refusal = { status: 409, json: { error: "The operation was stopped." } };
    await page.route("**/files", (route) => route.fulfill(refusal), { times: 1 });
    console.workspace.set("notes.md", "x");
    await Promise.all([
      page.waitForResponse((response) => response.status() === 409),
      opened.asks("Write it down"),
    ]);
    expect(await page.getByText("The operation was stopped.").count()).toBe(0);
    await page.getByRole("button", { name: "notes.md" }).waitFor();
  });

  test("of two listings of the workspace the later one counts, whichever is answered first", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    await opened.asks("Write it down");
    await page.getByText("No files yet").waitFor();
    const [held, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const hold = async (route: Route) => {
      const response = await route.fetch();
      held.resolve();
      await late.promise;
      await route.fulfill({ response });
    };
    await page.route("**/files", hold, { times: 1 });
    const refresh = page.getByRole("button", { name: "Refresh" });
    await refresh.click();
    await held.promise;
    console.workspace.set("later.md", "x");
    await refresh.click();
    await page.getByRole("button", { name: "later.md" }).waitFor();
    await page.evaluate(`{
      window.lists = [];
      const list = document.getElementById("file-list");
      new MutationObserver(() => lists.push(list.textContent)).observe(list, { childList: true });
    }`);
    late.resolve();
    await page.unrouteAll({ behavior: "wait" });
    console.workspace.set("last.md", "x");
    await refresh.click();
    await page.getByRole("button", { name: "last.md" }).waitFor();
    expect(await page.evaluate("lists.filter((text) => !text.includes('later.md'))")).toEqual([]);
  });

  test("a text that is too long for a message goes along as a file, to its last character", async () => {
    await using opened = await openConsolePage({
      browser: { permissions: ["clipboard-read", "clipboard-write"] },
    });
    const { page, console } = opened;
    const box = page.getByLabel("Message to Heddle");
    const long = `${"0123456789".repeat(10_001)} the end`;
    const paste = async (text: string) => {
      await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`);
      await box.press("Control+V");
    };
    await box.fill("Sum it up: ");
    await paste("short");
    await paste(long);
    const attached = page.locator("#attachments .title");
    await expect.poll(() => attached.allTextContents()).toEqual(["pasted.txt"]);
    await page.getByText("these 100,018 go along as pasted.txt").waitFor();
    expect(await box.inputValue()).toBe("Sum it up: short");
    await paste(long);
    await expect.poll(() => attached.allTextContents()).toEqual(["pasted.txt", "pasted-2.txt"]);
    // However it came there: as by a draft, or by a message that is edited behind another one.
    await box.fill(long);
    await box.press("Enter");
    await page.getByText("these 100,018 go along as message.txt").waitFor();
    expect(await box.inputValue()).toBe("");
    expect(console.intake.events).toEqual([]);
    await opened.asks("Sum it up");
    expect(await opened.said()).toMatchObject({
      text: "Sum it up",
      attachments: ["pasted.txt", "pasted-2.txt", "message.txt"].map((name) => ({
        name,
        bytes: long.length,
      })),
    });
    await article(page, "person").getByText("message.txt").waitFor();
    opened.expectInnocent();
  });

  test("files go with a message: chosen, pasted and dropped; too large ones are refused in words", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const picture = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    const folder = await mkdtemp(join(tmpdir(), "heddle-files-"));
    const [chosen, large] = [join(folder, "figures.csv"), join(folder, "film.mov")];
    await writeFile(chosen, "1,2");
    await writeFile(large, "");
    await truncate(large, 16 * 1024 * 1024 + 1);
    const [chooser] = await Promise.all([
      page.waitForEvent("filechooser"),
      page.getByRole("button", { name: "Attach files" }).click(),
    ]);
    await chooser.setFiles([chosen, large]);
    await page.getByRole("alert").getByText("film.mov is larger than 16 MiB").waitFor();
    await page.locator("#text:focus").waitFor();
    // What a browser does for files on the clipboard, or let go over the page.
    const hand = (event: string, name: string) =>
      page.evaluate(`{
        const data = new DataTransfer();
        data.items.add(new File([Uint8Array.fromBase64("${picture.toString("base64")}")], "${name}", { type: "image/png" }));
        const about = { bubbles: true, cancelable: true, clipboardData: data, dataTransfer: data };
        document.getElementById("text").dispatchEvent(new ${event === "paste" ? "ClipboardEvent" : "DragEvent"}("${event}", about));
      }`);
    await hand("paste", "pasted.png");
    await hand("dragover", "x");
    await hand("drop", "dropped.png");
    await hand("drop", "mistaken.png");
    await page.getByRole("button", { name: "Remove mistaken.png" }).click();
    expect(await page.locator("#attachments .title").allTextContents()).toEqual([
      ...["figures.csv", "pasted.png", "dropped.png"],
    ]);

    console.intake.result = () => Promise.reject(new Error("Redis is away"));
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("alert").getByText("Try again").waitFor();
    console.intake.result = () => ({ kind: "accepted", thread: "x", position: 1 });
    await page.getByRole("button", { name: "Send" }).click();
    await article(page, "person").getByText("dropped.png").waitFor();
    expect(await page.locator("#attachments li").count()).toBe(0);
    // Pictures are shown with the message, as the browser has drawn them anew.
    const shown = "[...document.querySelectorAll('article.person img.thumbnail')]";
    await expect.poll(() => page.evaluate(`${shown}.map((one) => one.naturalWidth)`)).toEqual([1, 1]);
    await shot(page, "sent-pictures");
    const [first, second] = [await opened.events(1), await opened.events(2)];
    expect(second).toMatchObject({
      ...{ text: "", ref: "ref" in first && first.ref },
      attachments: [
        { name: "figures.csv", mediaType: "text/csv", bytes: 3 },
        { name: "pasted.png", mediaType: "image/png", bytes: picture.length },
        { name: "dropped.png" },
      ],
    });
    await rm(folder, { recursive: true });
    // Those that had been sent were not sent again.
    expect(second).toMatchObject({ attachments: "attachments" in first && first.attachments });
  });

  test("a file that was changed or removed after it was attached is named, and goes when it is attached again", async () => {
    await using opened = await openConsolePage();
    const { page } = opened;
    const folder = await mkdtemp(join(tmpdir(), "heddle-files-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const [notes, gone] = [join(folder, "notes.txt"), join(folder, "gone.txt")];
    await writeFile(notes, "one");
    await writeFile(gone, "two");
    // Browsers compare whole seconds.
    await utimes(notes, 1_000_000_000, 1_000_000_000);
    await page.locator("#pick").setInputFiles([notes, gone]);
    await page.getByLabel("Message to Heddle").fill("Read my notes");
    await writeFile(notes, "one, corrected");
    await rm(gone);
    const send = page.getByRole("button", { name: "Send" });
    const alert = page.getByRole("alert");
    await send.click();
    await alert
      .getByText("notes.txt was changed or removed since it was attached: attach it again.")
      .waitFor();
    await page.getByRole("button", { name: "Remove notes.txt" }).click();
    await page.locator("#pick").setInputFiles(notes);
    await send.click();
    await alert.getByText("gone.txt was changed or removed").waitFor();
    await page.getByRole("button", { name: "Remove gone.txt" }).click();
    await send.click();
    expect(await opened.said()).toMatchObject({
      ...{ text: "Read my notes", attachments: [{ name: "notes.txt", mediaType: "text/plain", bytes: 14 }] },
    });
  });

  test("files that were attached before a reload are named as gone, until they are attached again or the message is sent", async () => {
    await using opened = await openConsolePage();
    const { page } = opened;
    const file = (name: string) => ({ name, mimeType: "text/plain", buffer: Buffer.from("x") });
    const lines = page.locator("#attachments li");
    await page.getByLabel("Message to Heddle").fill("Read these");
    await page.locator("#pick").setInputFiles([file("a.txt"), file("b.txt"), file("c.txt")]);
    await page.reload();
    const gone = (name: string) => `${name}not kept: attach it again`;
    await expect.poll(() => lines.allTextContents()).toEqual(["a.txt", "b.txt", "c.txt"].map(gone));
    await shot(page, "lost-files");
    await page.getByRole("button", { name: "Remove a.txt" }).click();
    await page.locator("#pick").setInputFiles([file("b.txt")]);
    await expect.poll(() => lines.allTextContents()).toEqual(["b.txt1 B", gone("c.txt")]);
    await page.reload();
    await expect.poll(() => lines.allTextContents()).toEqual([gone("b.txt"), gone("c.txt")]);
    await page.getByRole("button", { name: "Send" }).click();
    expect(await opened.said()).toMatchObject({ text: "Read these", attachments: [] });
    await expect.poll(() => lines.count()).toBe(0);
    await page.reload();
    await page.getByLabel("Message to Heddle").waitFor();
    expect(await lines.count()).toBe(0);
    opened.expectInnocent();
  });

  test("the page says what should be known before trusting it with work", async () => {
    await using opened = await openConsolePage({
      async prepare(console) {
        // Threads of other tests.
        await console.redis.client().flushall();
        const problems = [{ what: "bwrap is not on PATH.", fix: "Install bubblewrap." }];
        Object.assign(console.status, {
          demo: true,
          redis: "embedded",
          sandbox: { ok: false, summary: "none", problems },
        });
      },
    });
    const { page } = opened;
    await page.getByText("This is the demo model.").waitFor();
    await page.getByText("Your threads will be listed here.").waitFor();
    await opened.asks("Look around");
    // In a thread the demo model says it itself; what may cost work stands above each.
    await page.getByText("This is the demo model.").waitFor({ state: "hidden" });
    await page.getByText("Redis is embedded").waitFor();
    await page.getByText("How to fix it").click();
    await page.getByText("Install bubblewrap.").waitFor();
    opened.expectInnocent();
  });

  test("while Redis does not answer, the page says so, and what was asked for is done afterwards", async (context) => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    context.skip(console.redis.server.kind !== "system", "the embedded Redis cannot be frozen alone");
    const { thread } = await opened.asks("Look around");
    const pid = Number(/process_id:(\d+)/.exec(await console.redis.client().info("server"))?.[1]);
    process.kill(pid, "SIGSTOP");
    onTestFinished(() => void process.kill(pid, "SIGCONT"));
    await page.getByLabel("Message to Heddle").fill("Are you there?");
    await page.keyboard.press("Enter");
    await page.getByRole("status").getByText("Redis does not answer within 0.7 s").waitFor();
    process.kill(pid, "SIGCONT");
    expect(await opened.events(2)).toMatchObject({ kind: "message", thread, text: "Are you there?" });
    await page.getByText("Redis does not answer").waitFor({ state: "detached" });
  });

  test("the page goes on by itself after the console was restarted", async () => {
    const port = await freePort();
    await using opened = await openConsolePage({ port });
    const { page, console } = opened;
    const { thread } = await opened.asks("hello");
    await article(page, "person").waitFor();
    await console[Symbol.asyncDispose]();
    await page.getByText("Reconnecting…").waitFor();
    await page.getByLabel("Message to Heddle").fill("Are you there?");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("Heddle is not responding.").waitFor();
    await console.surface.post(thread, { kind: "answer", markdown: "written meanwhile" }, "answer");
    await using restarted = await startConsole({ redis: console.redis, port });
    await article(page, "answer").getByText("written meanwhile").waitFor();
    expect(page.url()).toContain(restarted.url);
    await page.getByText("Reconnecting…").waitFor({ state: "hidden" });
    await expect.poll(() => page.locator("#toast").textContent()).toBe("");
  });

  test("a console with a token asks for it once, and takes it out of the address at once", async () => {
    const token = "correct-horse-battery";
    await using opened = await openConsolePage({ token });
    const { page, console } = opened;
    await page.getByLabel("Token").fill("wrong-token");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("Wrong token. Look for HEDDLE_CONSOLE_TOKEN").waitFor();
    // Somebody's own: what the operator has is nothing for them.
    await page.getByLabel("Token").fill("heddle_revoked");
    await page.keyboard.press("Enter");
    await page
      .getByRole("alert")
      .getByText("This token is wrong, revoked or expired: `heddle tokens create` makes another one.")
      .waitFor();
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
    await using opened = await openConsolePage({ browser: phone });
    const { page, console } = opened;
    await page.getByLabel("Message to Heddle").fill("Show a wide table");
    await page.getByRole("button", { name: "Send" }).tap();
    const { thread } = await opened.said();
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
    await page.getByRole("heading", { name: "Start a thread" }).waitFor();
    expect(console.intake.events).toHaveLength(1);
    opened.expectInnocent();
  });
});
