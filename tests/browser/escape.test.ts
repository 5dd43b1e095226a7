/** Esc stops a turn where somebody means that, and only there. */
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { article, openConsolePage, useConsolePages } from "./console-page.ts";

/** Held down: one press, and then what the system repeats. Sent at once: a busy machine answers each a second later. */
async function holdEscape({ keyboard }: Page): Promise<void> {
  const presses = Array.from({ length: 5 }, () => keyboard.down("Escape"));
  await Promise.all([...presses, keyboard.up("Escape")]);
}

describe("Esc", () => {
  useConsolePages();

  test("twice or held down in a dialog, and in a filled box, leaves the turn running; in an empty one it stops it", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const { thread, ref } = await opened.asks("Sleep for ten minutes");
    await console.surface.mark(ref, "taken");
    const progress = { kind: "progress" as const, stoppable: true, markdown: "sleeping" };
    const [shown] = await console.surface.post(thread, progress, "progress");
    await article(page, "progress").getByRole("button", { name: "Stop" }).waitFor();
    const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    const box = page.getByLabel("Message to Heddle");

    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    await dialog.waitFor();
    await Promise.all([page.keyboard.press("Escape"), page.keyboard.press("Escape")]);
    await dialog.waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    await dialog.waitFor();
    await holdEscape(page);
    await dialog.waitFor({ state: "hidden" });
    const closedAt = Number(await page.evaluate("performance.now()"));
    await box.fill("And then wa");
    await box.press("Escape");
    expect(await box.inputValue()).toBe("And then wa");

    // What was sent before would have been heard before.
    await box.press("Enter");
    expect(await opened.events(2)).toMatchObject({ kind: "message", text: "And then wa" });
    await expect.poll(() => box.inputValue()).toBe("");
    // As long as Esc may still be meant for the dialog.
    await expect.poll(() => page.evaluate(`performance.now() > ${closedAt} + 1_000`)).toBe(true);
    await box.press("Escape");
    expect(await opened.events(3)).toMatchObject({ kind: "stop", target: { thread } });
    await console.surface.mark(ref, "stopped");
    const last = await opened.events(2);
    if (last.kind === "message") await console.surface.mark(last.ref, "stopped");
    if (shown) await console.surface.edit(shown, { kind: "receipt", markdown: "Stopped. 0 left." });

    // It was a mistake after all.
    await expect.poll(() => page.getByRole("button", { name: "Continue" }).count()).toBe(1);
    await article(page, "person").last().getByRole("button", { name: "Continue" }).click();
    expect(await opened.events(4)).toMatchObject({ kind: "message", text: "Continue." });
    opened.expectInnocent();
  });
});
