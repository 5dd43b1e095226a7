/** Text that is made to hold up the page, in a real Chromium: the page stays usable. */
import { describe, expect, test } from "vitest";
import { consoleThread } from "../../src/adapters/console/conversations/refs.ts";
import { call } from "../adapters/console/requests.ts";
import type { Question } from "../../src/agent/questions.ts";
import { renderQuestion } from "../../src/progress/question-messages.ts";

import { article, openConsolePage, useConsolePages } from "./console-page.ts";

/** The promise is a second; a busy machine gets five. */
const promiseMs = 5 * 1_000;

/** Answered only when everything before it has been laid out and painted. */
const painted = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))";

const hostile: [string, string][] = [
  ["a wide table of missing cells", `|${"a|".repeat(1_000)}\n|${"-|".repeat(1_000)}\n${"|\n".repeat(1_000)}`],
  ["a row of 20,000 cells", `|${"a|".repeat(20_000)}\n|${"-|".repeat(20_000)}\n|b|`],
  ["10,000 code blocks", "```\na\n```\n".repeat(10_000)],
  ["25,000 items", "- a\n".repeat(25_000)],
  ["25,000 emphases", "_a_ ".repeat(25_000)],
  ["nested quotes and lists", "> - > - > - > - a\n\n".repeat(5_000)],
  ["11,000 links", "http://a ".repeat(11_000)],
  ["100,000 letters of alternating direction", "aא".repeat(50_000)],
  ["the same in code", `\`\`\`\n${"aא".repeat(49_000)}`],
  ["the same in lines", `${"aא".repeat(500)}\n`.repeat(99)],
  ["a line of 100,000 letters", "a".repeat(100_000)],
];

describe("text that is made to hold up the page or to mislead", () => {
  useConsolePages();

  test("opens within a second as an answer, whatever it says", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const took: [string, number][] = [];
    for (const [number, [name, markdown]] of hostile.entries()) {
      const id = `hostile${String(number).padStart(4, "0")}`;
      await console.surface.post(consoleThread(id), { kind: "answer", markdown }, "answer");
      await page.goto(`${console.url}/`);
      await page.getByLabel("Message to Heddle").waitFor();
      const started = performance.now();
      await page.evaluate(`location.hash = "/t/${id}"`);
      await article(page, "answer").waitFor();
      await page.evaluate(painted);
      took.push([name, performance.now() - started]);
    }
    expect(took.filter(([, ms]) => ms > promiseMs)).toEqual([]);
    opened.expectInnocent();
  });

  test("is all there, as it was written", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const markdown = "- `item`\n".repeat(5_000);
    await console.surface.post(consoleThread("hostile9999"), { kind: "answer", markdown }, "answer");
    await page.goto(`${console.url}/#/t/hostile9999`);
    await article(page, "answer").waitFor();
    expect(await article(page, "answer").locator(".body").textContent()).toBe(markdown);
  });

  test("holds up nobody who has written it, or opens it as a file", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const text = "aא".repeat(45_000);
    console.workspace.set("mixed.txt", text);
    const json = { text, key: "the-first-key" };
    await call(console.url, "/api/threads/hostile8888/messages", { method: "POST", json });
    await page.evaluate("location.hash = '/t/hostile8888'");
    await article(page, "person").waitFor();
    await page.getByRole("button", { name: "Refresh" }).click();
    const started = performance.now();
    await page.getByRole("button", { name: "mixed.txt" }).click();
    await page.locator("#viewer-content pre.text").waitFor();
    await page.evaluate(painted);
    expect(performance.now() - started).toBeLessThan(promiseMs);
    expect(await page.locator("#viewer-content pre").textContent()).toBe(text);
    opened.expectInnocent();
  });

  test("hides nothing in a question: the end of a long command is seen without scrolling sideways", async () => {
    await using opened = await openConsolePage({ browser: { viewport: { width: 900, height: 700 } } });
    const { page, console } = opened;
    const command = `ls ${" ".repeat(300)}; cat ${"x".repeat(200)}\u202E; rm -rf everything # the end`;
    const question: Question = {
      ...{ kind: "approval", why: "It deletes files.", id: "q1", callId: "c1", tool: "bash" },
      ...{ requester: { id: "U1", name: "Ada" }, askedAt: 0, expiresAt: 60_000 },
    };
    const asked = { id: "c1", name: "bash", input: { command } };
    const place = { messageChars: 4_000, deciders: [], mask: (text: string) => text };
    const { thread } = await opened.asks("Tidy up");
    await console.surface.post(thread, renderQuestion(question, asked, place), "question");
    const code = article(page, "question").locator("pre");
    await code.getByText("# the end").waitFor();
    expect(await code.textContent()).toContain("\\u202e; rm -rf everything");
    const pre = 'document.querySelector("article.question pre")';
    expect(await page.evaluate(`${pre}.scrollWidth - ${pre}.clientWidth`)).toBe(0);
    const end = `(() => {
      const range = document.createRange();
      const text = ${pre}.querySelector("code").firstChild;
      range.setStart(text, text.length - 3);
      range.setEnd(text, text.length);
      const [last, box] = [range.getBoundingClientRect(), ${pre}.getBoundingClientRect()];
      return last.left >= box.left && last.right <= box.right && last.bottom <= box.bottom;
    })()`;
    expect(await page.evaluate(end)).toBe(true);
    opened.expectInnocent();
  });
});
