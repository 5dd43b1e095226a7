/** The rules of axe-core, as an automatic check of accessibility. */
import { source } from "axe-core";
import type { Page } from "playwright-core";

/** Every violation on the page as it is: the rule, and where. */
export async function violations(page: Page, options: object = {}): Promise<unknown> {
  // Not by a script element: the page's policy lets none in.
  await page.evaluate(source);
  return await page.evaluate(`axe.run(document, { resultTypes: ["violations"], ...${JSON.stringify(options)} }).then(
    ({ violations }) =>
      violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map(({ html }) => html.slice(0, 160))]))`);
}
