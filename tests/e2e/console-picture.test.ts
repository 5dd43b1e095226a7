import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { shot } from "../browser/chromium.ts";
import { says, runs } from "../fakes/anthropic-replies.ts";
import { type FakeReply, startFakeAnthropic } from "../fakes/anthropic.ts";
import { modelEnvironment } from "./environment.ts";
import { useBrowser, useSetting } from "./hooks.ts";
import { patienceMs } from "./program.ts";

/**
 * The console's pictures in the docs, drawn from the whole program: `HEDDLE_DRAW=1 npm test -- tests/e2e/console-picture.test.ts`
 * draws them anew. Pixels differ from host to host, so each run compares what the pages say with what they said when
 * the pictures were drawn, and the pictures with their digests beside those words.
 */

const images = join(import.meta.dirname, "../../docs/images");
const record = join(images, "console.txt");
const isDrawing = Boolean(process.env["HEDDLE_DRAW"]);

const here = useSetting();
const chromium = useBrowser();

const settings = `
model: anthropic/claude-sonnet-5-5
budgets: { day: { cost: 5 }, user: { cost: 2 } }
checkModelsAtStart: false
console:
  proxies: [127.0.0.1]
  identityHeader: X-User
  people: { Ada: operator }
tools:
  rules:
    - { tool: bash, command: "git push*", action: ask, why: It leaves this machine. }
`;

const report = `# Sales in May

1. North: 41,200
2. West: 35,900
3. South: 28,400
`;

const answer = `**North** sold most in May, and **South** is the only region that fell.

| Region | April | May | Change |
| --- | ---: | ---: | ---: |
| North | 38,100 | 41,200 | +8 % |
| West | 33,600 | 35,900 | +7 % |
| South | 30,500 | 28,400 | −7 % |

To look at it again:

\`\`\`sh
sort -t, -k4 -rn attachments/sales.csv | head -3
\`\`\`

The list is in **report.md**.
`;

/** What the model replies, in order: to a message of the first thread, of the second, and of the one in the picture. */
const script: FakeReply[] = [
  says("The Danish notes are done: 14 entries, in the same order."),
  runs("git push origin handbook-2.4"),
  runs("head -3 attachments/sales.csv"),
  runs("sort -t, -k4 -rn attachments/sale.csv"),
  {
    content: [
      { type: "text", text: "The name has an s at its end." },
      {
        ...{ type: "tool_use", name: "bash" },
        input: { command: "sort -t, -k4 -rn attachments/sales.csv | head -3" },
      },
      { type: "tool_use", name: "write_file", input: { path: "report.md", content: report } },
    ],
  },
  says(answer),
];

/** With what they use, as a conversation grows. */
const replies = script.map((reply, index): FakeReply => {
  return { ...reply, usage: { input: 900, cacheRead: 3_100 + 400 * index, output: 160 } };
});

const csv = "region,lead,april,may\nNorth,Lin,38100,41200\nSouth,Bo,30500,28400\nWest,Grace,33600,35900\n";

/** How far the end of the conversation is below the view, in pixels: as the page reckons it. */
const toEnd = "(scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight)";

/** What a page says, without what differs from run to run and from host to host. */
async function read(page: Page): Promise<string> {
  const text = await page.locator("body").innerText();
  return text
    .replaceAll(/\d{1,2}:\d\d(?:\s[AP]M)?/g, "(time)")
    .replaceAll(/\b[\d.]+ (?:ms|s|min)\b/g, "(duration)")
    .replaceAll(/[\d,.]+k? tokens/g, "(tokens)")
    .replaceAll(/\$\d+\.\d+/g, "(cost)")
    .replaceAll(/\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*/g, "(day)")
    .replaceAll(/\w+day, \d{4}-\d\d-\d\d/g, "(day)")
    .replaceAll(/Turn [0-9a-f]{8}/g, "Turn (id)")
    .replaceAll(/\S+\/heddle\.yaml/g, "(folder)/heddle.yaml")
    .replaceAll(/^bubblewrap .*$/gm, "(sandbox)")
    .replaceAll(/\n{2,}/g, "\n")
    .trim();
}

/** Begins a thread, and waits until its message says how it stands. */
async function ask(page: Page, url: string, text: string, state: string): Promise<void> {
  await page.goto(`${url}/#/`);
  await page.getByRole("heading", { name: "Start a thread" }).waitFor();
  await page.getByLabel("Message to Heddle").fill(text);
  await page.keyboard.press("Enter");
  await page.locator("article.person").getByText(state).waitFor();
}

test("The pictures of the console show what it shows", async () => {
  await writeFile(join(here.place.folder, "heddle.yaml"), settings);
  const model = await startFakeAnthropic({ replies });
  onTestFinished(() => model.close());
  const program = here.place.start(["start"], { REDIS_URL: here.redis.path, ...modelEnvironment(model) });
  await program.line(/Heddle is ready/);
  const url = /console +(\S+)/.exec(await program.line(/^ +console /))?.[1] ?? "";
  const look = { locale: "en-GB", colorScheme: "light", reducedMotion: "reduce" } as const;
  const person = await chromium.browser.newContext({
    ...look,
    viewport: { width: 1280, height: 1100 },
    extraHTTPHeaders: { "x-user": "Ada" },
  });
  person.setDefaultTimeout(patienceMs);
  const page = await person.newPage();

  await ask(page, url, "Translate the release notes into Danish", "Answered");
  await ask(page, url, "Publish version 2.4 of the handbook", "Waiting for your answer");
  await page.goto(`${url}/#/`);
  await page.getByRole("heading", { name: "Start a thread" }).waitFor();
  const [chooser] = await Promise.all([
    page.waitForEvent("filechooser"),
    page.getByRole("button", { name: "Attach files" }).click(),
  ]);
  await chooser.setFiles({ name: "sales.csv", mimeType: "text/csv", buffer: Buffer.from(csv) });
  await page
    .getByLabel("Message to Heddle")
    .fill("Which regions had the best sales in May, and which one fell?");
  await page.keyboard.press("Enter");
  await page.locator("article.answer").getByText("report.md", { exact: true }).waitFor();
  await page.locator("article.person").getByText("Answered").waitFor();
  await page.locator("#file-list").getByRole("button", { name: "report.md" }).waitFor();
  // Nothing is under way, and the mouse is over nothing.
  await page.mouse.move(0, 0);
  await expect.poll(() => page.locator(".hljs-string, .hljs-built_in, code.hljs").count()).toBeGreaterThan(0);
  await page.evaluate("document.activeElement.blur()");

  const pictures: Record<string, { text: string; png: Buffer }> = {};
  const draw = async (name: string) => {
    pictures[name] = { text: await read(page), png: await page.screenshot() };
    await shot(page, name);
  };
  await draw("console");

  // Where somebody has scrolled up, nothing gets narrower or covers what is read.
  await page.setViewportSize({ width: 1280, height: 620 });
  // The end stays in view when the window gets lower, and that is not at once: who scrolls first is taken there again.
  await expect.poll(() => page.evaluate(`innerHeight === 620 && ${toEnd} < 2`)).toBe(true);
  await page.evaluate("scroller.scrollTop = 0");
  await page.getByRole("button", { name: "Latest" }).waitFor();
  await draw("console-scrolled");
  await page.setViewportSize({ width: 390, height: 844 });
  await expect.poll(() => page.evaluate("innerWidth")).toBe(390);
  await page.evaluate("scroller.scrollTop = scroller.scrollHeight");
  await page.getByRole("button", { name: "Latest" }).waitFor({ state: "hidden" });
  await draw("console-phone");

  await page.setViewportSize({ width: 1280, height: 860 });
  await expect.poll(() => page.evaluate("innerWidth")).toBe(1280);
  await page.getByRole("link", { name: "Timeline", exact: true }).click();
  await page.locator(".entry.end").getByText("Answered").waitFor();
  await page.getByText("Where its time went").click();
  await page.locator(".waterfall li").first().waitFor();
  await page.locator("#file-list").getByRole("button", { name: "report.md" }).waitFor();
  await page.evaluate("report.scrollTop = 0; document.activeElement.blur()");
  await draw("console-timeline");
  await page.locator("#pages").getByRole("link", { name: "Usage" }).click();
  await page.getByRole("heading", { name: "Cost by person" }).waitFor();
  await page.evaluate("document.activeElement.blur()");
  await draw("console-usage");
  await page.goto(`${url}/#/settings`);
  await page.locator("main").getByText("tools.rules").waitFor();
  await draw("console-settings");

  const digest = (png: Buffer) => createHash("sha256").update(png).digest("hex");
  if (isDrawing) {
    const said = Object.entries(pictures).map(
      ([name, { text, png }]) => `== ${name}.png ${digest(png)}\n${text}\n`,
    );
    await writeFile(record, said.join("\n"));
    for (const [name, { png }] of Object.entries(pictures)) await writeFile(join(images, `${name}.png`), png);
  }
  const recorded = (await readFile(record, "utf8")).split(/^== (\S+)\.png (\w+)\n/m).slice(1);
  expect(recorded.length).toBe(3 * Object.keys(pictures).length);
  for (let at = 0; at < recorded.length; at += 3) {
    const [name = "", sha256, text = ""] = recorded.slice(at, at + 3);
    expect([name, pictures[name]?.text]).toEqual([name, text.trim()]);
    expect([name, digest(await readFile(join(images, `${name}.png`)))]).toEqual([name, sha256]);
  }
});
