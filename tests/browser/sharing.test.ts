import { createServer } from "node:http";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { createAccessTokens } from "../../src/operations/people/access-tokens.ts";
import { begin, calling, end, usageOf, write } from "../adapters/console/sessions.ts";
import { Conversations } from "../../src/adapters/console/conversations/conversations.ts";
import type { Role } from "../../src/chat/roles.ts";
import type { TestConsole } from "../adapters/console/start-console.ts";
import { browserPatienceMs, shot } from "./chromium.ts";
import { longConversation, writeMessages, writeRecords } from "./large-console.ts";
import { article, openConsolePage, useConsolePages } from "./console-page.ts";
import { closeServer, listen } from "../fakes/listen.ts";

const token = "correct-horse-battery";
const clipboard = { permissions: ["clipboard-read", "clipboard-write"] };

describe("a link to a thread", () => {
  useConsolePages();

  const makeToken = async (console: TestConsole, name: string, role: Role) =>
    (await createAccessTokens(console.redis.client(), Date.now).create({ name, role })).token;

  const makeThread = async (console: TestConsole, thread: string) => {
    const redis = console.redis.client();
    await write(redis, thread, "Sort the attachments", "Lin");
    const lease = await begin(redis, thread);
    await lease.append([calling(1, [{ type: "text", text: "They are sorted." }])]);
    await end(lease, { kind: "answered", text: "They are sorted.", steps: 1, usage: usageOf(0) });
  };

  /** The messages of a console thread that say this. */
  const idsOf = async (console: TestConsole, thread: string, ...words: string[]) => {
    const messages = await new Conversations(console.redis.client(), Date.now).messages(thread);
    return words.map((word) => messages.find((one) => JSON.stringify(one).includes(word))?.id ?? "");
  };

  /** Another person, in a browser of their own, who presses a link in a page of another site. */
  const follow = async (from: Page, link: string) => {
    const context = await from.context().browser()?.newContext();
    if (!context) throw new Error("There is no browser.");
    context.setDefaultTimeout(browserPatienceMs);
    const page = await context.newPage();
    await using site = await serve(`<!doctype html><title>Chat</title><a href="${link}">Look</a>`);
    await page.goto(site.url);
    await page.getByRole("link", { name: "Look" }).click();
    return { page, [Symbol.asyncDispose]: () => context.close() };
  };

  const signIn = async (page: Page, own: string) => {
    await page.getByLabel("Token").fill(own);
    await page.keyboard.press("Enter");
  };

  test("is copied by one person, and leads another to it over a sign-in, from whichever site", async () => {
    await using at = await openConsolePage({ token, browser: clipboard });
    const { page, console } = at;
    const thread = "slack:T1:C9OPS:175.9";
    await makeThread(console, thread);
    await signIn(page, await makeToken(console, "ada", "operator"));
    await page.getByText("ada (operator)").waitFor();
    await page.goto(`${console.url}/#/s/${encodeURIComponent(thread)}`);
    await page.getByText("Manage", { exact: true }).click();
    await page.getByRole("button", { name: "Copy link" }).click();
    await page.getByText("The link is copied. Whoever may use this console can open it.").waitFor();
    const link = String(await page.evaluate("navigator.clipboard.readText()"));

    await using bob = await follow(page, link);
    await signIn(bob.page, await makeToken(console, "bob", "viewer"));
    await bob.page.getByText("bob (viewer)").waitFor();
    await bob.page.getByRole("heading", { name: "Sort the attachments" }).waitFor();
    await bob.page.getByText("They are sorted.").first().waitFor();
    await bob.page.getByText("Manage", { exact: true }).click();
    const offered = await bob.page.locator("details.manage .action").allTextContents();
    expect(offered).toEqual(["Copy link", "Save as Markdown", "Save as JSON", "Save with files"]);
    expect(bob.page.url()).toBe(link);
  });

  test("is copied beside a conversation too, and shows it to a viewer", async () => {
    await using at = await openConsolePage({ token, browser: clipboard });
    const { page, console } = at;
    await signIn(page, await makeToken(console, "ada", "member"));
    await page.getByText("ada (member)").waitFor();
    const { thread } = await at.asks("Draw it");
    await console.surface.post(thread, { kind: "answer", markdown: "It is drawn." }, "answer");
    await article(page, "answer").waitFor();
    await page.getByRole("button", { name: "Copy the link to this thread" }).click();
    await shot(page, "copy-link");
    const link = String(await page.evaluate("navigator.clipboard.readText()"));
    await using bob = await follow(page, link);
    await signIn(bob.page, await makeToken(console, "bob", "viewer"));
    await article(bob.page, "answer").getByText("It is drawn.").waitFor();
    expect(await bob.page.getByLabel("Message to Heddle").isVisible()).toBe(false);
    await page.goto(`${console.url}/#/usage`);
    await page.getByRole("heading", { name: "Usage" }).waitFor();
    expect(await page.getByRole("button", { name: "Copy the link to this thread" }).isVisible()).toBe(false);
  });

  test("to one message is copied by its button, and opens a long conversation there, marked, also where it was folded", async () => {
    await using at = await openConsolePage({
      browser: clipboard,
      prepare: ({ redis }) => writeMessages(redis.client(), 400),
    });
    const { page, console } = at;
    const [asked, answered] = await idsOf(console, longConversation, "Question 42:", "Answer 43:");
    await page.goto(`${console.url}/#/t/${longConversation}/${asked}`);
    const linked = page.locator("#log article[aria-current]");
    await linked.getByText("Question 42").waitFor();
    // In the view with all its parts, as its text alone is what is far away.
    const isInView = () =>
      page.evaluate(`(() => {
        const { top, bottom } = document.querySelector("#log [aria-current]").getBoundingClientRect();
        const view = document.querySelector("#scroller").getBoundingClientRect();
        return top >= view.top && bottom <= view.bottom;
      })()`);
    await expect.poll(isInView).toBe(true);
    expect(await linked.getAttribute("class")).not.toContain("far");
    expect(await page.evaluate("document.activeElement.matches('[aria-current]')")).toBe(true);
    await shot(page, "linked-message");

    await page.locator("#log article", { hasText: "Answer 43" }).hover();
    await page
      .locator("#log article", { hasText: "Answer 43" })
      .getByRole("button", { name: "Copy the link to this message" })
      .click();
    const link = String(await page.evaluate("navigator.clipboard.readText()"));
    expect(link).toBe(`${console.url}/#/t/${longConversation}/${answered}`);
    await page.goto(`${console.url}/#/usage`);
    await page.getByRole("heading", { name: "Usage" }).waitFor();
    await page.goto(link);
    await linked.getByText("Answer 43").waitFor();
    await expect.poll(isInView).toBe(true);
    // The thread's own link leads to the thread.
    await page.getByRole("button", { name: "Copy the link to this thread" }).click();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(
      `${console.url}/#/t/${longConversation}`,
    );

    await page.goto(`${console.url}/#/t/${longConversation}/m999`);
    await page.getByRole("alert").getByText("The message of this link is gone").waitFor();
    await page.getByText("Answer 399").waitFor();
    expect(await linked.count()).toBe(0);
    at.expectInnocent();
  });

  test("to one message leads there by itself where the browser does not let a page copy", async () => {
    await using at = await openConsolePage({
      prepare: ({ redis }) => writeMessages(redis.client(), 4, "shortconversation"),
    });
    const { page, console } = at;
    await page.addInitScript("delete Navigator.prototype.clipboard");
    await page.goto(`${console.url}/?again#/t/shortconversation`);
    await page.locator("#log article", { hasText: "Answer 1" }).hover();
    await page
      .locator("#log article", { hasText: "Answer 1" })
      .getByRole("link", { name: "Link to this message" })
      .click();
    await page.locator("#log article[aria-current]").getByText("Answer 1").waitFor();
    const [id] = await idsOf(console, "shortconversation", "Answer 1:");
    expect(page.url()).toBe(`${console.url}/?again#/t/shortconversation/${id}`);
    at.expectInnocent();
  });

  test("to a record of a timeline is its time, and opens the timeline there", async () => {
    const thread = "slack:T1:C9OPS:177.7";
    await using at = await openConsolePage({
      prepare: ({ redis }) => writeRecords(redis.client(), thread, 600),
    });
    const { page, console } = at;
    await page.goto(`${console.url}/#/s/${encodeURIComponent(thread)}/100`);
    const read = page.locator(".timeline .reading");
    await read.waitFor();
    const positionOf = () =>
      page.evaluate("document.querySelector('.reading').closest('[data-position]').dataset.position");
    // A result is shown with its call, whose model's reply stands some records before it.
    const position = Number(await positionOf());
    expect(position).toBeGreaterThan(95);
    expect(position).toBeLessThanOrEqual(100);
    // One that is read next: those far away come and go while others are loaded.
    const addresses: string[] = await page.evaluate(
      "[...document.querySelectorAll('.timeline .entry a.when')].map((link) => link.getAttribute('href'))",
    );
    const address = addresses.find((one) => Number(one.split("/").at(-1)) > position) ?? "";
    expect(address).toMatch(/^#\/s\/slack%3AT1%3AC9OPS%3A177\.7\/\d+$/);
    await page.locator(`.timeline .entry a.when[href="${address}"]`).click();
    await expect.poll(() => page.evaluate("location.hash")).toBe(address);
    await expect.poll(positionOf).toBe(address.split("/").at(-1));
    await page.goto(`${console.url}/#/s/${encodeURIComponent(thread)}/99999`);
    await page.getByRole("alert").getByText("There is no such record in this thread.").waitFor();
    at.expectInnocent();
  });

  test("to a direct message of others says only that it is one", async () => {
    await using at = await openConsolePage({ token });
    const thread = "slack:T1:D1:1.5";
    await makeThread(at.console, thread);
    await using bob = await follow(at.page, `${at.console.url}/#/s/${encodeURIComponent(thread)}`);
    await signIn(bob.page, await makeToken(at.console, "bob", "viewer"));
    await bob.page.getByText("This is a direct message of somebody else").first().waitFor();
    expect(await bob.page.locator("body").innerText()).not.toMatch(/Sort the attachments|They are sorted/);
  });

  test("is shown where the browser does not let a page copy", async () => {
    await using at = await openConsolePage({
      async prepare(console) {
        await makeThread(console, "slack:T1:C9OPS:176.1");
      },
    });
    const { page, console } = at;
    await page.addInitScript("delete Navigator.prototype.clipboard");
    await page.goto(`${console.url}/?again#/s/${encodeURIComponent("slack:T1:C9OPS:176.1")}`);
    await page.getByText("Manage", { exact: true }).click();
    await page.getByRole("button", { name: "Copy link" }).click();
    await page.getByRole("status").getByText(`${page.url()} is the link.`).waitFor();
    at.expectInnocent();
  });
});

/** A page of another site: `localhost` is another one than 127.0.0.1. */
async function serve(html: string) {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end(html);
  });
  const port = await listen(server);
  return {
    url: `http://localhost:${port}/`,
    async [Symbol.asyncDispose]() {
      await closeServer(server);
    },
  };
}
