/** The operator's pages of the console, as a person uses them. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { noUsage } from "../../src/agent/llm/model.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import { createBudgets } from "../../src/queue/budgets.ts";
import { publishLive } from "../../src/queue/live.ts";
import { startPresence } from "../../src/queue/presence.ts";
import { openAuditLog } from "../../src/telemetry/audit/log.ts";
import { begin, call, calling, end, resultOf, usageOf, write } from "../adapters/local/sessions.ts";
import type { TestConsole } from "../adapters/local/start-console.ts";
import { chromiumPath, closeBrowser, noChromium, openBrowser, openDesk, shot } from "./desk.ts";

const budgets = { day: { cost: 20 }, user: { cost: 5 }, channel: { tokens: 2_000_000 } };
const dark = { colorScheme: "dark" as const };
const phone = { viewport: { width: 375, height: 740 }, isMobile: true, hasTouch: true };
const onError = (error: unknown) => {
  throw error;
};
const steps = (kind: "answered" | "model-error" | "step-limit", cost: number) => {
  const usage = usageOf(cost, { calls: 3, input: 4_200, cacheRead: 61_000, output: 1_900 });
  return { ...{ kind, text: "The work is not complete.", limit: "50 steps", steps: 3, usage } };
};

/** A day in a team's life. */
async function weave(console: TestConsole): Promise<{ running: string }> {
  const redis = console.redis.client();
  const thread = async (id: string, text: string, cost: number, kind: Parameters<typeof steps>[0]) => {
    await write(redis, id, text, "Grace");
    const lease = await begin(redis, id, "t1");
    await lease.append([calling(1, [{ type: "text", text: "Done as asked." }], usageOf(cost))]);
    await end(lease, steps(kind, cost));
  };
  await thread("slack:T1:C7GENERAL:171.1", "Which invoices of May are unpaid?", 0.42, "answered");
  await thread("discord:88:4411:9021", "Translate the handbook into Danish", 3.18, "step-limit");
  await thread("local:console:main:abcdefgh12345678", "Compare the two quarterly reports", 0.03, "answered");
  await thread("slack:T1:C9OPS:172.8", "Why is the nightly backup red?", 0.27, "model-error");
  const running = "slack:T1:C9OPS:173.4";
  await write(redis, running, "Find out why the deploy of Friday was slow, and write it down", "Ada");
  const lease = await begin(redis, running, "b31f");
  const long = Array.from({ length: 90 }, (_, n) =>
    calling(n + 1, [{ type: "text", text: `Looking at part ${n + 1}.` }]),
  );
  await lease.append([
    ...long,
    calling(91, [
      { type: "thinking", text: "The log of the runner should tell.", protocol: "demo", raw: null },
      { type: "text", text: "I compare the **durations** of the last three deploys." },
      call("c1", "bash", { command: "grep -h duration deploy-*.log | sort -n | tail -3" }),
      call("c2", "read_file", { path: "notes/friday.md" }),
    ]),
    { type: "tool-start", callId: "c1", at: Date.now() },
    { type: "tool-start", callId: "c2", at: Date.now() },
    resultOf("c1", "bash", "duration=41\nduration=44\nduration=380\n"),
    resultOf("c2", "read_file", "There is no file notes/friday.md.", "error"),
    { type: "trim", callIds: ["x", "y"], before: 91_000, after: 64_000, at: Date.now() },
    {
      ...{ type: "summary", keep: 4, usage: usageOf(0.012), before: 64_000, after: 9_500, at: Date.now() },
      message: { role: "summary", text: "People asked why the deploy was slow." },
    },
    calling(92, [call("c3", "bash", { command: "python3 chart.py --since friday" })]),
    { type: "tool-start", callId: "c3", at: Date.now() },
  ]);
  await write(redis, "slack:T1:C7GENERAL:174.2", "Draft the minutes of today's meeting", "Lin");
  await spend(redis);
  return { running };
}

/** Two weeks of use. */
async function spend(redis: ReturnType<TestConsole["redis"]["client"]>): Promise<void> {
  const people = ["U1ADA", "U2GRACE", "U3LIN"];
  for (const day of Array(14).keys()) {
    const now = () => Date.now() - day * 86_400_000;
    const settings = settingsSchema.parse({}).budgets;
    const purses = createBudgets({ redis, settings, now, warn: () => {}, onError });
    for (const [number, person] of people.entries()) {
      const cost = ((day * 7 + number * 5) % 11) * 0.31 + 0.1;
      const message = {
        role: "user" as const,
        id: "m",
        author: { id: person, name: person },
        text: "",
        at: 0,
      };
      const turn = {
        ...{ id: "t", startedAt: 0, since: 0, steps: 0, usage: noUsage, calls: [], waitedMs: 0 },
        asked: [message],
      };
      const channel = ["C7GENERAL", "C9OPS"][number % 2];
      const reserved = await purses.purse(`slack:T1:${channel}:1`, turn).reserve({ cost, tokens: 1 });
      const used = usageOf(cost, {
        input: Math.round(9_000 * cost),
        cacheRead: Math.round(60_000 * cost),
        output: 4_000,
      });
      if (reserved.ok) await reserved.settle(used, number === 2 ? "openai/gpt" : "anthropic/claude");
    }
  }
}

const worker = () => ({
  ...{
    host: "loom-1",
    pid: 4711,
    startedAt: Date.now() - 5_400_000,
    concurrency: 50,
    model: "anthropic/claude",
  },
  running: [{ thread: "slack:T1:C9OPS:173.4", since: Date.now() - 61_000 }],
  sandbox: { ok: true, summary: "bubblewrap 0.11, limits by control groups", problems: [] },
  mcp: [
    { server: "github", state: "ready", tools: ["search_issues", "read_issue"] },
    { server: "crm", state: "failed", tools: [], problem: "It did not answer within 10 s: look at its log." },
  ],
});

const overflow = (page: Page) =>
  page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");

describe("the console's pages for operators", () => {
  beforeAll(openBrowser);
  beforeEach((context) => context.skip(!chromiumPath, noChromium));
  afterAll(closeBrowser);

  let woven: { running: string } | undefined;
  const desk = async (browser = {}) =>
    openDesk({
      ...{ budgets, browser },
      async prepare(console) {
        woven ??= await weave(console);
      },
    });

  test("all threads: live, searched, stopped and gone on with", async () => {
    await using at = await desk();
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
    await page.getByText("No thread is like that.").waitFor();
    await page.getByRole("searchbox").fill("");

    const redis = console.redis.client();
    const thread = "discord:88:4411:9100";
    await write(redis, thread, "Begun while somebody looks on");
    await begin(redis, thread, "z");
    publishLive(redis, thread, { type: "turn-start" }, onError);
    await row("Begun while somebody looks on").getByText("Running").waitFor();
    at.expectInnocent();
  });

  test("a timeline: read from its end, unfolded, followed live, without a way to write", async () => {
    await using at = await desk();
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
    await grep.scrollIntoViewIfNeeded();
    await shot(page, "timeline");

    expect(await page.getByText("Step 1", { exact: true }).count()).toBe(0);
    await page.getByRole("button", { name: /Show earlier records/ }).click();
    await page.getByText("Step 1", { exact: true }).waitFor();
    await page.getByRole("heading", { name: "Turn b31f" }).waitFor();

    const thread = woven?.running ?? "";
    const redis = console.redis.client();
    const retry = { type: "retry", step: 92, attempt: 2, delayMs: 900, reason: "The service is overloaded." };
    publishLive(redis, thread, retry, onError);
    await page.getByText("The service is overloaded. Trying again in 0.9 s").waitFor();
    const lease = await begin(redis, thread, "b31f");
    await lease.append([resultOf("c3", "bash", "chart.png written")]);
    publishLive(redis, thread, { type: "tool-end" }, onError);
    await page.locator(".tool-call").filter({ hasText: "chart.py" }).getByText("done").waitFor();
    at.expectInnocent();
  });

  test("usage: charts with tables behind them, and what is left today", async () => {
    await using at = await desk(dark);
    const { page } = at;
    await page.getByRole("link", { name: "Usage" }).click();
    await page.getByRole("img", { name: /Cost by day/ }).waitFor();
    await page.getByText("Everybody together").waitFor();
    await shot(page, "usage-dark");
    await page.getByText("As a table").first().click();
    expect(await page.getByRole("table").first().getByRole("row").count()).toBe(15);
    await page.getByRole("combobox", { name: "Measure" }).selectOption("Tokens");
    await page.getByRole("heading", { name: "Tokens by day" }).waitFor();
    await page.getByRole("combobox", { name: "Period" }).selectOption("7 days");
    await page.getByText("in 7 days").waitFor();
    at.expectInnocent();
  });

  test("the system: workers, queue, MCP servers, sandbox and skills; and what to do when no worker is there", async () => {
    await using at = await desk();
    const { page, console } = at;
    await page.getByRole("link", { name: "System" }).click();
    await page.getByText("heddle start --role worker").waitFor();
    const presence = await startPresence({ redis: console.redis.client(), describe: worker, onError });
    await page.getByRole("button", { name: "Look again" }).click();
    await page.getByText("It did not answer within 10 s").waitFor();
    await page.getByText("Sandbox in force").waitFor();
    await page.getByText("csv-report").waitFor();
    await shot(page, "system");
    await page.getByRole("link", { name: "slack:T1:C9OPS:173.4" }).click();
    await page.getByText("Step 92").waitFor();
    await presence.close();
    at.expectInnocent();
  });

  test("the audit log: who asked for what, the newest first, with a way to the thread", async () => {
    await using at = await desk();
    const { page, console } = at;
    await page.getByRole("link", { name: "Audit log" }).click();
    await page.getByText("Nothing is in the log yet.").waitFor();
    const log = openAuditLog(console.redis.client(), Date.now);
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
    await page.reload();
    await page.getByRole("row").filter({ hasText: "asked" }).getByText("Ada <b>").waitFor();
    expect(await page.getByRole("row").nth(1).textContent()).toContain("tool-ended");
    await shot(page, "audit");
    await page.getByRole("link", { name: thread }).first().click();
    await page.getByText("Step 92").waitFor();
    at.expectInnocent();
  });

  test("by keyboard: every page, the list of keys, lines, and the appearance, which stays", async () => {
    await using at = await desk();
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
    await page.getByRole("combobox", { name: "Appearance" }).selectOption("Dark");
    await page.reload();
    await page.getByRole("img", { name: /Cost by day/ }).waitFor();
    expect(await page.evaluate("getComputedStyle(document.documentElement).colorScheme")).toBe("dark");
    expect(await page.getByRole("combobox", { name: "Appearance" }).inputValue()).toBe("dark");
    at.expectInnocent();
  });

  test("on a phone every page fits, in the dark too", async () => {
    await using at = await desk({ ...phone, ...dark });
    const { page } = at;
    const pages = [
      { hash: "#/threads", text: "Which invoices of May are unpaid?" },
      { hash: `#/s/${encodeURIComponent(woven?.running ?? "")}`, text: "Step 92" },
      { hash: "#/usage", text: "Everybody together" },
      { hash: "#/system", text: "Queue" },
    ];
    for (const { hash, text } of pages) {
      await page.goto(`${at.console.url}/${hash}`);
      await page.getByText(text, { exact: true }).first().waitFor();
      expect([hash, await overflow(page)]).toEqual([hash, 0]);
      await shot(page, `phone-${/\w+/.exec(hash)?.[0]}`);
    }
    at.expectInnocent();
  });

  test("hostile text in every field stays text", async () => {
    await using at = await desk();
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
