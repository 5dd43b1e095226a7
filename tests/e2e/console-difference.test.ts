import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { browserPatienceMs, launchChromium, noChromium, shot } from "../browser/chromium.ts";
import { type FakeGithub, startGithub } from "../fakes/github.ts";
import { modelEnvironment } from "./environment.ts";
import { useSetting } from "./hooks.ts";
import { patienceMs } from "./program.ts";
import { startVoices, type Voices } from "./scenario/play.ts";

/** What somebody reads in the console before they approve a push, on a desk and on a phone. */

const missing = ["socat", "nsenter", "git"].filter((program) => !existsSync(`/usr/bin/${program}`));
const token = "ghp_canaryCanaryCanaryCanaryCanaryCanary50";
const here = useSetting();
let [browser, github, model]: [Browser?, FakeGithub?, Voices?] = [];
beforeAll(async () => {
  [browser, github, model] = await Promise.all([
    launchChromium(),
    startGithub({ host: "127.0.0.2" }),
    startVoices(),
  ]);
  github.addRepository("acme/shop", { "greeting.txt": "hi\n" });
  github.addToken(token, ["acme/shop"]);
});
afterAll(() => Promise.all([browser?.close(), github?.close(), model?.close()]));

/** Whether something of the page stands beyond its right edge, where a phone shows it only to who moves the page. */
const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";

async function look(page: Page, name: string): Promise<void> {
  for (const [place, width, height] of [
    ["desk", 1280, 900],
    ["phone", 390, 844],
  ] as const) {
    await page.setViewportSize({ width, height });
    await expect.poll(() => page.evaluate("innerWidth")).toBe(width);
    await shot(page, `difference-${name}-${place}`);
    expect(await page.evaluate(overflow)).toBe(0);
  }
}

test.skipIf(missing.length > 0)(
  "the difference stands in the question, in colours and folded; a large one is a file that opens in the page",
  { timeout: 3 * patienceMs },
  async (context) => {
    if (!browser) return context.skip(noChromium);
    if (!github || !model) throw new Error("Nothing was started.");
    const settings = {
      repositories: {
        shop: {
          ...{ url: `${github.origin}/acme/shop`, kind: "github", apiUrl: github.origin },
          tokenVariable: "SHOP_TOKEN",
        },
      },
      channels: { "local:console:main": { repositories: ["shop"] } },
    };
    await writeFile(join(here.place.folder, "heddle.yaml"), JSON.stringify(settings));
    const program = here.place.start(["start"], {
      ...{ ...modelEnvironment(model), REDIS_URL: here.redis.path, SHOP_TOKEN: token },
    });
    await program.line(/Heddle is ready/);
    const url = /console +(\S+)/.exec(await program.line(/^ +console /))?.[1] ?? "";
    const page = await (await browser.newContext({ reducedMotion: "reduce" })).newPage();
    page.setDefaultTimeout(browserPatienceMs);
    const voice = model.voice();
    const calls = (name: string, input: object) =>
      voice.say({ content: [{ type: "tool_use", name, input }] });
    const propose = (title: string) => calls("open_pull_request", { repository: "shop", title, body: "" });
    const questions = page.locator("article.question");

    const task = "The greeting of the shop is too short";
    voice.hears(task);
    calls("open_repository", { repository: "shop" });
    const lines =
      'for n in $(seq 60); do echo "$n: hello there, whoever you are and wherever you come from, be welcome in this shop of ours"; done';
    calls("bash", { command: `cd shop && echo 'hello there' > greeting.txt && (${lines}) > more.txt` });
    propose("Greet properly");
    await page.goto(`${url}/#/`);
    await page.getByLabel("Message to Heddle").fill(task);
    await page.keyboard.press("Enter");
    const first = questions.first();
    await first.getByText("2 files changed, +61 −1").waitFor();
    await first.locator(".hljs-addition").first().waitFor();
    await look(page, "small");
    expect(await first.locator(".hljs-addition").first().textContent()).toBe("+hello there");
    expect(await first.locator(".hljs-deletion").allTextContents()).toEqual(["-hi"]);

    await first.getByRole("button", { name: "Approve", exact: true }).click();
    calls("bash", { command: "cd shop && seq 4000 > numbers.txt" });
    propose("Count");
    const second = questions.nth(1);
    await second.getByText("All of it is in shop.diff.").waitFor();
    const file = page.locator("article.file").getByRole("button", { name: /shop\.diff/ });
    await file.waitFor();
    await look(page, "large");
    await file.click();
    const viewer = page.getByRole("dialog", { name: "shop.diff" });
    await viewer.getByText("+4000").waitFor();
    await viewer.locator(".hljs-addition").first().waitFor();
    await look(page, "file");
    await page.keyboard.press("Escape");
    await second.getByRole("button", { name: "Approve", exact: true }).click();
    voice.say({ content: [{ type: "text", text: "Both are in." }] });
    await page.locator("article.answer").getByText("Both are in.").waitFor();
    expect(github.git("acme/shop", "log", "--format=%s", github.pulls[0]?.head ?? "", "^main")).toBe(
      "Count\nGreet properly",
    );
  },
);
