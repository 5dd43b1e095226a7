import { describe, expect, test } from "vitest";
import { toPlainText } from "../../../src/adapters/slack/surface/plain-text.ts";

describe("The words of an answer, as a phone shows them", () => {
  test.each([
    ["a heading", "## Result\n\nIt works.", "Result\n\nIt works."],
    ["emphasis", "The build **fails** because of _lint_.", "The build fails because of lint."],
    ["a link", "See [the log](https://ci.example.com/1).", "See the log."],
    ["a table", "| file | state |\n|---|---|\n| a.ts | **red** |", "file, state\na.ts, red"],
    ["code", "Run `npm test`:\n```sh\nnpm test\n```", "Run npm test:\nnpm test"],
    ["a list", "- one\n* two\n- [x] three", "• one\n• two\n• three"],
    ["a quotation", "> ## said\n> so", "said\nso"],
    ["the headline of work", "⏳ **Working** · 12 s\n\n▸ `bash` `ls`", "⏳ Working · 12 s\n\n▸ bash ls"],
  ])("of %s", (_what, markdown, words) => {
    expect(toPlainText(markdown)).toBe(words);
  });

  test("keep what only looks like a mark", () => {
    const text = "2 * 3 = 6 in snake_case and *.ts, a - b";
    expect(toPlainText(text)).toBe(text);
  });

  test("are not in a fence, a rule or an empty point, also with blanks around them and CRLF", () => {
    expect(toPlainText("a\r\n  ```ts \r\n~~~\n * * *\n-  \n== = \r\n :-- | ---: \nb")).toBe("a\nb");
  });

  // A pattern that reads it anew from each place exceeds the test's own time limit.
  test.each([" ", "-", "|", "- ", "> ", " *a", "_a ", " ~~a ", "[a](", "`a "])(
    "of a line of 256 KB made of %j take no more than a moment",
    (piece) => {
      expect(toPlainText(`${piece.repeat((1 << 18) / piece.length)}x`)).toContain("x");
    },
  );
});
