/** A page of the console in a browser, with a meter for what its changes cost. */
import type { Browser } from "playwright-core";
import { startConsole, type TestConsole } from "../tests/adapters/console/start-console.ts";

export interface Scene extends AsyncDisposable {
  console: TestConsole;
  /** Elements that the page has. */
  countElements(): Promise<number>;
  /**
   * What the page's main thread does about a change, ms: reading what came, changing the elements, style and layout.
   *
   * @param shows what is there when the change is shown
   */
  measure(change: () => Promise<void>, shows: RegExp): Promise<number>;
}

/**
 * Adds up in `window.spent` what listeners of streams and work before a frame take, with the layout that they make
 * necessary. What a promise or a timer does is not in it; the page shows no change by one.
 */
const meter = `{
  window.spent = 0;
  const timed = (act) => (...given) => {
    const from = performance.now();
    act(...given);
    document.body.getBoundingClientRect();
    window.spent += performance.now() - from;
  };
  const listen = EventSource.prototype.addEventListener;
  EventSource.prototype.addEventListener = function (name, act) {
    listen.call(this, name, timed(act));
  };
  const beforeFrame = window.requestAnimationFrame;
  window.requestAnimationFrame = (act) => beforeFrame(timed(act));
}`;

/** So long after a change is shown its last frame is over, ms. */
const settleMs = 60;

/**
 * @param at where the page is opened
 * @param shows what is there when it is
 */
export async function openScene(
  browser: Browser,
  prepare: (console: TestConsole) => Promise<void>,
  { at, shows }: { at: string; shows: RegExp },
): Promise<Scene> {
  await using parts = new AsyncDisposableStack();
  const console = parts.use(await startConsole());
  await prepare(console);
  const context = parts.adopt(await browser.newContext({ viewport: { width: 1280, height: 800 } }), (one) =>
    one.close(),
  );
  const page = await context.newPage();
  await page.addInitScript({ content: meter });
  await page.goto(`${console.url}/#${at}`);
  const seen = (text: RegExp) => page.getByText(text).first().waitFor();
  await seen(shows);
  const kept = parts.move();
  return {
    console,
    countElements: () => page.evaluate("document.querySelectorAll('*').length"),
    async measure(change, text) {
      await page.evaluate("window.spent = 0");
      await change();
      await seen(text);
      return await page.evaluate(`new Promise((done) => setTimeout(() => done(window.spent), ${settleMs}))`);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
