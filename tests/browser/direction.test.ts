/** Text that is read from right to left, beside code and an English page. */
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { begin, calling, end, usageOf, write } from "../adapters/console/sessions.ts";
import { startPresence } from "../../src/queue/turns/worker-presence.ts";
import { shot } from "./chromium.ts";
import { article, onError, openConsolePage, useConsolePages } from "./console-page.ts";
import { worker } from "./sample-threads.ts";

/** At which edge of its block the text of the first such element begins. */
async function edgeOf(page: Page, selector: string): Promise<unknown> {
  return await page.evaluate(`(() => {
    const block = document.querySelector(${JSON.stringify(selector)});
    const range = document.createRange();
    range.selectNodeContents(block);
    const [text, box, style] = [range.getBoundingClientRect(), block.getBoundingClientRect(), getComputedStyle(block)];
    const left = text.left - box.left - parseFloat(style.paddingLeft);
    const right = box.right - parseFloat(style.paddingRight) - text.right;
    return left < 3 && right < 3 ? "both" : left < 3 ? "left" : right < 3 ? "right" : "neither";
  })()`);
}

describe("text from right to left", () => {
  useConsolePages();

  const hebrew = "שלום לכולם.";

  test("is laid out so in a conversation, and code and English beside it are not", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const box = page.getByLabel("Message to Heddle");
    await box.fill(hebrew);
    // Where the first letter is: a press there puts the caret before it.
    const { x = 0, y = 0, width = 0 } = (await box.boundingBox()) ?? {};
    await page.mouse.click(x + width - 3, y + 15);
    expect(await box.evaluate("document.activeElement.selectionStart")).toBe(0);
    const { thread } = await opened.asks(hebrew);
    const markdown = [
      `## ${hebrew}`,
      `\`npm\` ${hebrew}`,
      `- ${hebrew}\n- English.`,
      `> ${hebrew}`,
      `| ${hebrew} | ${hebrew} |\n|---|---|\n| a | b |`,
      "English.",
      "```\nls # שלום\n```",
    ].join("\n\n");
    await console.surface.post(thread, { kind: "answer", markdown }, "answer");
    await article(page, "answer").getByText("English.").last().waitFor();
    await shot(page, "right-to-left");
    const edges: Record<string, string> = {
      "article.person .plain": "right",
      "article.answer h4": "right",
      "article.answer h4 + p": "right",
      "article.answer li": "right",
      "article.answer li + li": "right",
      "article.answer td": "right",
      "article.answer blockquote p": "right",
      "article.answer .part > p:last-of-type": "left",
      "article.answer pre": "left",
      "#title": "right",
      "#thread-list .title": "right",
    };
    const found = Object.keys(edges).map(async (selector) => [selector, await edgeOf(page, selector)]);
    expect(Object.fromEntries(await Promise.all(found))).toEqual(edges);
    const directions = `["ul", "blockquote", "table", ".code"].map((one) =>
      getComputedStyle(document.querySelector("article.answer " + one)).direction)`;
    expect(await page.evaluate(directions)).toEqual(["rtl", "rtl", "rtl", "ltr"]);
    opened.expectInnocent();
  });

  test("is laid out so on the pages for operators", async () => {
    const thread = "slack:T1:C9OPS:180.1";
    await using at = await openConsolePage({
      async prepare({ redis: server }) {
        const redis = server.client();
        await redis.flushdb();
        await write(redis, thread, hebrew, "Ada");
        const lease = await begin(redis, thread);
        await lease.append([calling(1, [{ type: "text", text: hebrew }])]);
        await end(lease, { kind: "answered", text: hebrew, steps: 1, usage: usageOf(0) });
      },
    });
    const { page, console } = at;
    await page.goto(`${console.url}/#/threads`);
    await page.locator(".lines .title").waitFor();
    expect(await edgeOf(page, ".lines .title")).toBe("right");
    await page.goto(`${console.url}/#/s/${thread}`);
    await page.locator(".entry.model .body p").waitFor();
    await shot(page, "right-to-left-timeline");
    for (const selector of [".said .plain", ".entry.model .body p"])
      expect([selector, await edgeOf(page, selector)]).toEqual([selector, "right"]);
    at.expectInnocent();
  });

  test("is where the browser writes times so, which stay in their place among English words and numbers", async () => {
    const thread = "slack:T1:C9OPS:180.2";
    await using at = await openConsolePage({
      browser: { locale: "ar-EG" },
      async prepare({ redis: server }) {
        const redis = server.client();
        await redis.flushdb();
        await write(redis, thread, "Count them", "Ada");
        const lease = await begin(redis, thread);
        await lease.append([{ type: "trim", callIds: ["x"], before: 91_000, after: 64_000, at: Date.now() }]);
        await end(lease, { kind: "answered", text: "Done.", steps: 1, usage: usageOf(0) });
      },
    });
    const { page, console } = at;
    await page.goto(`${console.url}/#/s/${thread}`);
    await page.getByText("91,000 → 64,000 tokens").waitFor();
    const presence = await startPresence({ redis: console.redis.client(), describe: worker, onError });
    await page.goto(`${console.url}/#/system`);
    await page.getByText("3 times").waitFor();
    await shot(page, "right-to-left-times");
    expect(await edgeOf(page, "dd:has(time)")).toBe("left");
    const order = `(() => {
      const time = document.querySelector(".plain-list strong ~ time");
      const range = document.createRange();
      range.selectNode(time.nextSibling);
      return range.getBoundingClientRect().left >= time.getBoundingClientRect().right - 1;
    })()`;
    expect(await page.evaluate(order)).toBe(true);
    await presence.close();
    at.expectInnocent();
  });
});
