/** Files in the viewer: each kind in its way, and never a script. */
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { shot } from "./chromium.ts";
import { openConsolePage, useConsolePages } from "./console-page.ts";
import { poorContrast } from "./visibility.ts";

/** One red pixel. */
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==",
  "base64",
);
const markup =
  "<!doctype html><style>h1{color:rgb(1,2,3)}</style><h1>Report</h1><script>parent.document.title='pwned';document.body.append('ran')</script><img src=x onerror=\"parent.document.title='pwned'\"><meta http-equiv=refresh content='0;url=https://evil.example/'>";
const drawing =
  '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20" onload="parent.document.title=1"><rect width="40" height="20"/></svg>';
const files = {
  "a.md": "Title\n=====\n\n- [x] done[^1]\n\n```py\nprint('x')\n```\n\n[^1]: Really &amp; truly.",
  "b.csv": 'name,amount\n"Ada, L.",12\nGrace,7\n',
  "c.json": '{"list":[1,2,{"deep":{"er":true}}],"text":"<b>x</b>","id":1576594142685822978}',
  "d.ts": "export const answer: number = 42; // why\nfunction f() {\n  return `a`;\n}\n",
  "e.patch": "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n",
  "f.html": markup,
  "g.svg": drawing,
  "h.png": png,
  "i.txt": Buffer.from("Grüße aus München", "latin1"),
  "j.bin": Buffer.from([0, 1, 2, 3]),
  "k.pdf": "%PDF-1.4\nnot much of one",
  "l.log": "\u001B[31mred\u001B[0m\nplain\n",
  ".heddle/state": "internal",
};

async function open(page: Page, path: string) {
  await page.getByRole("button", { name: path }).click();
  return page.getByRole("dialog", { name: path });
}

describe("the viewer of files", () => {
  useConsolePages();

  async function openFiles() {
    const opened = await openConsolePage({
      prepare: ({ workspace }) => {
        for (const [path, content] of Object.entries(files)) workspace.set(path, content);
      },
    });
    await opened.asks("Make files");
    await opened.page.getByRole("button", { name: "a.md" }).waitFor();
    return opened;
  }

  test("shows Markdown, tables, JSON and code as what they are, and their source", async () => {
    await using opened = await openFiles();
    const { page } = opened;
    expect(await page.locator("#file-list").textContent()).not.toContain("state");

    let viewer = await open(page, "a.md");
    await viewer.getByRole("heading", { name: "Title" }).waitFor();
    await viewer.locator(".hljs-string, .hljs-built_in").first().waitFor();
    expect(await viewer.locator(".note").textContent()).toBe("1Really & truly.");
    await viewer.getByRole("button", { name: "Source" }).click();
    await viewer.locator(".source").getByText("=====").waitFor();
    expect(await viewer.locator(".numbers").textContent()).toBe("1\n2\n3\n4\n5\n6\n7\n8\n9\n10");

    await viewer.getByRole("button", { name: "Next file" }).click();
    viewer = page.getByRole("dialog", { name: "b.csv" });
    await viewer.getByText("2 rows").waitFor();
    expect(await viewer.locator("td").allTextContents()).toEqual(["Ada, L.", "12", "Grace", "7"]);

    await page.keyboard.press("j");
    viewer = page.getByRole("dialog", { name: "c.json" });
    await viewer.getByText('"<b>x</b>"').waitFor();
    expect(await viewer.locator(".json-leaf").last().textContent()).toBe("id: 1576594142685822978");
    expect(await viewer.getByText("true").isVisible()).toBe(false);
    await viewer.getByText("2: { 1 key }").click();
    await viewer.getByText("deep: { 1 key }").click();
    await viewer.getByText("true").waitFor();

    await page.keyboard.press("j");
    viewer = page.getByRole("dialog", { name: "d.ts" });
    expect(await viewer.locator(".hljs-comment").textContent()).toBe("// why");
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await shot(page, `viewer-code-${colorScheme}`);
      expect(await poorContrast(page)).toEqual({});
    }
    await page.keyboard.press("j");
    viewer = page.getByRole("dialog", { name: "e.patch" });
    expect(await viewer.locator(".hljs-addition").textContent()).toBe("+new");
    await page.keyboard.press("k");
    await page.getByRole("dialog", { name: "d.ts" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator('#file-list button:focus[title="View d.ts"]').waitFor();
    opened.expectInnocent();
  });

  test("shows pages, drawings, pictures and PDF, and runs none of their scripts", async () => {
    await using opened = await openFiles();
    const { page } = opened;
    const before = await page.title();
    await open(page, "f.html");
    const heading = page.frameLocator("iframe").getByRole("heading", { name: "Report" });
    await heading.waitFor();
    const color = "getComputedStyle(document.querySelector('h1')).color";
    expect(await page.frames()[1]?.evaluate(color)).toBe("rgb(1, 2, 3)");
    expect(await page.frameLocator("iframe").getByText("ran").count()).toBe(0);
    await page.getByRole("button", { name: "Source" }).click();
    await page.getByRole("dialog").getByText("onerror=").waitFor();

    const width = async () => {
      await page.getByRole("dialog").getByRole("img").waitFor();
      return await page.evaluate(
        "(async (img) => (await img.decode(), img.naturalWidth))(document.querySelector('#viewer img'))",
      );
    };
    await page.keyboard.press("j");
    expect(await width()).toBe(40);
    await page.keyboard.press("j");
    await page.getByRole("dialog", { name: "h.png" }).waitFor();
    await expect.poll(width).toBe(1);
    await page.keyboard.press("j");
    await page.getByText("Grüße aus München").waitFor();
    await page.getByText("This file is in Latin-1.").waitFor();
    await page.keyboard.press("j");
    await page.getByText("Not a text file.").waitFor();
    await page.keyboard.press("j");
    await page.getByRole("dialog", { name: "k.pdf" }).locator("iframe, .nothing").first().waitFor();
    await page.keyboard.press("j");
    await page.locator("dialog .ansi-red").getByText("red").waitFor();
    expect(await page.title()).toBe(before);
  });

  test("a preview has no origin, no script and no request, opened by itself too", async () => {
    await using opened = await openFiles();
    const { page, console } = opened;
    const { thread } = await opened.said();
    const address = `${console.url}/api/threads/${thread.thread}/file?path=f.html`;
    const saved = await fetch(address);
    expect(saved.headers.get("content-type")).toBe("application/octet-stream");
    const shown = await fetch(`${address}&preview=1`);
    expect(shown.headers.get("content-security-policy")).toMatch(/default-src 'none'.*; sandbox$/);
    expect((await fetch(`${console.url}/api/threads/${thread.thread}/file?path=d.ts&preview=1`)).status).toBe(
      204,
    );
    const other = await page.context().newPage();
    await other.goto(`${address}&preview=1`);
    expect(await other.title()).toBe("");
    expect(await other.getByText("ran").count()).toBe(0);
  });
});
