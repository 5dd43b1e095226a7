import { expect, test } from "vitest";
import { discordMarkdown } from "../../../src/adapters/discord/surface/markdown.ts";

test.each([
  ["#### Deep", "**Deep**"],
  ["  ##### Deep ## ", "  **Deep**"],
  ["###### About C#", "**About C#**"],
  ["### Shown", "### Shown"],
  ["![a cat](https://a.test/cat.png)", "[a cat](https://a.test/cat.png)"],
])("%s is shown as %s", (markdown, shown) => {
  expect(discordMarkdown(markdown)).toBe(shown);
});

test("a table has its columns under each other", () => {
  const table = "| name | n |\n| --- | ---: |\n| `a` | 1 |\n| longer | 22 |";
  expect(discordMarkdown(table)).toBe("```\nname    n\n──────  ──\na       1\nlonger  22\n```");
});

test("one wide cell does not make a flood of blanks of a long table", () => {
  const table = `|a|b|\n|-|-|\n|${"x".repeat(20_000)}|y|\n${"|c|d|\n".repeat(3_000)}`;
  expect(discordMarkdown(table).length).toBeLessThan(2 * table.length);
});

test.each([
  ["a heading with a gap", `#### a${" ".repeat(100_000)}b`],
  ["beginnings of images", "![".repeat(100_000)],
  ["blanks where a table could be", `|a|b|\n${" ".repeat(100_000)}x`],
  ["a table of many columns", `|a|b|\n|-|-|\n${"x|".repeat(10_000)}\n${"|c|d|\n".repeat(3_000)}`],
])("%s is read in time that grows with its length", (_what, markdown) => {
  expect(discordMarkdown(markdown).length).toBeLessThan(2 * markdown.length);
});
