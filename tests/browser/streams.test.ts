/** What the page does when the stream that it follows is refused. */
import { describe, expect, test } from "vitest";
import { write } from "../adapters/console/sessions.ts";
import type { TestConsole } from "../adapters/console/start-console.ts";
import { openConsolePage, useConsolePages } from "./console-page.ts";

const oneThread = async ({ redis }: TestConsole) => {
  await write(redis.client(), "slack:T1:C7GENERAL:173.1", "Count the invoices of May");
};

describe("a stream that is refused", () => {
  useConsolePages();

  test("leaves what somebody searches for as it is, and is opened again when a proxy's error is over", async () => {
    await using at = await openConsolePage({ prepare: oneThread });
    const { page } = at;
    let refusals = 0;
    await page.route("**/api/v1/sessions/events**", (route) => {
      refusals += 1;
      return route.fulfill({ status: 502, contentType: "text/html", body: "<html>Bad Gateway</html>" });
    });
    await page.getByRole("link", { name: "All threads" }).click();
    const search = page.getByLabel("Search threads");
    await search.fill("invoices");
    await page.getByText("More filters").click();
    await page.getByText("Reconnecting…").waitFor();
    const before = refusals;
    await expect.poll(() => refusals, { timeout: 20_000 }).toBeGreaterThan(before + 3);
    await page.unroute("**/api/v1/sessions/events**");
    await page.locator("#report .lines li").getByText("Count the invoices").waitFor();
    expect(await search.inputValue()).toBe("invoices");
    expect(await page.getByLabel("From").isVisible()).toBe(true);
    await page.getByText("Reconnecting…").waitFor({ state: "hidden" });
  });

  test("leads to signing in where the cookie opens nothing any more", async () => {
    const token = "correct-horse-battery";
    await using at = await openConsolePage({ token, prepare: oneThread });
    const { page } = at;
    await page.getByLabel("Token").fill(token);
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "All threads" }).click();
    await page.locator("#report .lines li").getByText("Count the invoices").waitFor();
    await page.context().clearCookies();
    // Another order is another stream.
    await page.getByRole("combobox", { name: "Order" }).selectOption("oldest");
    await page.getByRole("dialog").getByLabel("Token").waitFor();
  });

  test("is not brought about by a year that is being typed, nor by a long search", async () => {
    await using at = await openConsolePage({ prepare: oneThread });
    const { page } = at;
    const refused: string[] = [];
    page.on("response", (response) => {
      if (response.status() >= 400) refused.push(response.url());
    });
    await page.getByRole("link", { name: "All threads" }).click();
    const rows = page.locator("#report .lines li").getByText("Count the invoices");
    await rows.waitFor();
    await page.getByText("More filters").click();
    const from = page.getByLabel("From");
    await from.focus();
    // Chromium has years 0002, 0020 and 0202 on the way.
    for (const digit of "11292026") {
      await page.keyboard.press(digit);
      await page.waitForTimeout(400);
    }
    expect(await from.inputValue()).toBe("2026-11-29");
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByLabel("Search threads").focus();
    await page.keyboard.insertText("invoices ".repeat(40));
    await page.getByText("No matching threads.").or(rows).first().waitFor();
    await page.waitForTimeout(1_000);
    expect(await page.getByLabel("Search threads").inputValue()).toHaveLength(300);
    expect(refused).toEqual([]);
  });
});
