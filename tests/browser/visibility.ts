/** What an eye and a keyboard find on a page. */
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import type { Page } from "playwright-core";

/** Not imported: it is checked with the types of a browser, which nothing else here has. */
const contrast = stripTypeScriptTypes(readFileSync(new URL("in-page/contrast.ts", import.meta.url), "utf8"));

/** Every text that is hard to read, and how hard; see in-page/contrast.ts. */
export async function poorContrast(page: Page): Promise<unknown> {
  return await page.evaluate(contrast);
}

/** Pixels by which the page is wider than the screen. */
export async function overflow(page: Page): Promise<unknown> {
  return await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}

/** Words in the headings of tables, those of their lines too, that go on in another line; longer ones than people write may. */
export async function brokenWords(page: Page): Promise<unknown> {
  return await page.evaluate(`[...document.querySelectorAll(".listing th")].flatMap((cell) => {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    const broken = [];
    while (texts.nextNode())
      for (const { index, 0: word } of texts.currentNode.data.matchAll(/\\p{L}{2,12}/gu)) {
        const range = document.createRange();
        range.setStart(texts.currentNode, index);
        range.setEnd(texts.currentNode, index + word.length);
        const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
        if (lines.size > 1) broken.push(word);
      }
    return broken;
  })`);
}

/** How many presses in a row may come to nothing new before a walk has ended: what is drawn anew loses the focus. */
const patience = 5;

/** Walks from the top of the page to its end; what the focus cannot be seen on, and what it never comes to. */
export async function walk(page: Page): Promise<unknown> {
  // The first stop of each page.
  await page.locator("#skip").focus();
  const unseen: unknown[] = [];
  const visited = new Set<unknown>();
  for (let inVain = 0; inVain < patience; ) {
    const [id, seen] = (await page.evaluate(focused)) as [number | null, string];
    const known = id === null || visited.has(id);
    inVain = known ? inVain + 1 : 0;
    visited.add(id);
    if (seen && !known) unseen.push(seen);
    await page.keyboard.press("Tab");
  }
  const missed = await page.evaluate(missedStops);
  return { unseen, missed };
}

/** Gives each stop a number; a word for it when its focus cannot be seen. */
const focused = `(() => {
  const stop = document.activeElement;
  if (stop === document.body) return [null, ""];
  window.stops ??= new Map();
  if (!window.stops.has(stop)) window.stops.set(stop, window.stops.size);
  const shown = [stop, stop.form].some((node) => {
    const style = node && getComputedStyle(node);
    return style && (style.outlineStyle !== "none" || style.boxShadow.includes("0px 0px 0px 3px"));
  });
  const { top, bottom, left, right } = stop.getBoundingClientRect();
  const inside = bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
  return [window.stops.get(stop), shown && inside ? "" : stop.outerHTML.slice(0, 120)];
})()`;
/** Of a group of radio buttons the chosen one is the only stop; arrow keys lead to the others. */
const missedStops = `[...document.querySelectorAll("a[href], button, select, input, textarea, summary")]
  .filter((stop) => !stop.disabled && (stop.type !== "radio" || stop.checked) && stop.checkVisibility({ visibilityProperty: true }) && !window.stops.has(stop))
  .map((stop) => stop.outerHTML.slice(0, 120))`;
