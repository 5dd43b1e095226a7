/** No finding of axe-core in any state of the console, in light and dark. */
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { startPresence } from "../../src/queue/turns/worker-presence.ts";
import { askChoice } from "../adapters/console/sessions.ts";
import { expectAccessible, violations } from "./axe.ts";

import { article, openConsolePage, useConsolePages, onError } from "./console-page.ts";
import { budgets, configuration, fillWorkspace, runSampleThread, worker } from "./sample-threads.ts";

describe("axe finds nothing", () => {
  useConsolePages();

  test("on a console where nothing has happened", async () => {
    await using at = await openConsolePage({
      ...{ budgets, configuration },
      async prepare({ redis }) {
        await redis.client().flushdb();
      },
    });
    const { page } = at;
    await page.getByText("Your threads will be listed here.").waitFor();
    await expectAccessible(page, "welcome");
    for (const [name, text] of [
      [
        "Needs you",
        "Nothing waits for you. Questions, approvals and paused work of every thread appear here.",
      ],
      ["All threads", "No threads yet."],
      ["Usage", "Everyone"],
      ["System", "heddle start --role worker"],
      ["Audit log", "The log is empty."],
    ] as const) {
      await page.locator("#pages").getByRole("link", { name }).click();
      await page.locator("main").getByText(text).first().waitFor();
      await expectAccessible(page, `empty: ${name}`);
    }
  });

  /** Threads of all kinds, made once. */
  let running: string | undefined;
  const openUsed = async () =>
    await openConsolePage({
      ...{ budgets, configuration },
      async prepare(console) {
        if (running !== undefined) return;
        ({ running } = await runSampleThread(console));
        await fillWorkspace(console);
        await askChoice(console.redis.client(), "slack:T1:C9OPS:180.1", "U1", ["Red", "Blue"]);
      },
    });
  const look = async (page: Page, url: string, hash: string, text: string) => {
    await page.goto(`${url}/${hash}`);
    await page.locator("main").getByText(text, { exact: true }).first().waitFor();
    await page.locator("#thread-list a").first().waitFor();
    await page.evaluate("for (const fold of document.querySelectorAll('#report details')) fold.open = true");
    await expectAccessible(page, hash);
  };

  test("on threads of a console in use, and the lists of them", async () => {
    await using at = await openUsed();
    for (const [hash, text] of [
      ["#/t/abcdefgh12345678", "Both are right"],
      ["#/needs", "Which colour?"],
      ["#/threads", "Which invoices of May are unpaid?"],
      [`#/s/${encodeURIComponent(running ?? "")}`, "Step 92"],
    ] as const)
      await look(at.page, at.console.url, hash, text);
  });

  test("on the other pages of a console in use", async () => {
    await using at = await openUsed();
    const presence = await startPresence({ redis: at.console.redis.client(), describe: worker, onError });
    for (const [hash, text] of [
      ["#/usage", "Everyone"],
      ["#/system", "csv-report"],
      ["#/settings", "tools.rules"],
      ["#/audit", "Ids"],
    ] as const)
      await look(at.page, at.console.url, hash, text);
    await presence.close();
  });

  test("in the viewer, the list of keys and the drawer of a phone", async () => {
    await using at = await openConsolePage({ prepare: fillWorkspace });
    const { page, console } = at;
    await page.goto(`${console.url}/#/t/abcdefgh12345678`);
    await page.locator("#file-list button").first().click();
    await page.locator("#viewer[open]").waitFor();
    await expectAccessible(page, "viewer");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    await expectAccessible(page, "shortcuts");
    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole("button", { name: "Threads" }).click();
    expect(await violations(page)).toEqual([]);
  });

  test("on a running turn, an open question with its dialog, and words of failure", async () => {
    await using at = await openConsolePage();
    const { page, console } = at;
    const { thread, ref } = await at.asks("Push it");
    await console.surface.mark(ref, "taken");
    const progress = { kind: "progress" as const, stoppable: true, markdown: "- bash `make`" };
    await console.surface.post(thread, progress, "progress");
    const actions = [
      { id: "yes", label: "Approve", style: "primary" as const },
      { id: "no", label: "Deny with a reason…", style: "danger" as const, asksFor: "Why not?" },
    ];
    const question = { kind: "question" as const, markdown: "May I push?", actions, stoppable: true };
    await console.surface.post(thread, question, "question");
    await article(page, "question").getByText("May I push?").waitFor();
    await expectAccessible(page, "open question");
    await page.getByRole("button", { name: "Deny with a reason…" }).click();
    await page.getByRole("dialog").getByText("Why not?").waitFor();
    await expectAccessible(page, "dialog of a question");
    await page.keyboard.press("Escape");
    console.intake.result = () => Promise.reject(new Error("Redis is away"));
    await page.getByLabel("Message to Heddle").fill("hello");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("Try again").waitFor();
    await expectAccessible(page, "a message that was not sent");
    await page.route("**/api/v1/usage**", (route) => route.fulfill({ status: 500, json: { error: "No." } }));
    await page.getByRole("link", { name: "Usage" }).click();
    await page.getByRole("button", { name: "Try again" }).waitFor();
    await expectAccessible(page, "a page that failed");
  });

  test("before somebody has signed in", async () => {
    await using at = await openConsolePage({ token: "correct-horse-battery" });
    await at.page.getByLabel("Token").fill("wrong-token");
    await at.page.keyboard.press("Enter");
    await at.page.getByRole("alert").getByText("Wrong token.").waitFor();
    await expectAccessible(at.page, "sign-in");
  });
});
