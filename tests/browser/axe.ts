/** The rules of axe-core, as an automatic check of accessibility. */
import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";

/** Of WCAG 2.2, which axe-core leaves out unless it is asked for: 24 pixels for what is pressed. */
const rules = { "target-size": { enabled: true } };
/** The colours are then the person's own. */
const withoutColors = { ...rules, "color-contrast": { enabled: false } };

/** Every violation on the page as it is: the rule, and where. */
export async function violations(page: Page, only: object = rules): Promise<unknown[]> {
  // Not by a script element: the page's policy lets none in.
  await page.evaluate(axe.source);
  const options = JSON.stringify({ resultTypes: ["violations"], rules: only });
  // What the script above gives.
  return (await page.evaluate(`axe.run(document, ${options}).then(
    ({ violations }) =>
      violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map(({ html }) => html.slice(0, 160))]))`)) as unknown[];
}

/** In light and dark, in forced colours, on a phone, and at 200 % zoom, where half as many pixels fit. */
export async function expectAccessible(page: Page, state: string): Promise<void> {
  const found: unknown[] = [];
  const look = async (how: string, only?: object) => {
    const all = await violations(page, only);
    if (all.length > 0) found.push([how, ...all]);
  };
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await look(colorScheme);
  }
  await page.emulateMedia({ forcedColors: "active" });
  await look("forced colours", withoutColors);
  await page.emulateMedia({ colorScheme: "light", forcedColors: "none" });
  await page.setViewportSize({ width: 390, height: 844 });
  await look("phone");
  await page.setViewportSize({ width: 640, height: 400 });
  await look("200 %");
  await page.setViewportSize({ width: 1280, height: 800 });
  expect([state, found]).toEqual([state, []]);
}
