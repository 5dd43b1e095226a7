import { expect, test } from "vitest";
import { renderMarkdown } from "../../../src/commands/run/terminal-markdown.ts";

/** Styles as tags, so that a test can be read. */
const tags: Record<string, string> = { 1: "<b>", 22: "</b>", 3: "<i>", 23: "</i>", 36: "<c>", 39: "</c>" };
const render = (markdown: string) =>
  // oxlint-disable-next-line no-control-regex -- the styles
  renderMarkdown(markdown).replaceAll(/\u001b\[(\d+)m/g, (_, code: string) => tags[code] ?? code);

test.each([
  ["**Stopped** by *root*, `rm`", "<b>Stopped</b> by <i>root</i>, <c>rm</c>"],
  ["# Plan", "<b>Plan</b>"],
  ["- one\n- two", "• one\n• two"],
  ["> said", "│ said"],
  ["```sh\nls -l\n```", "  <c>ls -l</c>"],
  ["[docs](https://x.example)", "docs (https://x.example)"],
  ["[A new thread](#/t/abcdef0123)", "A new thread (heddle run --thread abcdef0123)"],
])("a terminal shows %j styled", (markdown, shown) => {
  expect(render(markdown)).toBe(shown);
});
