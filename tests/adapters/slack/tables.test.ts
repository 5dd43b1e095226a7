import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { splitTables } from "../../../src/adapters/slack/surface/tables.ts";
import type { OutboundMessage } from "../../../src/chat/outbound.ts";
import { buttonsOf, checkBlocks, notified, visibleBlocks, visibleText } from "../../fakes/slack/blocks.ts";
import { scene } from "./slack-scene.ts";

const toMarkdown = (rows: readonly (readonly string[])[]) =>
  rows
    .flatMap((row, at) => [`| ${row.join(" | ")} |`, ...(at === 0 ? [`|${"---|".repeat(row.length)}`] : [])])
    .join("\n");

const tablesOf = (markdown: string) =>
  (splitTables(markdown) ?? []).flatMap((part) => (typeof part === "string" ? [] : [part]));

describe("A table in an answer", () => {
  const table = "| file | size | note |\n|---|--:|---|\n| a.ts | 12 | |\n| **b.ts** | -3.5 | `ok` |";
  const answer: OutboundMessage = { kind: "answer", markdown: `Both fail:\n\n${table}\n\nThat is all.` };

  test("is one of Slack's own, between what stands above and below it", async () => {
    const { surface, thread, replies } = await scene();
    await surface.post(thread, { ...answer, footer: "end" }, "k");
    const [posted] = replies();
    expect(posted?.blocks.map(({ type }) => type)).toEqual(["markdown", "data_table", "markdown", "context"]);
    expect(posted && visibleText(posted)).toBe(
      "Both fail:\n| file | size | note |\n| a.ts | 12 | \u00A0 |\n| b.ts | -3.5 | ok |\nThat is all.\n(end)",
    );
    expect(posted?.blocks[1]).toMatchObject({
      caption: "file, size, note",
      rows: [
        [{ type: "raw_text", text: "file" }, {}, {}],
        [{ type: "raw_text" }, { type: "raw_number", value: 12, text: "12" }, { text: "\u00A0" }],
        [{ type: "rich_text" }, { type: "raw_number", value: -3.5 }, { type: "rich_text" }],
      ],
    });
    // Notifications have its words.
    expect(posted?.text).toContain("a.ts, 12");
  });

  test("is Markdown where the workspace does not take it, which is tried once, and plain text where it takes none", async () => {
    const { slack, surface, thread, replies } = await scene();
    slack.refuse("chat.postMessage", ({ blocks }) =>
      String(blocks).includes("data_table") ? "invalid_blocks" : undefined,
    );
    for (const key of ["1", "2"]) await surface.post(thread, answer, key);
    expect(replies().map(({ blocks }) => blocks)).toEqual([
      [{ type: "markdown", text: answer.markdown }],
      [{ type: "markdown", text: answer.markdown }],
    ]);
    expect(slack.calls.filter(({ method }) => method === "chat.postMessage")).toHaveLength(3);

    const plain = await scene();
    plain.slack.refuse("chat.postMessage", ({ blocks }) =>
      blocks === "[]" ? undefined : "invalid_attachments",
    );
    await plain.surface.post(plain.thread, answer, "k");
    expect(plain.replies()).toMatchObject([{ text: answer.markdown, blocks: [] }]);
  });

  test("costs no other native block where Slack refuses one of the two", async () => {
    const rated: OutboundMessage = {
      ...answer,
      actions: [
        { id: "rate:t:liked", label: "👍", style: "plain", rates: "good" },
        { id: "rate:t:disliked", label: "👎", style: "plain", rates: "bad" },
      ],
    };
    const { slack, surface, thread, replies } = await scene();
    slack.refuse("chat.postMessage", ({ blocks }) =>
      String(blocks).includes("context_actions") ? "invalid_blocks" : undefined,
    );
    for (const key of ["1", "2"]) await surface.post(thread, rated, key);
    for (const posted of replies()) {
      expect(posted.blocks.map(({ type }) => type)).toContain("data_table");
      expect(buttonsOf(posted).map(({ type }) => type)).toEqual(["button", "button"]);
    }
    // The second message does not ask again.
    expect(slack.calls.filter(({ method }) => method === "chat.postMessage")).toHaveLength(4);
  });

  test("stays Markdown in what is still being worked on", async () => {
    const { surface, thread, replies } = await scene();
    await surface.post(thread, { kind: "progress", markdown: table }, "k");
    expect(replies()[0]?.blocks).toEqual([{ type: "markdown", text: table }]);
  });

  test("calls nobody, whatever stands in its cells", async () => {
    const { surface, thread, replies } = await scene();
    const hostile = ["<!channel>", "&lt;!here&gt;", "&#60;@U0ADA&#62;", "<@U0ADA>", "`<!everyone>`", "@here"];
    await surface.post(
      thread,
      { kind: "answer", markdown: toMarkdown([["a"], ...hostile.map((c) => [c])]) },
      "k",
    );
    const [posted] = replies();
    expect(posted?.blocks.map(({ type }) => type)).toEqual(["data_table"]);
    expect(posted && notified(posted)).toEqual([]);
  });
});

test.each([
  ["more than 100 rows below its head", toMarkdown(Array.from({ length: 102 }, () => ["1", "2"])), 0],
  ["a hundred of them", toMarkdown(Array.from({ length: 101 }, () => ["1", "2"])), 1],
  ["more than twenty columns", toMarkdown([Array(21).fill("a"), Array(21).fill("1")]), 0],
  ["twenty of them", toMarkdown([Array(20).fill("a"), Array(20).fill("1")]), 1],
  ["nothing below its head", toMarkdown([["a", "b"]]), 0],
  ["more than 10,000 characters", toMarkdown([["a"], ["x".repeat(10_000)]]), 0],
  ["10,000 of them", toMarkdown([["a"], ["x".repeat(9_999)]]), 1],
  ["a picture in a cell", "| a |\n|---|\n| ![x](https://x.example/a.png) |", 0],
  ["HTML in a cell", "| a |\n|---|\n| one<br>two |", 0],
  ["an address that is none of the web", "| a |\n|---|\n| [x](mailto:a@x.example) |", 0],
  ["a place in a list", "- a\n\n  | a |\n  |---|\n  | 1 |", 0],
  ["a fence around it", "```\n| a |\n|---|\n| 1 |\n```", 0],
])("A table with %s is shown by Slack only where that shows all of it", (_what, markdown, shown) => {
  const tables = tablesOf(markdown);
  expect(tables).toHaveLength(shown);
  expect(checkBlocks(tables).ok).toBe(true);
});

test("Of several tables those are Slack's own that fit into a message together", () => {
  const half = toMarkdown([["a"], ["x".repeat(6_000)]]);
  const parts = splitTables(`${half}\n\nand\n\n${half}`) ?? [];
  expect(parts.map((part) => typeof part)).toEqual(["object", "string"]);
  expect(parts[1]).toContain("xxx");
});

test.each(["007", "1e3", "1.10", "0x10", "+5", "1,000", "Infinity", "-0", "12345678901234567890"])(
  "%s stays text, since as a number it would read differently",
  (cell) => {
    expect(tablesOf(toMarkdown([["a"], [cell]]))[0]?.rows[1]).toEqual([{ type: "raw_text", text: cell }]);
  },
);

test("No cell is lost or changed", () => {
  const cell = fc.stringMatching(/^[\p{L}\p{N} .,:+-]{0,12}$/u).map((text) => text.trim());
  const rows = fc
    .integer({ min: 1, max: 5 })
    .chain((columns) =>
      fc.array(fc.array(cell, { minLength: columns, maxLength: columns }), { minLength: 2, maxLength: 8 }),
    );
  fc.assert(
    fc.property(rows, (cells) => {
      const [header = [], ...body] = cells;
      // A row of nothing but blanks ends a table.
      fc.pre(header.every((text) => text !== "") && body.every((row) => row.some((text) => text !== "")));
      const tables = tablesOf(toMarkdown(cells));
      fc.pre(tables.length === 1);
      const shown = visibleBlocks(tables.map((table) => ({ ...table })));
      const expected = cells.map((row) => `| ${row.map((text) => text || "\u00A0").join(" | ")} |`);
      expect(shown).toBe(expected.join("\n"));
      expect(checkBlocks(tables).ok).toBe(true);
    }),
    { numRuns: 60 },
  );
});
