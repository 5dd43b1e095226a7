import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import createMarkdownIt from "markdown-it";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import {
  cutForDiscord,
  escapeForDiscord,
  splitForDiscord,
} from "../../../src/adapters/discord/markdown/markdown.ts";
import { renderOne, renderParts } from "../../../src/adapters/discord/surface/render.ts";
import { type DiscordText, readDiscord } from "./read-discord.ts";

const caseSchema = z.object({ name: z.string(), in: z.string(), out: z.string() });
const cases = z
  .array(caseSchema)
  .parse(parse(readFileSync(new URL("markdown-cases.yaml", import.meta.url), "utf8")))
  .map((one) => ({ ...one, out: one.out.replaceAll("‸", "\u200B") }));

const limit = 2_000;
const footer = "3 steps · **8** s";
const shownFooter = [footer];

/** All that is read of a message as it is posted, and as an edit shows it. */
function readMessage(markdown: string): DiscordText {
  const { content } = renderOne({ kind: "answer", markdown, footer });
  expect(renderParts({ kind: "answer", markdown, footer })[0]?.content).toBe(content);
  expect(content?.length).toBeLessThanOrEqual(limit);
  return readDiscord(content ?? "");
}

/** The blocks of code that CommonMark sees in it, by another reading than that of the renderer. */
function codeOf(markdown: string): string[] {
  const blocks = createMarkdownIt({ html: true })
    .parse(markdown, {})
    .filter(({ type, content }) => /^(?:fence|code_block)$/.test(type) && content.trim() !== "");
  // Discord shows no blank lines at the ends of a block.
  return blocks.map(({ content }) => content.replace(/^\n+/, "").replace(/\n+$/, ""));
}

function removeZeroWidth(text: string): string {
  return text.replaceAll("\u200B", "");
}

describe("what a model writes is what Discord shows", () => {
  test.each(cases)("$name", ({ in: markdown, out }) => {
    expect(splitForDiscord(markdown, limit)).toEqual([out]);
  });

  test.each(cases)("$name: all code in blocks of code, and the small print by itself", ({ in: markdown }) => {
    const { blocks, small, mentions } = readMessage(markdown);
    expect(blocks.map(({ text }) => removeZeroWidth(text))).toEqual(expect.arrayContaining(codeOf(markdown)));
    expect(small).toEqual(shownFooter);
    expect(mentions).toEqual([]);
  });

  test.each(cases)("$name: each beginning of it is whole, as an edit shows it", ({ in: markdown }) => {
    for (let length = 1; length < markdown.length; length += 1) {
      const beginning = markdown.slice(0, length).toWellFormed();
      const { blocks, small } = readMessage(beginning);
      expect(blocks.map(({ text }) => removeZeroWidth(text))).toEqual(
        expect.arrayContaining(codeOf(beginning)),
      );
      expect(small).toEqual(shownFooter);
    }
  });
});

const signs = fc.constantFrom(
  ..."*_~|`\\[]()<>#-+.:@!1a é".split(""),
  "||",
  "**",
  "__",
  "```",
  "-# ",
  "# ",
  "> ",
  "1. ",
  "- ",
  "<@1>",
  "@here",
  "](",
  "word",
);
const line = fc.array(signs, { maxLength: 12 }).map((parts) => parts.join("").replaceAll(/\s+/g, " ").trim());

test("a text in which every sign is escaped reads as it was written", () => {
  fc.assert(
    fc.property(line, (text) => {
      const escaped = text.replaceAll(/[!-/:-@[-`{-~]/g, "\\$&");
      const { shown, marks, mentions, small } = readDiscord(splitForDiscord(escaped, limit)[0]);
      expect({ shown: shown.trim(), marks, mentions, small }).toEqual({
        ...{ shown: text, marks: [], mentions: [], small: [] },
      });
      expect(readDiscord(escapeForDiscord(text)).shown).toBe(text);
    }),
  );
});

const word = fc.stringMatching(/^[a-z<>&*_#|~🧵é]{1,12}$/u);
const words = fc.oneof(
  { weight: 6, arbitrary: fc.array(word, { maxLength: 20 }).map((list) => list.join(" ")) },
  { weight: 1, arbitrary: fc.constant("") },
  { weight: 1, arbitrary: word.map((text) => text.repeat(90)) },
);
const codeBlock = fc
  .tuple(fc.constantFrom("```", "````", "~~~"), fc.constantFrom("", "ts", "python title"), fc.array(words))
  .map(([fence, info, lines]) => [fence + info, ...lines, fence].join("\n"));
const document = fc
  .array(
    fc.oneof(
      words,
      codeBlock,
      words.map((text) => `**${text}**`),
      words.map((text) => `- ${text}`),
    ),
    { maxLength: 40 },
  )
  .map((blocks) => blocks.join("\n"));

describe("a long text in several messages", () => {
  test("is cut so that each message is whole, and loses nothing", () => {
    fc.assert(
      fc.property(document, fc.integer({ min: 400, max: limit }), (text, size) => {
        // What shows that a quotation quotes is in each message anew, so there is more of it.
        fc.pre(!/^(?:- )?\s*>\s*>/m.test(text));
        const parts = splitForDiscord(text, size);
        const [whole] = splitForDiscord(text, 1_000_000);
        const shown = parts.map((part) => readDiscord(part));
        for (const part of parts) expect(part.length).toBeLessThanOrEqual(size);
        const join = (texts: string[]) => texts.join("").replaceAll(/\s|\u200B/g, "");
        expect(join(shown.flatMap(({ blocks }) => blocks.map((block) => block.text)))).toBe(
          join(readDiscord(whole).blocks.map((block) => block.text)),
        );
        expect(join(shown.map((part) => part.shown))).toBe(join([readDiscord(whole).shown]));
      }),
      // The cut stands behind a tilde in struck text.
      { numRuns: 60, examples: [[`- ${"_#~~&~".repeat(91)}`, 404]] },
    );
  });

  test("is not too long for its empty blocks", () => {
    const empty = "```\n```\n".repeat(300);
    for (const part of splitForDiscord(empty, 404)) expect(part.length).toBeLessThanOrEqual(404);
  });

  test("repeats the headings of a table, keeps a block that fits in one piece, and opens others again", () => {
    const rows = Array.from({ length: 150 }, (_, row) => `| row ${row} | ok |`);
    const tables = splitForDiscord(`All:\n| name | state |\n|-|-|\n${rows.join("\n")}`, 400);
    expect(tables.length).toBeGreaterThan(2);
    for (const part of tables)
      expect(readDiscord(part).blocks[0]?.text).toMatch(/^name +state\n─+ +─+\nrow /);
    const code = `\`\`\`python\n${"x = 1\n".repeat(40)}\`\`\``;
    expect(splitForDiscord(`${"Intro. ".repeat(30)}\n${code}`, 400)[1]).toBe(code);
    for (const part of splitForDiscord(`\`\`\`python\n${"x = 1\n".repeat(200)}\`\`\``, 400))
      expect(part).toMatch(/^```python\n(x = 1\n)+```$/);
  });

  test("opens marks again that are cut, and cuts no link", () => {
    const parts = splitForDiscord(
      `**${"word ".repeat(200)}[doc](https://x.example/a)${" end".repeat(60)}**`,
      400,
    );
    for (const part of parts) expect(readDiscord(part).marks.length).toBe(1);
    expect(parts.flatMap((part) => readDiscord(part).links)).toEqual([
      { text: "doc", href: "https://x.example/a" },
    ]);
  });
});

test("what does not fit into one message ends with an ellipsis outside of everything", () => {
  const text = cutForDiscord(`Look:\n\n\`\`\`js\n${"const a = 1;\n".repeat(2_000)}`, 500);
  expect(text.length).toBeLessThanOrEqual(500);
  expect(text).toMatch(/\n```\n…$/);
  expect(readDiscord(text).shown).toMatch(/a = 1;\n\n?…$/);
});

test.each([
  ["a heading with a gap", `#### a${" ".repeat(100_000)}b`],
  ["beginnings of images", "![".repeat(5_000)],
  ["quotations in each other", `${">".repeat(20_000)} x`],
  ["lists in each other", `${"- ".repeat(20_000)} x`],
  ["stars", "*a **b ".repeat(5_000)],
  ["a table of many columns", `|a|b|\n|-|-|\n${"x|".repeat(10_000)}\n${"|c|d|\n".repeat(3_000)}`],
  ["one wide cell", `|a|b|\n|-|-|\n|${"x".repeat(20_000)}|y|\n${"|c|d|\n".repeat(3_000)}`],
])("%s grow little in messages", (_what, markdown) => {
  const parts = splitForDiscord(markdown, limit);
  expect(parts.join("").length).toBeLessThan(2.2 * markdown.length);
});
