/** No finding of axe-core in states that come and go: setting up, managing a thread, banners, and what went wrong. */
import { describe, expect, onTestFinished, test } from "vitest";
import { Conversations } from "../../src/adapters/console/conversations/conversations.ts";
import { noUsage } from "../../src/agent/model.ts";
import { startPresence } from "../../src/queue/turns/worker-presence.ts";
import { begin, end, write } from "../adapters/console/sessions.ts";
import { startFakeAnthropic } from "../fakes/anthropic.ts";
import { expectAccessible } from "./axe.ts";

import { openConsolePage, useConsolePages, onError } from "./console-page.ts";
import { writeMessages, writeRecords } from "./large-console.ts";
import { worker } from "./sample-threads.ts";

const key = "sk-ant-api03-secret-of-a-test-9876";
describe("axe finds nothing", () => {
  useConsolePages();

  test("in Connect: before, at each kind of question, after what did not work, and at its end", async () => {
    const replies = () => ({ content: [{ type: "text" as const, text: "Hello!" }] });
    const model = await startFakeAnthropic({ apiKey: key, replies });
    onTestFinished(() => model.close());
    await using at = await openConsolePage({
      setup: { env: { ANTHROPIC_BASE_URL: model.url } },
      prepare: ({ status }) => void (status.demo = true),
    });
    const { page, console } = at;
    const field = page.locator("#setup-answer");
    const log = page.getByRole("log", { name: "Set-up" });
    await page.getByText("This is the demo model.").waitFor();
    await page.goto(`${console.url}/#/connect`);
    await page.getByRole("button", { name: "Begin" }).waitFor();
    await expectAccessible(page, "before it begins");
    await page.getByRole("button", { name: "Only Model" }).click();
    await page.getByRole("button", { name: /Anthropic/ }).waitFor();
    await expectAccessible(page, "a choice");
    await page.getByRole("button", { name: /Anthropic/ }).click();
    await page.getByLabel("Key").and(field).fill("sk-ant-api03-another-9876");
    await expectAccessible(page, "a key");
    await page.keyboard.press("Enter");
    await page.getByLabel("Model").and(field).waitFor();
    await page.keyboard.press("Enter");
    await log.getByText("was refused by the model service").waitFor();
    await expectAccessible(page, "a key that was refused");
    await page.getByRole("button", { name: "End the set-up" }).click();
    await log.getByText("Ended.").waitFor();
    await expectAccessible(page, "ended");
    await page.getByRole("button", { name: "Only Slack" }).click();
    await page.getByRole("button", { name: /Make the app: open a form/ }).click();
    await page
      .getByLabel(/Bot token/)
      .and(field)
      .waitFor();
    await expectAccessible(page, "a link, a manifest and a token");
  });

  test("where Connect is not offered", async () => {
    await using at = await openConsolePage({ setup: { isWhole: false } });
    await at.page.goto(`${at.console.url}/#/connect`);
    await at.page.getByText("each with its own environment").waitFor();
    await expectAccessible(at.page, "not offered");
  });

  test("in the menu that manages a thread, in its dialogs, and in what it says afterwards", async () => {
    await using at = await openConsolePage();
    const { page, console } = at;
    const redis = console.redis.client();
    const id = "slack:T1:C9OPS:185.1";
    await write(redis, id, "Sort the attachments", "Lin");
    await end(await begin(redis, id), { kind: "answered", text: "Done.", steps: 0, usage: noUsage });
    await page.goto(`${console.url}/#/s/${encodeURIComponent(id)}`);
    const openMenu = () => page.locator("details.manage:not([open]) > summary").click();
    const dialog = page.getByRole("dialog");
    await openMenu();
    await expectAccessible(page, "the menu");
    for (const [button, question] of [
      ["Rename…", "What is the thread called?"],
      ["Delete…", "for good"],
    ] as const) {
      await page.getByRole("button", { name: button }).click();
      await dialog.getByText(question).waitFor();
      await expectAccessible(page, button);
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await dialog.waitFor({ state: "hidden" });
      await openMenu();
    }
    await page.getByRole("button", { name: "Archive", exact: true }).click();
    await page.getByText("The thread is archived").waitFor();
    await openMenu();
    await page.getByRole("button", { name: "Take out of the archive" }).waitFor();
    await expectAccessible(page, "archived");
  });

  test("at a message and at a record that a link leads to, both marked, beside the links to the others", async () => {
    const record = "slack:T1:C9OPS:186.1";
    await using at = await openConsolePage({
      async prepare({ redis }) {
        await writeMessages(redis.client(), 6, "linkedconversation");
        await writeRecords(redis.client(), record, 60);
      },
    });
    const { page, console } = at;
    await page.goto(`${console.url}/#/t/linkedconversation`);
    const answer = page.locator("#log article", { hasText: "Answer 3" });
    await answer.hover();
    await answer.getByRole("button", { name: "Copy the link to this message" }).waitFor();
    await expectAccessible(page, "the link to a message");
    const [, { id } = { id: "" }] = await new Conversations(console.redis.client(), Date.now).messages(
      "linkedconversation",
    );
    await page.goto(`${console.url}/#/t/linkedconversation/${id}`);
    // It has the focus, and with it its own buttons are shown.
    await page.locator("#log article[aria-current]:focus").waitFor();
    await expectAccessible(page, "a marked message");
    await page.goto(`${console.url}/#/s/${encodeURIComponent(record)}/20`);
    await page.locator(".timeline .reading").waitFor();
    await page.locator(".timeline a.when").first().waitFor();
    await expectAccessible(page, "a marked record");
  });

  test("in banners, while the connection or Redis is away, and in what has no place", async () => {
    await using at = await openConsolePage({
      async prepare({ redis, status }) {
        await redis.client().flushdb();
        const problems = [{ what: "bwrap is not on PATH.", fix: "Install bubblewrap." }];
        const sandbox = { ok: false, summary: "none", problems };
        Object.assign(status, { demo: true, redis: "embedded", sandbox });
      },
    });
    const { page, console } = at;
    await page.getByText("Redis is embedded").waitFor();
    await page.getByText("How to fix it").click();
    await page.getByText("Install bubblewrap.").waitFor();
    await expectAccessible(page, "banners");
    await page.goto(`${console.url}/#/nonsense`);
    await page.getByRole("alert").getByText("This address leads nowhere").waitFor();
    await expectAccessible(page, "an address that leads nowhere");

    const presence = await startPresence({ redis: console.redis.client(), describe: worker, onError });
    await page.goto(`${console.url}/#/system`);
    await page.getByText("It did not answer within 10 s").waitFor();
    await expectAccessible(page, "a server that does not answer");
    await presence.close();
    await page.goto(`${console.url}/#/`);
    await page.getByText("Redis is embedded").waitFor();
    await console[Symbol.asyncDispose]();
    await page.getByText("Reconnecting…").waitFor();
    await expectAccessible(page, "reconnecting");
    await page.getByLabel("Message to Heddle").fill("Are you there?");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").filter({ hasText: /./ }).waitFor();
    await expectAccessible(page, "nobody answers");
    expect(await page.getByLabel("Message to Heddle").inputValue()).toBe("Are you there?");
  });

  test("in a list of threads that is searched, and the filters of the audit log", async () => {
    await using at = await openConsolePage({
      async prepare({ surface }) {
        for (let n = 10; n < 20; n += 1) {
          const thread = {
            platform: "local",
            workspace: "console",
            channel: "main",
            thread: `abcdefgh111111${n}`,
          };
          await surface.post(thread, { kind: "answer", markdown: `Thread ${n}` }, "first");
        }
      },
    });
    const { page, console } = at;
    await page.getByLabel("Search your threads").fill("nothing of that kind");
    await page.getByText("None of these is called that.").waitFor();
    await expectAccessible(page, "a search that finds nothing");
    await page.goto(`${console.url}/#/audit`);
    await page.getByText("More filters").click();
    await page.getByLabel("Cost at least, dollars").fill("5");
    await page.getByText(/No entry is like that/).waitFor();
    await expectAccessible(page, "filters of the audit log");
  });
});
