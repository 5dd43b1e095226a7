/** A form that an MCP server has asked for, as a person at the console fills it in. */
import { describe, expect, test } from "vitest";
import type { InputField } from "../../src/agent/server-input.ts";
import type { InboundEvent, IntakeResult } from "../../src/chat/inbound.ts";
import type { TestConsole } from "../adapters/console/start-console.ts";
import { expectAccessible } from "./axe.ts";
import { shot } from "./chromium.ts";
import { openConsolePage, useConsolePages } from "./console-page.ts";
import { overflow } from "./visibility.ts";

const thread = { platform: "local", workspace: "console", channel: "main", thread: "abcdefgh11111111" };

const fields: InputField[] = [
  { name: "subject", title: "Subject", kind: "text", required: true, about: "One line", most: 40 },
  { name: "count", title: "How many", kind: "integer", required: true, least: 1, most: 9 },
  { name: "mail", title: "Reply to", kind: "text", format: "email", required: false },
  { name: "due", title: "Due", kind: "text", format: "date", required: false, default: "2026-12-24" },
  // A server may offer what is no time.
  { name: "at", title: "At", kind: "text", format: "date-time", required: false, default: "soon" },
  { name: "urgent", title: "Urgent", kind: "yes-no", required: false },
  {
    ...{ name: "colour", title: "Colour", kind: "one", required: true },
    options: [
      { value: "r", title: "Red" },
      { value: "b", title: "Blue" },
    ],
  },
  {
    ...{ name: "tags", title: "Tags", kind: "many", required: false, least: 2, default: "A, C" },
    options: ["A", "B", "C"].map((title) => ({ value: title.toLowerCase(), title })),
  },
];

/** Posts the question; its press is answered with the form, and what is put in with `taken`. */
async function prepare({ intake, surface }: TestConsole, taken: () => IntakeResult): Promise<void> {
  intake.result = (event: InboundEvent) =>
    event.kind === "action" && !event.fields
      ? { kind: "acted", thread: "t", form: { title: "tickets asks", fields } }
      : taken();
  const button = {
    id: "input:q1:text",
    label: "Answer…",
    style: "primary",
    asksFor: "A line for each",
  } as const;
  const actions = [{ ...button, inputs: fields.length }];
  await surface.post(thread, { kind: "question", markdown: "**tickets** asks Ada:", actions }, "asked");
}

describe("a form", () => {
  useConsolePages();

  test("is filled in with the keyboard alone, judged before it is sent, and sent as values", async () => {
    await using at = await openConsolePage({
      prepare: (console) => prepare(console, () => ({ kind: "acted", thread: "t" })),
    });
    const { page } = at;
    await page.goto(`${at.console.url}#/t/abcdefgh11111111`);
    await page.getByRole("button", { name: "Answer…" }).click();
    const dialog = page.getByRole("dialog", { name: "tickets asks" });
    await dialog.waitFor();
    await expectAccessible(page, "a form");
    expect(await overflow(page)).toBe(0);
    const sent = () => at.console.intake.events.filter((event) => event.kind === "action" && event.fields);

    // Enter in a line sends, as everywhere.
    await page.keyboard.press("Enter");
    await dialog.getByRole("alert").getByText("Please correct: Subject, How many, Colour.").waitFor();
    expect(sent()).toEqual([]);
    await expectAccessible(page, "a form with mistakes");
    await shot(page, "form-mistakes");
    expect(await page.locator(":focus").getAttribute("id")).toBe("field-0");
    // What is too long is not cut off, as a browser does with what is pasted.
    await dialog.getByLabel("Subject").fill("");
    await page.keyboard.insertText("x".repeat(45));
    await page.keyboard.press("Enter");
    await dialog.getByText("These are 45 characters, and 40 is the most.").waitFor();
    expect(await dialog.getByLabel("Subject").inputValue()).toHaveLength(45);
    await dialog.getByLabel("Subject").fill("Broken lamp");
    await page.keyboard.press("Tab");
    await page.keyboard.type("12");
    await page.keyboard.press("Tab");
    await page.keyboard.type("nobody");
    await dialog.getByRole("radiogroup", { name: "Colour" }).getByLabel("Red").focus();
    await page.keyboard.press("ArrowDown");
    await dialog.getByLabel("B", { exact: true }).focus();
    await page.keyboard.press("Space");
    await page.keyboard.press("Enter");
    await dialog.getByText("Please correct: How many, Reply to.").waitFor();
    expect(await dialog.getByLabel("How many").getAttribute("aria-invalid")).toBe("true");
    expect(await dialog.getByLabel("Subject").getAttribute("aria-invalid")).toBe("false");
    await dialog.getByLabel("How many").fill("3");
    await dialog.getByLabel("Reply to").fill("ada@example.com");
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "hidden" });
    expect(sent()).toMatchObject([
      {
        action: "input:q1:text",
        fields: {
          ...{ subject: "Broken lamp", count: 3, mail: "ada@example.com", due: "2026-12-24" },
          ...{ colour: [1], tags: [0, 1, 2] },
        },
      },
    ]);
    at.expectInnocent();
  });

  test("stays with what was put in where the server refuses it, at the field, and is put away by Escape", async () => {
    await using at = await openConsolePage({
      prepare: (console) =>
        prepare(console, () => ({
          kind: "refused",
          reply: "Subject: expected another text.",
          field: "subject",
        })),
    });
    const { page } = at;
    await page.goto(`${at.console.url}#/t/abcdefgh11111111`);
    await page.getByRole("button", { name: "Answer…" }).click();
    const dialog = page.getByRole("dialog", { name: "tickets asks" });
    await dialog.getByLabel("Subject").fill("Lamp");
    await dialog.getByLabel("How many").fill("1");
    await dialog.getByLabel("Red").check();
    await dialog.getByRole("button", { name: "Send" }).click();
    await dialog.getByText("Subject: expected another text.").waitFor();
    expect(await dialog.getByLabel("Subject").inputValue()).toBe("Lamp");
    expect(await page.locator(":focus").getAttribute("id")).toBe("field-0");
    await shot(page, "form-refused");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    expect(await page.locator("#log article").count()).toBe(1);
    at.expectInnocent();
  });
});
