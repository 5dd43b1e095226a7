import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cutMarkdown, cutMarkdownStart, splitMarkdown } from "../../src/chat/markdown.ts";

const limit = 400;

/** Paragraphs, long words and code of all kinds. */
function anyDocument() {
  const word = fc.stringMatching(/^[a-z<>&*_#🧵é]{1,12}$/u);
  const line = fc.oneof(
    { weight: 6, arbitrary: fc.array(word, { maxLength: 20 }).map((words) => words.join(" ")) },
    { weight: 1, arbitrary: fc.constant("") },
    { weight: 1, arbitrary: word.map((text) => text.repeat(90)) },
  );
  const code = fc
    .tuple(
      fc.constantFrom("```", "````", "~~~", "  ```"),
      fc.constantFrom("", "ts", "python title"),
      fc.array(line),
    )
    .map(([marker, info, lines]) => [marker + info, ...lines, marker].join("\n"));
  return fc.array(fc.oneof(line, code), { maxLength: 60 }).map((blocks) => blocks.join("\n"));
}

const document = anyDocument();

describe("splitMarkdown", () => {
  test("leaves a short text as it is", () => {
    expect(splitMarkdown("# Title\n\n text \n", limit)).toEqual(["# Title\n\n text \n"]);
  });

  test("prefers the end of a paragraph to the end of a line", () => {
    const paragraph = `${"word ".repeat(30)}\n${"word ".repeat(30)}`;
    const parts = splitMarkdown(`${paragraph}\n\n${paragraph}`, limit);
    expect(parts).toEqual([paragraph.trimEnd(), paragraph]);
  });

  test("moves a fence that fits into one part to the next part in one piece", () => {
    const code = `\`\`\`python\n${"x = 1\n".repeat(40)}\`\`\``;
    expect(splitMarkdown(`${"Intro. ".repeat(30)}\n${code}`, limit)[1]).toBe(code);
  });

  test("repeats the headings of a table that is cut, and of no other lines", () => {
    const head = "| name | state |\n| --- | --- |\n";
    const rows = Array.from({ length: 40 }, (_, row) => `| row ${row} | ok |`);
    const [first, ...others] = splitMarkdown(`All rows:\n${head}${rows.join("\n")}\n\nThat is all.`, limit);
    expect(first).toContain(head);
    expect(others.map((part) => part.slice(0, head.length))).toEqual(others.map(() => head));
    expect([first, ...others].flatMap((part) => part.match(/^\| row .*$/gm))).toEqual(rows);
    const pipes = "a | b\n".repeat(100);
    expect(splitMarkdown(pipes, limit).join("\n")).toBe(pipes);
  });

  test("closes a longer fence and opens it again with its language", () => {
    const [first, second] = splitMarkdown(`\`\`\`python\n${"x = 1\n".repeat(100)}\`\`\``, limit);
    expect(first).toMatch(/^```python\n(x = 1\n)+```$/);
    expect(second).toMatch(/^```python\n(x = 1\n)+```$/);
  });

  test("closes a fence whose own end is just past the limit", () => {
    const [first, second] = splitMarkdown(`\`\`\`\n${"x".repeat(limit - 4)}\n\`\`\`\n`, limit);
    expect(first).toMatch(/^```\nx+\n```$/);
    expect(second).toMatch(/^```\nx+\n```\n$/);
  });

  test("knows a fence that an item of a list begins with", () => {
    const item = "- ```js\n  let a = 1;\n  ```";
    const paragraph = "word ".repeat(50).trimEnd();
    expect(splitMarkdown(`${item}\n\n${paragraph}\n\n${paragraph}`, limit)).toEqual([
      `${item}\n\n${paragraph}`,
      paragraph,
    ]);
    const [first, second] = splitMarkdown(`1. ~~~py\n${"   x = 1\n".repeat(60)}   ~~~\n\nThe end.`, limit);
    expect(first).toMatch(/^1\. ~~~py\n( {3}x = 1\n)+ {3}~~~$/);
    expect(second).toMatch(/^ {3}~~~py\n( {3}x = 1\n)+ {3}~~~\n\nThe end\.$/);
    // In a fence it is no end.
    expect(splitMarkdown(`\`\`\`\n- \`\`\`\n${"x\n".repeat(300)}\`\`\``, limit)[1]).toMatch(/^```\nx\n/);
  });

  test("cuts a line that is too long after a word and not within a character", () => {
    expect(splitMarkdown("word ".repeat(200), limit)[0]).toMatch(/^(word )+$/);
    for (const part of splitMarkdown("🧵".repeat(500), limit)) expect(part).toMatch(/^(🧵)+$/u);
  });

  test("keeps every part within the limit, every fence balanced and every word", () => {
    fc.assert(
      fc.property(document, fc.integer({ min: 400, max: 2_000 }), (text, size) => {
        const parts = splitMarkdown(text, size);
        for (const part of parts) {
          expect(part.length).toBeLessThanOrEqual(size);
          expect(endsInFence(part)).toBe(false);
        }
        expect(withoutFences(parts.join("\n"))).toBe(withoutFences(text));
      }),
    );
  });

  test("ends for any text", () => {
    const hostile = fc.string({
      unit: fc.constantFrom("`", "~", "- ", " ", "\n", "\r", "a", "🧵"),
      maxLength: 3_000,
    });
    fc.assert(
      fc.property(hostile, (text) => {
        for (const part of splitMarkdown(text, limit)) expect(part.length).toBeLessThanOrEqual(limit);
      }),
    );
  });
});

describe("cutMarkdown", () => {
  test("keeps the beginning, says that something is missing, and closes the fence", () => {
    const text = cutMarkdown(`\`\`\`\n${"x\n".repeat(500)}\`\`\``, limit);
    expect(text.length).toBeLessThanOrEqual(limit);
    expect(text).toMatch(/^```\n(x\n)+```\n…$/);
  });

  test("leaves a text that fits as it is", () => {
    expect(cutMarkdown("short", limit)).toBe("short");
  });
});

describe("cutMarkdownStart", () => {
  test("keeps the end, which begins with a paragraph and says that something is missing", () => {
    const text = `${"word ".repeat(100)}\n\n${"last ".repeat(60)}end`;
    expect(cutMarkdownStart(text, limit)).toBe(`…\n\n${"last ".repeat(60)}end`);
    expect(cutMarkdownStart("short", limit)).toBe("short");
  });

  test("opens the fence again that it was cut in, and keeps a table's headings", () => {
    const code = `\`\`\`ts\n${"line;\n".repeat(200)}\`\`\`\n\nBehind it.`;
    expect(cutMarkdownStart(code, limit)).toMatch(/^…\n\n```ts\n(line;\n)+```\n\nBehind it\.$/);
    const table = `| a | b |\n|---|---|\n${"| 1 | 2 |\n".repeat(100)}`;
    expect(cutMarkdownStart(table, limit)).toMatch(/^…\n\n\| a \| b \|\n\|---\|---\|\n(\| 1 \| 2 \|\n)+$/);
  });

  test("is of the size asked for, keeps all of the end, and ends in a fence only where the text does", () => {
    fc.assert(
      fc.property(document, fc.integer({ min: 400, max: 2_000 }), (text, size) => {
        const end = cutMarkdownStart(text, size);
        expect(end.length).toBeLessThanOrEqual(size + Math.max(200, size / 2));
        expect(end.endsWith(text.slice(-size / 2))).toBe(true);
        expect(endsInFence(end)).toBe(endsInFence(text));
      }),
    );
  });
});

/** Whether a code fence is open at the end: an independent reading of the CommonMark rule. */
function endsInFence(text: string): boolean {
  let open = "";
  for (const line of text.split("\n")) {
    const marker = /^\s*(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
    if (open === "") open = marker;
    else if (marker.startsWith(open) && line.trim() === marker) open = "";
  }
  return open !== "";
}

function withoutFences(text: string): string {
  return text.replaceAll(/^\s*(```|~~~).*$/gm, "").replaceAll(/\s/g, "");
}
