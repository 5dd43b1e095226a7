/** What waits for a person, as that person meets it. */
import { describe, expect, test } from "vitest";
import { decide } from "../../src/queue/session/questions/open-questions.ts";
import { announceSession } from "../../src/queue/outbox/live-events.ts";
import {
  askAbout,
  askChoice,
  begin,
  call,
  calling,
  end,
  usageOf,
  write,
} from "../adapters/console/sessions.ts";
import type { TestConsole } from "../adapters/console/start-console.ts";
import { expectAccessible } from "./axe.ts";
import { shot } from "./chromium.ts";
import { article, openConsolePage, useConsolePages, onError } from "./console-page.ts";
import { overflow, poorContrast } from "./visibility.ts";

describe("what waits for a person", () => {
  useConsolePages();

  const slack = "slack:T1:C9OPS:180.1";
  /** One approval on Slack, two questions of the agent's own, one paused turn. */
  const prepare = async ({ redis: server, surface }: TestConsole) => {
    const redis = server.client();
    await redis.flushdb();
    await write(redis, slack, "Push the release", "Ada");
    const lease = await begin(redis, slack);
    const rules = [{ id: "r1", text: "git push*" }];
    await lease.append([calling(1, [call("c1", "bash", { command: "git push origin release" })])]);
    const approval = await askAbout(
      lease,
      slack,
      { kind: "approval", why: "It leaves the house.", rules },
      "U1",
    );
    const own = await askChoice(redis, "local:console:main:abcdefgh11111111", "console", ["Red", "Blue"]);
    const bound = await askChoice(redis, "discord:88:4411:9100", "U2", ["Up", "Down"]);
    const paused = "slack:T1:C9OPS:181.1";
    await write(redis, paused, "Count all the stars", "Lin");
    const usage = usageOf(0.1);
    await end(
      await begin(redis, paused, "t9"),
      { kind: "step-limit", limit: "50 steps", text: "", steps: 50, usage },
      "t9",
    );
    const thread = { platform: "local", workspace: "console", channel: "main", thread: "abcdefgh11111111" };
    await surface.post(thread, { kind: "notice", markdown: "Paint the house" }, "first");
    await surface.mark({ ...thread, message: "x" }, "taken").catch(() => undefined);
    return { redis, approval, own, bound, paused };
  };

  test("is shown to a viewer without a control that would be refused", async () => {
    await using at = await openConsolePage({
      ...{ proxies: ["127.0.0.1"], identity: { name: "x-user", people: { vera: "viewer" } } },
      browser: { extraHTTPHeaders: { "x-user": "vera" } },
      prepare: async (console) => void (await prepare(console)),
    });
    const { page } = at;
    await page.locator("#facts", { hasText: "vera (viewer)" }).waitFor();
    await page.locator("ul.lines li").first().waitFor();
    const shown = () => page.locator("main button:visible, #threads a.new:visible").allInnerTexts();
    expect((await shown()).filter((text) => /stop|continue|new thread/i.test(text))).toEqual([]);
    await page.goto(`${at.console.url}#/needs`);
    await page.locator("ol.needs li").nth(3).waitFor();
    expect(await shown()).toEqual(["Notify me in this browser"]);
    await page.goto(`${at.console.url}#/t/abcdefgh11111111`);
    await page.locator("#log article").first().waitFor();
    expect(await page.locator("#composer").isVisible()).toBe(false);
    expect(await page.locator("#pages a[href='#/audit']").isVisible()).toBe(true);
  });

  test("is shown as it is now, where an earlier answer comes later", async () => {
    let prepared: Awaited<ReturnType<typeof prepare>> | undefined;
    await using at = await openConsolePage({
      prepare: async (console) => void (prepared = await prepare(console)),
    });
    const { page, console } = at;
    if (!prepared) throw new Error("not prepared");
    const late = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    await page.route(
      "**/api/v1/needs",
      async (route) => {
        const response = await route.fetch();
        asked.resolve();
        await late.promise;
        await route.fulfill({ response });
      },
      { times: 1 },
    );
    await page.goto(`${console.url}#/needs`);
    await asked.promise;
    const { redis, own } = prepared;
    await decide(redis, own.thread, own.id, { kind: "expired", at: Date.now() }, Date.now());
    announceSession(redis, own.thread, onError);
    const items = page.locator("ol.needs > li");
    await expect.poll(() => items.count()).toBe(3);
    const answered = page.waitForResponse("**/api/v1/needs");
    late.resolve();
    await (await answered).finished();
    await page.evaluate(
      "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))",
    );
    expect(await items.count()).toBe(3);
  });

  test("is counted in the title and beside its link, decided by keys, and gone once it is decided", async () => {
    let prepared: Awaited<ReturnType<typeof prepare>> | undefined;
    await using at = await openConsolePage({
      prepare: async (console) => void (prepared = await prepare(console)),
    });
    const { page, console } = at;
    if (!prepared) throw new Error("not prepared");
    const { redis, approval, own, bound } = prepared;
    await expect.poll(() => page.title()).toBe("(4) New thread · Heddle");
    expect(await page.locator("#thread-list a").first().textContent()).toContain("needs your answer");
    await page.getByLabel("Message to Heddle").blur();
    await page.keyboard.press("i");
    await page.getByText("git push origin release").waitFor();
    expect(await page.locator(".needs > li").count()).toBe(4);
    await page.getByText("Only Person U2 can answer this, in Discord.").waitFor();
    await shot(page, "needs");
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      expect(await poorContrast(page)).toEqual({});
    }
    await page.setViewportSize({ width: 360, height: 740 });
    await expect.poll(() => overflow(page)).toBe(0);
    await page.setViewportSize({ width: 1280, height: 800 });

    await page.getByText("from now on, git push* runs there without asking.").waitFor();
    await page.getByRole("button", { name: "Approve for this thread" }).waitFor();

    await page.evaluate("window.stood = performance.now(); performance.now = () => stood; 0");
    await page.keyboard.press("j");
    await page.keyboard.press("y");
    expect(await at.events(1)).toMatchObject({
      ...{ kind: "action", action: `approve:${approval.id}`, author: { standing: "operator" } },
      thread: { platform: "slack", thread: "180.1" },
    });
    const by = { id: "console", name: "Ada" };
    await decide(redis, slack, approval.id, { kind: "approved", by, at: Date.now() }, Date.now());
    announceSession(redis, slack, onError);
    await page.getByText("git push origin release").waitFor({ state: "detached" });
    await expect.poll(() => page.title()).toBe("(3) Needs you · Heddle");
    // The next item has the focus, and what was meant for the first one is not done to it.
    await page.keyboard.press("1");
    expect(console.intake.events).toHaveLength(1);
    await page.evaluate("performance.now = () => stood + 5_000; 0");
    await page.getByRole("button", { name: /^Blue/ }).click();
    expect(await at.events(2)).toMatchObject({ action: `answer:${own.id}:1` });
    const row = (title: string) => page.locator(".needs > li").filter({ hasText: title });
    expect(await row("Person U2").getByRole("button").allTextContents()).toEqual(["Stop"]);
    await row("Count all the stars").getByRole("button", { name: "Continue" }).click();
    expect(await at.events(3)).toMatchObject({ kind: "action", action: "continue:t9" });

    for (const { thread, id } of [own, bound]) {
      await decide(redis, thread, id, { kind: "expired", at: Date.now() }, Date.now());
      announceSession(redis, thread, onError);
    }
    await expect.poll(() => page.locator(".badge").textContent()).toBe("1");
    at.expectInnocent();
  });

  test("is decided, answered, gone on with and stopped by keyboard alone", async () => {
    let prepared: Awaited<ReturnType<typeof prepare>> | undefined;
    await using at = await openConsolePage({
      prepare: async (console) => void (prepared = await prepare(console)),
    });
    const { page } = at;
    if (!prepared) throw new Error("not prepared");
    const { approval, own } = prepared;
    await expect.poll(() => page.title()).toBe("(4) New thread · Heddle");
    await page.getByLabel("Message to Heddle").blur();
    await page.keyboard.press("i");
    await page.locator(".needs > li").nth(3).waitFor();
    const focused = () => page.evaluate("document.activeElement.closest('.needs > li')?.textContent ?? ''");
    const moveTo = async (key: string, title: string) => {
      for (let times = 0; times < 4 && !String(await focused()).includes(title); times += 1)
        await page.keyboard.press(key);
      expect(await focused()).toContain(title);
    };

    await moveTo("j", "git push origin release");
    await page.keyboard.press("x");
    expect(await at.events(1)).toMatchObject({ action: `deny:${approval.id}` });
    await moveTo("j", "Count all the stars");
    await page.keyboard.press("c");
    expect(await at.events(2)).toMatchObject({ action: "continue:t9" });
    await moveTo("k", "Paint the house (console)");
    await page.keyboard.press("2");
    expect(await at.events(3)).toMatchObject({ action: `answer:${own.id}:1` });
    // What is somebody else's to answer has no such keys.
    await moveTo("j", "Person U2");
    for (const key of ["1", "y", "x", "c"]) await page.keyboard.press(key);
    const stop = page
      .locator(".needs > li")
      .filter({ hasText: "Person U2" })
      .getByRole("button", { name: /^Stop/ });
    await stop.focus();
    await page.keyboard.press("Enter");
    expect(await at.events(4)).toMatchObject({ kind: "stop" });

    await moveTo("k", "git push origin release");
    const reasoned = page.getByRole("button", { name: /^Deny with a reason/ });
    await reasoned.focus();
    await page.keyboard.press("Enter");
    const reason = page.getByRole("dialog").getByRole("textbox");
    await reason.fill("");
    await page.keyboard.insertText("x".repeat(4_001));
    await page.keyboard.press("Enter");
    expect(await reason.inputValue()).toHaveLength(4_001);
    expect(at.console.intake.events).toHaveLength(4);
    await reason.fill("Tests are red.");
    await page.keyboard.press("Enter");
    expect(await at.events(5)).toMatchObject({ action: `deny:${approval.id}`, text: "Tests are red." });
    at.expectInnocent();
  });

  test("keeps what is written about it in its dialog until that is taken", async () => {
    let prepared: Awaited<ReturnType<typeof prepare>> | undefined;
    await using at = await openConsolePage({
      prepare: async (console) => void (prepared = await prepare(console)),
    });
    const { page, console } = at;
    const approval = prepared?.approval.id;
    await page.goto(`${console.url}/#/needs`);
    const dialog = page.getByRole("dialog");
    const text = dialog.getByRole("textbox");
    const open = (name: RegExp) => page.getByRole("button", { name }).click();
    const reason = "Tests are red. ".repeat(200).trim();
    console.intake.result = () => Promise.reject(new Error("Redis is away"));
    await open(/^Deny with a reason/);
    await text.fill(reason);
    await page.keyboard.press("Enter");
    await dialog.getByRole("alert").getByText("Try again").waitFor();
    expect(await text.inputValue()).toBe(reason);
    await text.and(page.locator(":focus")).waitFor();
    await expectAccessible(page, "an answer that was not taken");
    await shot(page, "needs-not-taken");
    console.intake.result = () => ({ kind: "acted", thread: "t" });
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "hidden" });
    expect(await at.events(2)).toMatchObject({ action: `deny:${approval}`, text: reason });

    // Whoever puts it away while it is on its way is told all the same, and the next question begins empty.
    const tried = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    console.intake.result = async () => {
      asked.resolve();
      await tried.promise;
      throw new Error("Redis is away");
    };
    await open(/^Another answer/);
    await text.fill("Green");
    await page.keyboard.press("Enter");
    await asked.promise;
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    tried.resolve();
    await page.getByRole("alert").getByText("Try again").waitFor();
    await open(/^Another answer/);
    expect(await text.inputValue()).toBe("");
    expect(await dialog.getByRole("alert").count()).toBe(0);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "hidden" });
    expect(await page.getByRole("button", { name: /^Another answer/ }).isEnabled()).toBe(true);
  });

  test("reads as in its thread: the agent's Markdown as such, a server's own words as they are", async () => {
    const plan = [
      "**The plan.** Nothing is changed yet.",
      "1. Write `a.txt`\n2. Ask [the docs](javascript:alert(1)) <img src=x onerror=alert(1)>",
      `\`\`\`\nrm -rf ${"x".repeat(400)} # the end\n\`\`\``,
    ].join("\n\n");
    let asked: { thread: string; id: string } | undefined;
    await using at = await openConsolePage({
      async prepare({ redis: server }) {
        const redis = server.client();
        await redis.flushdb();
        const ask = async (thread: string, asking: Parameters<typeof askAbout>[2]) => {
          await write(redis, thread, `Paint it (${asking.kind})`);
          return askAbout(await begin(redis, thread), thread, asking, "console");
        };
        asked = await ask("local:console:main:abcdefgh11111111", {
          ...{ kind: "choice", text: plan, choices: ["Work", "Cancel"] },
        });
        const fields = [{ kind: "text" as const, name: "why", title: "Why", required: true }];
        const request = {
          mode: "form" as const,
          server: "crm",
          call: "d1",
          message: "**Why**\nnow?",
          fields,
        };
        await ask("local:console:main:abcdefgh22222222", { kind: "input", request });
        const rules = [{ id: "r1", text: "git push*" }];
        await ask("slack:T1:C9OPS:180.1", { kind: "approval", why: "It **leaves** the house.", rules });
      },
    });
    const { page, console } = at;
    await page.goto(`${console.url}/#/needs`);
    const row = (kind: string) => page.locator(".needs > li").filter({ hasText: `Paint it (${kind})` });
    const seen = row("choice").locator(".body");
    await seen.locator("strong", { hasText: "The plan." }).waitFor();
    expect(await seen.locator("ol > li").allTextContents()).toEqual([
      "Write a.txt",
      "Ask [the docs](javascript:alert(1)) <img src=x onerror=alert(1)>",
    ]);
    expect(await seen.locator("img").count()).toBe(0);
    const pre = 'document.querySelector(".needs .body pre")';
    expect(await page.evaluate(`${pre}.scrollWidth - ${pre}.clientWidth`)).toBe(0);
    await row("approval").locator("strong", { hasText: "leaves" }).waitFor();
    expect(await row("input").locator("p.plain").innerText()).toBe("crm asks: **Why**\nnow?");

    await row("choice")
      .getByRole("button", { name: /^Another answer/ })
      .click();
    const dialog = page.getByRole("dialog");
    await dialog.locator("strong", { hasText: "The plan." }).waitFor();
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 740 });
      expect(await overflow(page)).toBe(0);
      await shot(page, `needs-answer-${width}`);
    }
    expect(
      await dialog.getByRole("textbox", { name: "Your answer" }).evaluate("document.activeElement.id"),
    ).toBe("ask-text");
    await page.keyboard.type("In a b.txt");
    await page.keyboard.press("Enter");
    expect(await at.events(1)).toMatchObject({ action: `answer:${asked?.id}`, text: "In a b.txt" });
    at.expectInnocent();
  });

  test("is not told by the browser of somebody who looks at the page", async () => {
    await using at = await openConsolePage({
      browser: { permissions: ["notifications"] },
      prepare: async ({ redis }) => void (await redis.client().flushdb()),
    });
    const { page, console } = at;
    await page.evaluate(
      "window.told = []; window.Notification = class extends EventTarget { static permission = 'granted'; static requestPermission = async () => 'granted'; constructor(title, { body }) { super(); told.push(body); } }; document.hasFocus = () => true; 0",
    );
    await page.getByRole("link", { name: "Needs you" }).click();
    await page.getByRole("button", { name: "Notify me" }).click();
    await page.getByText("Nothing waits for you.").waitFor();
    const asked = await askChoice(console.redis.client(), "slack:T1:C9OPS:191.1", "U1", []);
    announceSession(console.redis.client(), asked.thread, onError);
    await page.getByText("1 item waits", { exact: true }).waitFor();
    expect(await page.evaluate("told")).toEqual([]);
    at.expectInnocent();
  });

  test("is told by the browser only after the person has asked for it, and not while they look", async () => {
    const thread = "slack:T1:C9OPS:190.1";
    await using at = await openConsolePage({
      browser: { permissions: ["notifications"] },
      prepare: async ({ redis }) => void (await redis.client().flushdb()),
    });
    const { page, console } = at;
    await page.evaluate(
      "window.told = []; window.Notification = class extends EventTarget { static permission = 'granted'; static requestPermission = async () => 'granted'; constructor(title, { body }) { super(); told.push(body); } }; document.hasFocus = () => false; 0",
    );
    await page.getByRole("link", { name: "Needs you" }).click();
    await page.getByText("Nothing waits for you.").waitFor();
    const redis = console.redis.client();
    const ask = async (id: string) => {
      const asked = await askChoice(redis, `${thread}${id}`, "U1", []);
      announceSession(redis, asked.thread, onError);
    };
    await ask("1");
    await page.getByText("1 item waits", { exact: true }).waitFor();
    expect(await page.evaluate("told")).toEqual([]);
    await page.getByRole("button", { name: "Notify me" }).click();
    await page.getByRole("button", { name: "Notifications are on" }).waitFor();
    await ask("2");
    await expect.poll(() => page.evaluate("told")).toEqual(["Paint the house (U1) asks a question."]);
    at.expectInnocent();
  });

  test("says so in its own conversation while the question is open", async () => {
    await using at = await openConsolePage({
      prepare: async ({ redis }) => void (await redis.client().flushdb()),
    });
    const { page, console } = at;
    const said = await at.asks("Push it");
    await console.surface.mark(said.ref, "taken");
    const progress = { kind: "progress" as const, stoppable: true, markdown: "- bash `make`" };
    await console.surface.post(said.thread, progress, "progress");
    await article(page, "person").getByText("Working on it").waitFor();
    const stops = page.locator("#log").getByRole("button", { name: "Stop" });
    await expect.poll(() => stops.count()).toBe(1);
    // For what, nobody has told the page yet.
    await console.surface.mark(said.ref, "taken", { paused: true });
    await page.locator("#thread-list a", { hasText: "waits for somebody" }).waitFor();
    await console.surface.mark(said.ref, "taken");
    const file = { name: "shop.diff", text: "+hello there\n" };
    const question = { kind: "question" as const, markdown: "❓ May I?", stoppable: true, file };
    const refs = await console.surface.post(said.thread, question, "q");
    await article(page, "person").getByText("Waiting for your answer").waitFor();
    const asked = article(page, "question");
    // One Stop, with the question; its sign stands on the line of its words.
    await asked.getByRole("button", { name: "Stop" }).waitFor();
    await expect.poll(() => stops.count()).toBe(1);
    const line = await asked.locator(".part p").boundingBox();
    expect(line?.height).toBeLessThan(40);
    await asked.getByRole("button", { name: "shop.diff" }).click();
    await page.getByRole("dialog", { name: "shop.diff" }).getByText("+hello there").waitFor();
    await page.keyboard.press("Escape");
    const ref = refs.at(-1);
    if (ref) await console.surface.edit(ref, { kind: "question", markdown: "May I? Approved." });
    await article(page, "person").getByText("Working on it").waitFor();
    await expect.poll(() => stops.count()).toBe(1);
    at.expectInnocent();
  });
});
