import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";

/** Where Chromium is; undefined where there is none. */
const chromiumPath = ["/usr/bin/chromium", ...pathsOf("chromium")].find(isExecutable);
export const noChromium = "chromium is not on PATH: install it, as with apt install chromium";

/** With a browser beside everything else, a busy machine takes its time. */
export const browserPatienceMs = 90_000;

/** A browser without a window; undefined where there is none. */
export async function launchChromium(): Promise<Browser | undefined> {
  if (!chromiumPath) return undefined;
  const args = [
    ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
    ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
  ];
  return await chromium.launch({ executablePath: chromiumPath, args, timeout: browserPatienceMs });
}

/** Saves what is to be seen when HEDDLE_SCREENSHOTS names a folder. */
export async function shot(page: Page, name: string): Promise<void> {
  const folder = process.env["HEDDLE_SCREENSHOTS"];
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`) });
}

function pathsOf(name: string): string[] {
  return (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, name));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
