/** The operator's pages of the console, as a person uses them. */
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { noUsage } from "../../src/agent/model.ts";
import type { UsageReport } from "../../src/operations/reports.ts";
import { createLivePublisher } from "../../src/queue/outbox/live-events.ts";
import { channels, keys } from "../../src/queue/redis/keys.ts";
import { startPresence } from "../../src/queue/turns/worker-presence.ts";
import { openAuditLog } from "../../src/telemetry/audit/log.ts";
import { call as request } from "../adapters/console/requests.ts";
import { begin, call, calling, end, resultOf, write } from "../adapters/console/sessions.ts";
import { shot } from "./chromium.ts";
import { article, openConsolePage, useConsolePages, onError } from "./console-page.ts";
import {
  budgets,
  configuration,
  fillWorkspace,
  runSampleThread,
  triggerBudgets,
  worker,
} from "./sample-threads.ts";
import { brokenWords, overflow, poorContrast, walk } from "./visibility.ts";

const dark = { colorScheme: "dark" as const };
/** Each filter of the audit page alone, and several together, over the entries of the test that calls it. */
async function expectAuditFilters(page: Page): Promise<void> {
  const events = () => page.locator(".audit tbody td strong").allTextContents();
  const choose = (label: string, option: string) =>
    page.getByRole("combobox", { name: label }).selectOption(option);
  await page.getByText("More filters").click();
  const clear = async () => {
    await page.getByRole("button", { name: "Clear filters" }).click();
    await expect.poll(events).toHaveLength(5);
  };
  await choose("Channel", "ops");
  await expect.poll(events).toEqual(["turn-ended", "tool-ended", "tool-began", "asked"]);
  await choose("Event", "turn-ended");
  await expect.poll(events).toEqual(["turn-ended"]);
  await clear();
  await choose("State", "ok");
  await expect.poll(events).toEqual(["tool-ended"]);
  await clear();
  await choose("Model", "anthropic/claude");
  await expect.poll(events).toEqual(["turn-ended"]);
  await clear();
  await page.getByLabel("Cost at least, dollars").fill("1");
  await expect.poll(events).toEqual(["turn-ended"]);
  await page.getByText("cost: 2").waitFor();
  await clear();
  await page.getByLabel("To", { exact: true }).fill("2026-01-01");
  await page.getByText("No entry is like that.").waitFor();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await expect.poll(events).toHaveLength(5);
  await page.getByText("More filters").click();
}

describe("the console's pages for operators", () => {
  useConsolePages();

  let woven: { running: string } | undefined;
  const opened = async (browser = {}) =>
    openConsolePage({
      ...{ budgets, triggerBudgets, configuration, browser },
      async prepare(console) {
        woven ??= await runSampleThread(console);
      },
    });

  test("all threads: live, searched, stopped and gone on with", async () => {
    await using at = await opened();
    const { page, console } = at;
    await page.getByRole("link", { name: "All threads" }).click();
    const row = (title: string) => page.getByRole("listitem").filter({ hasText: title });
    await row("Which invoices").getByText("Answered").waitFor();
    expect(await row("Draft the minutes").textContent()).toContain("Waiting, no. 1");
    await shot(page, "threads");

    await row("deploy of Friday").getByRole("button", { name: "Stop" }).click();
    expect(await at.events(1)).toMatchObject({ kind: "stop", target: { thread: { thread: "173.4" } } });
    await row("handbook").getByRole("button", { name: "Continue" }).click();
    expect(await at.events(2)).toMatchObject({ kind: "action", action: "continue:t1" });

    await page.getByRole("searchbox").fill("ops backup");
    await row("Which invoices").waitFor({ state: "detached" });
    expect(await page.locator("#report li").count()).toBe(1);
    await page.getByRole("combobox", { name: "State" }).selectOption("running");
    await page.getByText("No matching threads.").waitFor();
    await page.getByRole("searchbox").fill("runner cached");
    await page.getByText("Nobody said that").waitFor();
    await page.getByText("More filters").click();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByRole("searchbox").fill("parts compare durations");
    await page.getByText("Nobody said that").waitFor();
    await page.getByRole("searchbox").fill("compare durations");
    const said = page.locator(".said li");
    await said.getByText("I compare the **durations**").waitFor();
    await page
      .getByText(/^Said in 1 thread, \d threads? looked through, all but direct messages\.$/)
      .waitFor();
    await shot(page, "search");
    await page.getByRole("button", { name: "Clear filters" }).click();
    expect(await page.getByRole("combobox", { name: "Platform" }).locator("option").allInnerTexts()).toEqual(
      expect.arrayContaining(["Slack", "Discord"]),
    );
    await page.getByRole("combobox", { name: "Person" }).selectOption("Ada");
    await expect.poll(() => page.locator(".lines li").count()).toBe(1);
    await page.getByText("1 of 7 · 1 running").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();

    const redis = console.redis.client();
    const thread = "discord:88:4411:9100";
    await write(redis, thread, "Begun while somebody looks on");
    await begin(redis, thread, "z");
    createLivePublisher(redis, thread, onError)({ type: "turn-start" });
    await row("Begun while somebody looks on").getByText("Running").waitFor();
    at.expectInnocent();
  });

  test("a timeline: read from its end, unfolded, followed live, without a way to write", async () => {
    await using at = await opened();
    const { page, console } = at;
    await page.getByRole("link", { name: "All threads" }).click();
    await page.getByRole("link", { name: /deploy of Friday/ }).click();
    await page.getByText("Step 92").waitFor();
    expect(await page.getByLabel("Message to Heddle").isVisible()).toBe(false);
    await page.getByText("91,000 → 64,000 tokens").waitFor();
    const grep = page.locator(".tool-call").filter({ hasText: "grep" });
    await grep.locator("summary").click();
    await grep.getByText("duration=380").waitFor();
    expect(await grep.getByText("done · 420 ms").isVisible()).toBe(true);
    const task = page.locator(".timeline .entry > .tool-call").filter({ hasText: "Read the logs" });
    await task.locator("summary").first().click();
    await task.getByText("4 calls by the sub-agent, last 2 shown").waitFor();
    await task.locator(".tool-call").filter({ hasText: "cache.log" }).locator("summary").click();
    await task.getByText("no file").waitFor();
    await grep.scrollIntoViewIfNeeded();
    await shot(page, "timeline");

    expect(await page.getByText("Step 1", { exact: true }).count()).toBe(0);
    await page.getByRole("button", { name: "Go to the start" }).click();
    await page.getByText("Step 1", { exact: true }).waitFor();
    await page.getByRole("heading", { name: "Turn b31f" }).waitFor();
    await page.getByRole("button", { name: "Go to the end" }).click();
    await page.getByText("Step 92", { exact: true }).waitFor();

    const thread = woven?.running ?? "";
    const redis = console.redis.client();
    // What is only said is for whoever listens at that moment.
    const listeners = async () => (await redis.pubsub("NUMSUB", channels.live(thread)))[1];
    await expect.poll(listeners).toBe(1);
    const retry = { type: "retry", step: 92, attempt: 2, delayMs: 900, reason: "The service is overloaded." };
    createLivePublisher(redis, thread, onError)(retry);
    await page.getByText("The service is overloaded. Trying again in 0.9 s").waitFor();
    const lease = await begin(redis, thread, "b31f");
    await lease.append([resultOf("c3", "bash", "chart.png written")]);
    createLivePublisher(redis, thread, onError)({ type: "tool-end" });
    await page.locator(".tool-call").filter({ hasText: "chart.py" }).getByText("done").waitFor();
    at.expectInnocent();
  });

  test("a thread is renamed, archived and deleted above its timeline, after a word that nobody writes by accident", async () => {
    await using at = await openConsolePage();
    const { page, console } = at;
    const redis = console.redis.client();
    const id = "slack:T1:C9OPS:175.9";
    await write(redis, id, "Sort the attachments", "Lin");
    const answered = { kind: "answered", text: "Done.", steps: 0, usage: noUsage } as const;
    await end(await begin(redis, id), answered);
    await page.clock.install();
    await page.goto("about:blank");
    await page.goto(`${console.url}/#/s/${encodeURIComponent(id)}`);
    // An action closes the menu when it has ended: pressed before that, the same press would close it.
    const openMenu = () => page.locator("details.manage:not([open]) > summary").click();
    await openMenu();
    await page.getByRole("button", { name: "Rename…" }).click();
    await page.getByRole("dialog").getByRole("textbox").fill("Old attachments");
    await page.getByRole("button", { name: "Rename", exact: true }).click();
    await page.getByRole("heading", { name: "Old attachments" }).waitFor();
    const renamed = page.getByRole("status").getByText("The thread is renamed.");
    await renamed.waitFor();
    await shot(page, "manage");
    expect(await poorContrast(page)).toEqual({});
    await page.clock.fastForward(10_000);
    await renamed.waitFor({ state: "detached" });
    await openMenu();
    await page.getByRole("button", { name: "Archive", exact: true }).click();
    await page.getByText("The thread is archived").waitFor();
    await openMenu();
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("dialog").getByRole("textbox").fill("no");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("Nothing was deleted.").waitFor();
    await openMenu();
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("dialog").getByRole("textbox").fill("delete");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("heading", { name: "All threads" }).waitFor();
    await page.getByRole("status").getByText("The thread is deleted.").waitFor();
    await expect.poll(() => redis.exists(keys.log(id))).toBe(0);
    expect(console.audited.map(({ action }) => action)).toEqual([
      ...["thread-renamed", "thread-archived", "thread-deleted"],
    ]);
    at.expectInnocent();
  });

  test("a thread's new name stays in its dialog until it is taken", async () => {
    await using at = await openConsolePage();
    const { page, console } = at;
    const id = "slack:T1:C9OPS:175.8";
    await write(console.redis.client(), id, "Sort the attachments", "Lin");
    await page.goto(`${console.url}/#/s/${encodeURIComponent(id)}`);
    await page.locator("details.manage > summary").click();
    await page.getByRole("button", { name: "Rename…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox").fill("x".repeat(101));
    await page.keyboard.press("Enter");
    await dialog.getByRole("alert").getByText("at most 100 characters, and this one has 101").waitFor();
    await dialog.getByRole("textbox").fill("Old attachments");
    const failing = { status: 503, json: { error: "Redis is away. Try again." } };
    await page.route("**/title", (route) => route.fulfill(failing), { times: 1 });
    await page.keyboard.press("Enter");
    await dialog.getByRole("alert").getByText("Redis is away").waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Old attachments" }).waitFor();
    await dialog.waitFor({ state: "hidden" });
  });

  test("a thread that is deleted elsewhere leaves the pages that show it, which say so", async () => {
    await using at = await openConsolePage();
    const { page, console } = at;
    const redis = console.redis.client();
    const { thread } = await at.asks("The code is 7341");
    const id = `local:console:main:${thread.thread}`;
    await write(redis, id, "The code is 7341", "Lin");
    await end(await begin(redis, id), { kind: "answered", text: "Noted.", steps: 0, usage: noUsage });
    await console.surface.post(thread, { kind: "answer", markdown: "7341, noted." }, "answer");
    await article(page, "answer").getByText("7341").waitFor();
    const timeline = await page.context().newPage();
    await timeline.goto(`${console.url}/#/s/${encodeURIComponent(id)}`);
    await timeline.locator(".timeline").getByText("The code is 7341").waitFor();

    const path = `/api/v1/sessions/${encodeURIComponent(id)}/delete`;
    expect((await request(console.url, path, { method: "POST", json: {} })).status).toBe(200);
    for (const one of [page, timeline]) {
      await one.getByRole("heading", { name: "No such thread" }).waitFor();
      await expect.poll(() => one.locator("main").innerText()).not.toContain("7341");
    }
    await page.getByRole("alert").getByText("There is no thread at this address").waitFor();
    await timeline.getByText("This thread is gone: it was deleted").waitFor();
    // What is written there now is the first of a new thread.
    await page.bringToFront();
    await page.getByLabel("Message to Heddle").fill("Something else");
    await page.keyboard.press("Enter");
    await article(page, "person").getByText("Something else").waitFor();
    expect(await page.locator("article").count()).toBe(1);
    at.expectInnocent();
  });

  test("a call whose result came with a newer page of records does not run again with its start", async () => {
    await using at = await openConsolePage();
    const shown = await at.page.evaluate(`import("/operations/timeline/tool-call.js").then(({ toolCall }) => {
      const call = toolCall("bash", { text: "", omitted: 0 });
      call.showResult({ status: "ok", text: { text: "4", omitted: 0 }, tookMs: 56 });
      call.showStart();
      return call.element.querySelector("summary").textContent;
    })`);
    expect(shown).toBe("bashdone · 56 ms");
    at.expectInnocent();
  });

  test("usage: charts with tables behind them, and what is left today", async () => {
    await using at = await opened(dark);
    const { page } = at;
    await page.getByRole("link", { name: "Usage" }).click();
    await page.getByRole("img", { name: /Cost by day/ }).waitFor();
    await page.getByText("Everyone").waitFor();
    await page.getByText("Trigger alerts").waitFor();
    await page.getByText(/Trigger heard in ops/).waitFor();
    await page.getByRole("img", { name: /Cost by trigger/ }).waitFor();
    await shot(page, "usage-dark");
    await page.getByText("View as table").first().click();
    expect(await page.getByRole("table").first().getByRole("row").count()).toBe(15);
    await page.getByRole("combobox", { name: "Measure" }).selectOption("Tokens");
    await page.getByRole("heading", { name: "Tokens by day" }).waitFor();
    await page.getByRole("combobox", { name: "Period" }).selectOption("7 days");
    await page.getByText("in 7 days").waitFor();
    // Days as people write them.
    const labels = await page.locator("svg text[text-anchor=middle]").allTextContents();
    expect(labels.filter((label) => !/^[A-Z][a-z]+ \d+$/.test(label))).toEqual([]);
    at.expectInnocent();
  });

  test("usage without a cache has a dash where it was 0 %, and little is said not to be nothing", async () => {
    await using at = await opened();
    const { page } = at;
    let cacheRead = 0;
    await page.route("**/api/v1/usage**", async (route) => {
      const answer = await route.fetch();
      const report = (await answer.json()) as UsageReport;
      const days = report.days.map((day) => ({ ...day, cacheRead }));
      await route.fulfill({ json: { ...report, days } });
    });
    const fromCache = page.locator(".tiles > div").filter({ hasText: "From cache" }).locator("dd");
    await page.getByRole("link", { name: "Usage" }).click();
    await expect.poll(() => fromCache.allTextContents()).toEqual(["–"]);
    cacheRead = 1;
    await page.getByRole("combobox", { name: "Period" }).selectOption("7 days");
    await expect.poll(() => fromCache.allTextContents()).toEqual(["under 1 %"]);
  });

  test("the system with what to do when no worker is there; the audit log, the newest first, with a way to the thread", async () => {
    await using at = await opened();
    const { page, console } = at;
    await page.getByRole("link", { name: "System" }).click();
    await page.getByText("heddle start --role worker").waitFor();
    const presence = await startPresence({ redis: console.redis.client(), describe: worker, onError });
    await page.getByRole("button", { name: "Refresh" }).click();
    await page.getByText("It did not answer within 10 s").waitFor();
    await page.getByText("Sandbox active").waitFor();
    await page.getByText("csv-report").waitFor();
    await shot(page, "system");
    await page
      .getByRole("main")
      .getByRole("link", { name: /deploy of Friday/ })
      // Among what runs; it is one of the largest journals too.
      .first()
      .click();
    await page.getByText("Step 92").waitFor();
    await presence.close();

    const redis = console.redis.client();
    // Of an earlier try.
    await redis.del(keys.audit, keys.auditHead);
    await page.getByRole("link", { name: "Audit log" }).click();
    await page.getByText("The log is empty.").waitFor();
    const log = openAuditLog(redis, Date.now, (problem) => expect.unreachable(problem));
    const thread = woven?.running ?? "";
    const by = { id: "U1ADA", name: "Ada <b>" };
    await log.append({ what: "asked", thread, message: "173.4", by });
    const about = { thread, turn: "b31f", call: "c1", tool: "bash" };
    await log.append({
      what: "tool-began",
      ...about,
      sha256: "ab".repeat(32),
      arguments: '{"command":"<i>ls</i>"}',
    });
    await log.append({ what: "tool-ended", ...about, status: "ok", ms: 420 });
    const ended = { what: "turn-ended", thread, turn: "b31f", steps: 3, outcome: "answered" } as const;
    await log.append({ ...ended, models: ["anthropic/claude"], cost: 0.4 });
    await log.append({ ...ended, thread: "discord:88:4411:9021", models: ["openai/gpt"], cost: 2 });
    await page.reload();
    await page.getByRole("row").filter({ hasText: "asked" }).getByText("Ada <b>").waitFor();
    expect(await page.getByRole("row").nth(1).textContent()).toContain("models: openai/gpt · cost: 2");
    await expectAuditFilters(page);
    await shot(page, "audit");
    await page.getByRole("searchbox", { name: "Person" }).fill("ada");
    await page.getByRole("row").filter({ hasText: "tool-ended" }).waitFor({ state: "detached" });
    expect(await page.locator(".audit tbody tr").count()).toBe(1);
    await page.getByText("Slack · ops").waitFor();
    await page
      .locator(".audit")
      .getByRole("link", { name: /deploy of Friday/ })
      .click();
    await page.getByText("Step 92").waitFor();
    at.expectInnocent();
  });

  test("the settings in force: what was refused, what differs from the defaults, all of them, and what holds in a channel", async () => {
    await using at = await opened();
    const { page } = at;
    await page.getByRole("link", { name: "System" }).click();
    await page.getByRole("link", { name: "Settings in force" }).click();
    await page.getByText("/etc/heddle/heddle.yaml").waitFor();
    expect(await page.locator("#report [role=alert]").allTextContents()).toEqual([
      expect.stringMatching(/^What the files say now was refused.*agent\.maxStep: unknown key/),
      "Changed, and waiting for a restart: sandbox.",
      expect.stringContaining("model of slack:T1:C9OPS was changed in chat, which does not count"),
    ]);
    const names = () => page.locator(".settings tbody code").allTextContents();
    const changed = ["model", "agent.maxSteps", "access.slack.users", "tools.rules"];
    expect(await names()).toEqual([...changed, "providers.house.headers.X-Team", "verbosity", "tools"]);
    await page.getByRole("heading", { name: "ops · slack:T1:C9OPS" }).waitFor();
    await page.getByLabel("Show defaults too").check();
    expect(await names()).toHaveLength(11);
    const inChannel = page.getByRole("group", { name: /Settings of ops/ }).getByRole("row");
    expect(await inChannel.nth(1).locator("th, td").allTextContents()).toEqual([
      ...["model", "anthropic/claude-opus-4-6", "as everywhere"],
    ]);
    await shot(page, "settings-all");
    await page.getByLabel("Search settings").fill("MINUTES");
    expect(await names()).toEqual(["agent.maxMinutes"]);
    await page.getByLabel("Search settings").fill("nothing of that kind");
    await page.getByText("No setting is like that.").waitFor();
    at.expectInnocent();
  });

  test("by keyboard: every page, the list of keys, lines, and the appearance, which stays", async () => {
    await using at = await opened();
    const { page } = at;
    await page.locator("#text:focus").waitFor();
    await page.keyboard.type("a?");
    expect(await page.getByLabel("Message to Heddle").inputValue()).toBe("a?");
    await page.keyboard.press("Tab");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard" }).getByText("All threads").waitFor();
    await shot(page, "keyboard");
    await page.keyboard.press("Escape");
    await page.keyboard.press("a");
    await page.getByRole("link", { name: /Which invoices/ }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    expect(await page.evaluate("document.activeElement.matches('.lines li:nth-child(2) a')")).toBe(true);
    expect(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")).toBe("solid");
    await page.keyboard.press("Enter");
    await page.locator(".timeline-head").waitFor();
    await page.keyboard.press("u");
    await page.getByRole("img", { name: /Cost by day/ }).waitFor();
    const appearance = page.getByRole("group", { name: "Appearance" });
    await appearance.getByRole("radio", { name: "Light" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.reload();
    await page.getByRole("img", { name: /Cost by day/ }).waitFor();
    expect(await page.evaluate("getComputedStyle(document.documentElement).colorScheme")).toBe("dark");
    expect(await appearance.getByRole("radio", { name: "Dark" }).isChecked()).toBe(true);
    at.expectInnocent();
  });

  test("the appearance is chosen by one press, kept, and never flashes while the page loads", async () => {
    await using at = await opened({ colorScheme: "light" });
    const { page } = at;
    const radio = (name: string) =>
      page.getByRole("group", { name: "Appearance" }).getByRole("radio", { name });
    expect(await radio("System").isChecked()).toBe(true);
    await radio("Dark").click();
    // In each frame that is drawn, the first one included.
    await page.addInitScript(`
      window.backgrounds = new Set();
      const look = () => {
        if (document.body) window.backgrounds.add(getComputedStyle(document.body).backgroundColor);
        requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    `);
    const seen = async () => {
      await page.reload();
      await page.locator("#facts dd").first().waitFor();
      return await page.evaluate("[...window.backgrounds].filter((color) => color !== 'rgba(0, 0, 0, 0)')");
    };
    expect(await seen()).toEqual(["rgb(20, 22, 27)"]);
    await radio("System").click();
    expect(await seen()).toEqual(["rgb(246, 242, 233)"]);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await seen()).toEqual(["rgb(20, 22, 27)"]);
    at.expectInnocent();
  });

  test("every page can be read in light and dark, walked by Tab, and fits on a phone of 360 pixels", async () => {
    await using at = await opened();
    const { page, console } = at;
    await fillWorkspace(console);
    const presence = await startPresence({ redis: console.redis.client(), describe: worker, onError });
    const processes = await startPresence({
      ...{ redis: console.redis.client(), onError, list: "processes" as const },
      describe: () => ({
        host: "heddle-1",
        pid: 7,
        role: "gateway",
        hash: "4be1f09a77c2",
        at: 0,
        restart: [],
      }),
    });
    const pages = [
      { name: "welcome", hash: "#/", text: "Start a thread" },
      { name: "conversation", hash: "#/t/abcdefgh12345678", text: "Both are right" },
      { name: "threads", hash: "#/threads", text: "Which invoices of May are unpaid?" },
      { name: "timeline", hash: `#/s/${encodeURIComponent(woven?.running ?? "")}`, text: "Step 92" },
      { name: "usage", hash: "#/usage", text: "Everyone" },
      { name: "system", hash: "#/system", text: "csv-report" },
      { name: "settings", hash: "#/settings", text: "tools.rules" },
      { name: "audit", hash: "#/audit", text: "Ids" },
    ];
    for (const { name, hash, text } of pages) {
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.goto(`${console.url}/${hash}`);
      // Beside it the list has the threads' titles.
      await page.locator("main").getByText(text, { exact: true }).first().waitFor();
      await page.locator("#thread-list a").first().waitFor();
      if (name === "conversation") await page.locator("#file-list button").first().waitFor();
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        expect([name, colorScheme, await poorContrast(page)]).toEqual([name, colorScheme, {}]);
        await shot(page, `${name}-${colorScheme}`);
      }
      if (name === "timeline") {
        // All of it, so that nothing comes while somebody walks faster than people do.
        await page.getByRole("button", { name: "Go to the start" }).press("Enter");
        await page.getByRole("heading", { name: "Turn b31f" }).waitFor();
        const later = page.getByRole("button", { name: /Show later records/ });
        await expect
          .poll(async () => {
            if (await later.isVisible()) await later.dispatchEvent("click");
            return later.isVisible();
          })
          .toBe(false);
      }
      expect([name, await walk(page)]).toEqual([name, { unseen: [], missed: [] }]);
      await page.setViewportSize({ width: 360, height: 740 });
      // What is drawn for a width is drawn anew when the page has become another.
      await expect.poll(async () => [name, await overflow(page)]).toEqual([name, 0]);
      expect([name, await brokenWords(page)]).toEqual([name, []]);
      await shot(page, `${name}-phone`);
    }
    expect(await page.evaluate("document.getAnimations().length")).toBe(0);
    await presence.close();
    await processes.close();
    at.expectInnocent();
  });

  test("hostile text in every field stays text", async () => {
    await using at = await opened();
    const { page, console } = at;
    const redis = console.redis.client();
    const bad = `<img src=x onerror=alert(1)><script>alert(1)</script>[a](javascript:alert(1))`;
    const thread = `slack:T<b>:C"><i>:1`;
    await write(redis, thread, bad, bad);
    const lease = await begin(redis, thread, bad);
    await lease.append([
      calling(1, [{ type: "text", text: bad }, call("h1", bad, { [bad]: bad })]),
      resultOf("h1", bad, bad),
      {
        type: "nudge",
        message: { role: "user", id: "n", author: { id: "heddle", name: bad }, text: bad, at: 0 },
      },
      { type: "summary", message: { role: "summary", text: bad }, keep: 0, usage: noUsage, at: 0 },
    ]);
    await end(lease, { kind: "stopped", order: { by: bad, at: 0 }, steps: 1, usage: noUsage }, bad);
    const mcp = [{ server: bad, state: "failed", tools: [bad], problem: bad }];
    const sandbox = { ok: false, summary: bad, problems: [{ what: bad, fix: bad }] };
    const hostile = () => ({
      ...worker(),
      host: bad,
      model: bad,
      modelFailures: [{ model: bad, message: bad, detail: bad, at: 0, times: 2 }],
      running: [{ thread, since: 0 }],
      mcp,
      sandbox,
    });
    const presence = await startPresence({ redis, describe: hostile, onError });
    await page.getByRole("link", { name: "All threads" }).click();
    await page.getByRole("link", { name: /onerror/ }).click();
    await page.locator(".entry.end").waitFor();
    for (const unfold of await page.locator("#report summary").all()) await unfold.click();
    await page.keyboard.press("s");
    await page.getByRole("heading", { name: "Workers" }).waitFor();
    for (const unfold of await page.locator("#report summary").all()) await unfold.click();
    expect(await page.locator("#main script, #main img, #main i, [onerror]").count()).toBe(0);
    await presence.close();
    at.expectInnocent();
  });
});
