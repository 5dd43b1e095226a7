/** Finding one's way in a long timeline. */
import type { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import type { JournalRecord } from "../../src/agent/journal/journal.ts";
import { begin, call, calling, end, resultOf, usageOf, write } from "../adapters/console/sessions.ts";
import type { TestConsole } from "../adapters/console/start-console.ts";
import { shot } from "./chromium.ts";
import { openConsolePage, useConsolePages } from "./console-page.ts";
import { overflow, poorContrast } from "./visibility.ts";

/** Turns of that many steps, with a failure in the middle of the first. */
async function runTurns({ redis }: TestConsole, thread: string, steps: number, turns: number): Promise<void> {
  const client = redis.client();
  for (let turn = 1; turn <= turns; turn += 1) {
    await write(client, thread, `Task ${turn}`);
    const lease = await begin(client, thread, `t${turn}`);
    for (let from = 0; from < steps; from += 500) {
      const records = Array.from({ length: Math.min(500, steps - from) }, (_, index): JournalRecord[] => {
        const step = from + index + 1;
        const text =
          turn === 1 && step === steps / 2 ? "exit code 7\nneedle in the hay" : `exit code 0\nline ${step}`;
        const id = `${turn}.${step}`;
        const at = Date.now();
        const reply = {
          ...calling(step, [call(id, "bash", { command: `run ${step}` })]),
          at: at + step * 1_000,
        };
        const result = { ...resultOf(id, "bash", text), at: at + step * 1_000 + 420 };
        return [reply, { type: "tool-start", callId: id, at: at + step * 1_000 }, result];
      });
      await lease.append(records.flat());
    }
    await end(lease, { kind: "answered", text: "Done.", steps, usage: usageOf(0.5) }, `t${turn}`);
  }
}

/** 30 steps of two calls each, behind a message and as many notes. */
async function runPairs(redis: Redis, thread: string, notes: number): Promise<void> {
  await write(redis, thread, `Offset ${notes}`);
  const lease = await begin(redis, thread, "t1");
  const author = { id: "heddle", name: "Heddle" };
  const said = Array.from({ length: notes }, (_, n): JournalRecord => {
    return { type: "nudge", message: { role: "user", id: `n${n}`, author, text: "Go on.", at: 0 } };
  });
  const steps = Array.from({ length: 30 }, (_, index): JournalRecord[] => {
    const ids = [`${index}a`, `${index}b`];
    return [
      calling(
        index + 1,
        ids.map((id) => call(id, "bash", { command: `run ${id}` })),
      ),
      ...ids.map((callId) => ({ type: "tool-start" as const, callId, at: Date.now() })),
      ...ids.map((id) => resultOf(id, "bash", "exit code 0\nfine")),
    ];
  });
  await lease.append([...said, ...steps.flat()]);
  await end(lease, { kind: "answered", text: "Done.", steps: 30, usage: usageOf(0.5) }, "t1");
}

describe("a long timeline", () => {
  useConsolePages();

  async function openTimeline(steps: number, turns: number) {
    const thread = `slack:T1:C1:${steps}.${turns}`;
    const opened = await openConsolePage({ prepare: (console) => runTurns(console, thread, steps, turns) });
    await opened.page.goto(`${opened.console.url}/#/s/${encodeURIComponent(thread)}`);
    await opened.page.getByText(`Step ${steps}`, { exact: true }).waitFor();
    return opened;
  }

  test("calls no call that has a result running, wherever the pages of records begin", async () => {
    // Of two calls at once, five records a step: five threads have the border of 60 records at each of them.
    const thread = (offset: number) => `slack:T1:C3:${offset}.0`;
    await using opened = await openConsolePage({
      prepare: async ({ redis }) => {
        for (let offset = 0; offset < 5; offset += 1) await runPairs(redis.client(), thread(offset), offset);
      },
    });
    const { page, console } = opened;
    for (let offset = 0; offset < 5; offset += 1) {
      await page.goto(`${console.url}/#/s/${encodeURIComponent(thread(offset))}`);
      await page.getByText("Step 30", { exact: true }).waitFor();
      const earlier = page.getByRole("button", { name: /Show earlier records/ });
      await expect
        .poll(async () => {
          // The page may have loaded the rest by itself meanwhile, and the button is gone.
          await earlier.dispatchEvent("click", {}, { timeout: 1_000 }).catch(() => {});
          return page.getByText("Step 1", { exact: true }).count();
        })
        .toBe(1);
      await page.getByText(`Offset ${offset}`).first().waitFor();
      await expect.poll(() => page.locator(".tool-call").count()).toBe(60);
      const told = await page.locator(".tool-call > summary").allTextContents();
      expect(told.filter((text) => !/done · \d/.test(text))).toEqual([]);
      expect(await page.locator(".tool-call .sign.taken").count()).toBe(0);
    }
    opened.expectInnocent();
  });

  test("tells what a step was on two lines of a phone", async () => {
    await using opened = await openTimeline(4, 1);
    const { page } = opened;
    await page.setViewportSize({ width: 360, height: 740 });
    const step = page.locator(".entry.model").filter({ hasText: "Step 4" });
    for (const part of [".step", ".figures"]) {
      const box = await step.locator(part).boundingBox();
      expect(box?.height).toBeGreaterThan(10);
      expect(box?.height).toBeLessThan(30);
    }
    expect(await overflow(page)).toBe(0);
    opened.expectInnocent();
  });

  test("shows a question as it was asked: the agent's is Markdown, a server's own words are as they are", async () => {
    const thread = "slack:T1:C1:questions.1";
    const asked = {
      ...{ id: "q1", callId: "c1", tool: "bash", requester: { id: "U1", name: "Ada" } },
      ...{ askedAt: 1, expiresAt: 2 },
    };
    const request = {
      mode: "form" as const,
      server: "tickets",
      message: "Which `queue`?",
      call: "d",
      fields: [],
    };
    await using opened = await openConsolePage({
      async prepare({ redis }) {
        await write(redis.client(), thread, "Task");
        const lease = await begin(redis.client(), thread, "t1");
        await lease.append([
          calling(1, [call("c1", "bash", { command: "make" })]),
          {
            type: "question",
            at: 1,
            question: { ...asked, kind: "choice", text: "**Which** `branch`?", choices: [] },
          },
          { type: "question", at: 1, question: { ...asked, id: "q2", kind: "input", request } },
        ]);
      },
    });
    const { page, console } = opened;
    await page.goto(`${console.url}/#/s/${encodeURIComponent(thread)}`);
    const questions = page.locator(".aside-entry").filter({ hasText: "Question before" });
    await expect.poll(() => questions.count()).toBe(2);
    expect(await questions.first().locator("code").allTextContents()).toEqual(["branch"]);
    expect(await questions.first().locator(".body").textContent()).toBe("Which branch?");
    expect(await questions.last().locator("p").textContent()).toBe("tickets asks: Which `queue`?");
    await shot(page, "timeline-questions");
    opened.expectInnocent();
  });

  test("is searched, and its start, turns and failures are one press away", async () => {
    await using opened = await openTimeline(100, 2);
    const { page } = opened;
    await page.getByRole("button", { name: "Go to the start" }).click();
    await page.getByRole("heading", { name: "Turn t1" }).waitFor();
    await page.locator(".said").getByText("Task 1").waitFor();

    await page.keyboard.press("e");
    await page.locator(".tool-call.reading").getByText("needle in the hay").waitFor();
    await page.getByRole("button", { name: "Go to the start" }).click();
    await expect.poll(() => page.locator(".tool-call.reading").count()).toBe(0);
    await page.getByRole("button", { name: "Next failure" }).click();
    await page.locator(".tool-call.reading").getByText("needle in the hay").waitFor();
    await page.keyboard.press("e");
    await page.getByRole("alert").getByText("Nothing has failed after this.").waitFor();
    await page.keyboard.press("t");
    await page.locator(".turn.reading").getByText("Turn t2").waitFor();
    await page.keyboard.press("T");
    await page.locator(".turn.reading").getByText("Turn t1").waitFor();

    // As somebody pastes an error into it.
    await page.getByLabel("Search this thread").focus();
    await page.keyboard.insertText("needle in the hay ".repeat(20));
    await page.keyboard.press("Enter");
    await page.getByText("Nothing found.").first().waitFor();
    await page.getByLabel("Search this thread").fill("NEEDLE");
    await page.keyboard.press("Enter");
    await page.getByText("1 record found.").first().waitFor();
    await page.locator(".found button").click();
    await page.locator(".tool-call.reading").getByText("needle in the hay").waitFor();
    await page.getByRole("button", { name: "Unfold all calls" }).click();
    expect(await page.locator(".tool-call:not([open])").count()).toBe(0);
    await page.getByRole("button", { name: "Fold all calls", exact: true }).click();
    expect(await page.locator(".tool-call[open]").count()).toBe(0);
    await page.getByRole("button", { name: "Go to the end" }).click();
    await page.getByText("Step 100", { exact: true }).last().waitFor();
    opened.expectInnocent();
  });

  test("shows where the time of a turn went, and a bar leads to its record", async () => {
    await using opened = await openTimeline(20, 1);
    const { page } = opened;
    await page.getByRole("button", { name: "Go to the start" }).click();
    await page.getByText("Where its time went").click();
    await page.locator(".waterfall").getByText("40 parts").waitFor();
    await page.locator(".waterfall").getByText("Tools 8.4 s").waitFor();
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await shot(page, `waterfall-${colorScheme}`);
      expect(await poorContrast(page)).toEqual({});
    }
    await page.locator(".waterfall li").filter({ hasText: "failed" }).getByRole("button").click();
    await page.locator(".tool-call.reading").getByText("needle in the hay").waitFor();
    await page.setViewportSize({ width: 360, height: 740 });
    await shot(page, "timeline-tools-phone");
    expect(await overflow(page)).toBe(0);
    opened.expectInnocent();
  });

  test("counts the time of calls that ran side by side once", async () => {
    const thread = "slack:T1:C1:191.1";
    await using opened = await openConsolePage({
      async prepare({ redis }) {
        await write(redis.client(), thread, "Ask all three");
        const lease = await begin(redis.client(), thread, "t1");
        const [ids, at] = [["a", "b", "c"], Date.now() + 1_000];
        await lease.append([
          {
            ...calling(
              1,
              ids.map((id) => call(id, "task", { task: id })),
            ),
            at,
          },
          ...ids.map((callId) => ({ type: "tool-start" as const, callId, at })),
          ...ids.map((id, n) => ({ ...resultOf(id, "task", "Done."), at: at + 4_000 + n * 1_000 })),
        ]);
      },
    });
    const { page, console } = opened;
    await page.goto(`${console.url}/#/s/${encodeURIComponent(thread)}`);
    await page.getByText("Where its time went").click();
    await page.locator(".waterfall").getByText("4 parts").waitFor();
    expect(await page.locator(".span-share.kind-tool").textContent()).toBe("Tools 6.0 s");
    opened.expectInnocent();
  });
});
