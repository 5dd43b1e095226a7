import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseMarkdown } from "../../../src/adapters/console/page/markdown/blocks.ts";
import { toSpoken } from "../../../src/adapters/console/page/markdown/plain.ts";
import {
  changesScriptOften,
  hasManyElements,
  splitPieces,
} from "../../../src/adapters/console/page/markdown/heavy.ts";

test("what is read out has the words alone", () => {
  const text =
    "# Done\n\nIt **works**, `npm test` [passes](https://example.com)[^1].\n\n- [x] *one*\n- two\n\n| a | b |\n|--|--|\n| 1 | ~~2~~ |\n\n```js\nrun()\n```\n---\n> quoted\n\n[^1]: Mostly.";
  expect(toSpoken(text, 300)).toBe("Done It works, npm test passes. one two a b 1 2 run() quoted Mostly.");
  expect(toSpoken("a".repeat(5_000), 300)).toBe("a".repeat(300));
  expect(toSpoken("*a* ".repeat(5_000), 9)).toBe("a a a a a");
});

/** The page's trees are plain data; the tests walk them as such. */
type Tree = string | { [name: string]: unknown } | Tree[];

function parse(text: string): Tree[] {
  return parseMarkdown(text);
}

/** Every node of a tree that has a type. */
function nodes(tree: unknown): { type: string; [name: string]: unknown }[] {
  if (Array.isArray(tree)) return tree.flatMap(nodes);
  if (typeof tree !== "object" || tree === null) return [];
  const inside = Object.values(tree).flatMap(nodes);
  return "type" in tree && typeof tree.type === "string" ? [{ ...tree, type: tree.type }, ...inside] : inside;
}

/** What a reader sees. */
function visible(tree: unknown): string {
  if (typeof tree === "string") return tree;
  if (Array.isArray(tree)) return tree.map(visible).join("");
  if (typeof tree !== "object" || tree === null) return "";
  const parts = ["children", "blocks", "items", "rows", "language", "text"].map((name) =>
    visible(Reflect.get(tree, name)),
  );
  return parts.join("");
}

const paragraph = (...children: unknown[]) => ({ type: "paragraph", children });

describe("inline marks", () => {
  test.each([
    ["**bold** and *light* and ~~gone~~", ["bold", "light", "gone"], ["strong", "emphasis", "strike"]],
    ["__bold__ and _light_", ["bold", "light"], ["strong", "emphasis"]],
    ["***both***", ["both"], ["strong", "emphasis"]],
    ["**a *b***", ["a ", "b"], ["strong", "emphasis"]],
    ["`code *is* code`", ["code *is* code"], ["code"]],
    ["``a ` b``", ["a ` b"], ["code"]],
  ])("%s", (text, words, types) => {
    const tree = parse(text);
    for (const word of words) expect(visible(tree)).toContain(word);
    expect(nodes(tree).map(({ type }) => type)).toEqual(["paragraph", ...types]);
  });

  test.each([
    "2 * 3 * 4",
    "snake_case_name and __init__x",
    "**never closed",
    "a `tick",
    "~one tilde~",
    "[no address] and [x](not an address)",
    "<b>bold</b> & <script>alert(1)</script>",
    String.raw`$\int_0^1 x\,dx$ and \(a\,b\) and \[c \* d\]`,
    String.raw`$$f*g*h \; x$$`,
  ])("is text, to the letter: %s", (text) => {
    expect(parse(text)).toEqual([paragraph(text)]);
  });

  test("a formula keeps its lines and its backslashes, and prices are none", () => {
    const formula = String.raw`$$` + "\n" + String.raw`x\,dx *y*` + "\n$$";
    expect(parse(formula)).toEqual([
      paragraph("$$", { type: "break" }, String.raw`x\,dx *y*`, { type: "break" }, "$$"),
    ]);
    const strong = (text: string) => ({ type: "strong", children: [text] });
    expect(parse(String.raw`**$5** and \* **$6**`)).toEqual([
      paragraph(strong("$5"), " and * ", strong("$6")),
    ]);
    expect(parse("$HOME\\_x and $PATH")).toEqual([paragraph("$HOME_x and $PATH")]);
  });

  test("a backslash takes the meaning away", () => {
    expect(parse("\\*not light\\* \\[a](https://b.example)")).toEqual([
      paragraph(
        "*not light* [a](",
        { type: "link", href: "https://b.example/", children: ["https://b.example"] },
        ")",
      ),
    ]);
  });

  test("a line break stays a line break", () => {
    expect(parse("one\ntwo")).toEqual([paragraph("one", { type: "break" }, "two")]);
  });
});

describe("links", () => {
  test.each([
    ["[docs](https://example.com/a_b)", "https://example.com/a_b", "docs"],
    ['[docs](https://example.com "title")', "https://example.com/", "docs"],
    ["[a *b*](http://example.com/x(1))", "http://example.com/x(1)", "a b"],
    ["<https://example.com/a*b*>", "https://example.com/a*b*", "https://example.com/a*b*"],
    ["see https://example.com/a_b_c.", "https://example.com/a_b_c", "see https://example.com/a_b_c."],
    ["(https://example.com/x)", "https://example.com/x", "(https://example.com/x)"],
    ["(https://example.com/x_(y)).", "https://example.com/x_(y)", "(https://example.com/x_(y))."],
    ["![image](https://example.com/x.png)", "https://example.com/x.png", "image"],
    ["[a thread](#/t/0123456789abcdef)", "#/t/0123456789abcdef", "a thread"],
  ])("%s", (text, href, shown) => {
    const tree = parse(text);
    expect(nodes(tree).filter(({ type }) => type === "link")).toMatchObject([{ href }]);
    expect(visible(tree)).toBe(shown);
  });

  test.each([
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x)",
    "[x](//evil.example)",
    "[x](/api/session)",
    "[x](#/connect)",
    "[x](#/t/../0123456789)",
    "[x](file:///etc/passwd)",
    "<javascript:alert(1)>",
    "![x](data:image/svg+xml,<svg>)",
  ])("nothing but http, https and a conversation is a link: %s", (text) => {
    expect(nodes(parse(text)).filter(({ type }) => type === "link")).toEqual([]);
  });

  test("a link inside a link is only its text", () => {
    const [link, ...others] = nodes(parse("[go to https://good.example/x](https://evil.example)")).filter(
      ({ type }) => type === "link",
    );
    expect(link).toMatchObject({
      href: "https://evil.example/",
      children: ["go to ", "https://good.example/x"],
    });
    expect(others).toEqual([]);
  });
});

describe("blocks", () => {
  test("headings, rules, quotes and code", () => {
    const tree = parse(
      "# One #\n## Two\ntext\n\n---\n> quoted\n> # inside\n\n```js\nlet a = `b`;\n\n# not a heading\n```\nend",
    );
    expect(tree).toEqual([
      { type: "heading", level: 1, children: ["One"] },
      { type: "heading", level: 2, children: ["Two"] },
      paragraph("text"),
      { type: "rule" },
      { type: "quote", blocks: [paragraph("quoted"), { type: "heading", level: 1, children: ["inside"] }] },
      { type: "code", language: "js", text: "let a = `b`;\n\n# not a heading" },
      paragraph("end"),
    ]);
  });

  test("code that is never closed goes to the end, as it does while an answer is being written", () => {
    expect(parse("~~~\na\n\nb")).toEqual([{ type: "code", language: "", text: "a\n\nb" }]);
  });

  test("lists nest, number and tick", () => {
    const item = (checked: boolean | null, ...blocks: unknown[]) => ({ checked, blocks });
    const list = (ordered: boolean, start: number, ...items: unknown[]) => ({
      type: "list",
      ordered,
      start,
      items,
    });
    expect(parse("3. three\n   - [x] done\n   - [ ] open\n\n4. four\n   goes on\n\n- other")).toEqual([
      list(
        true,
        3,
        item(
          null,
          paragraph("three"),
          list(false, 1, item(true, paragraph("done")), item(false, paragraph("open"))),
        ),
        item(null, paragraph("four", { type: "break" }, "goes on")),
      ),
      list(false, 1, item(null, paragraph("other"))),
    ]);
  });

  test("a year at the beginning of a line is no list", () => {
    expect(parse("It was in\n1986. A good year")).toMatchObject([{ type: "paragraph" }]);
  });

  test("tables align, and every row has the head's number of cells", () => {
    expect(parse("| a | b |\n|:-:|--:|\n| `x \\| y` | 2 | 3 |\n| 1 |\n\nend")).toEqual([
      {
        type: "table",
        aligns: ["center", "end"],
        rows: [
          [["a"], ["b"]],
          [[{ type: "code", text: "x | y" }], ["2"]],
          [["1"], []],
        ],
      },
      paragraph("end"),
    ]);
  });
});

describe("what read-me files have", () => {
  test.each([
    ["Title\n=====\ntext", [{ type: "heading", level: 1, children: ["Title"] }, paragraph("text")]],
    ["Part\n---\ntext", [{ type: "heading", level: 2, children: ["Part"] }, paragraph("text")]],
    ["one\ntwo\n---", [paragraph("one", { type: "break" }, "two"), { type: "rule" }]],
  ])("an underlined line is a heading: %j", (text, blocks) => expect(parse(text)).toEqual(blocks));

  test("indented lines are code, and no list is", () => {
    expect(parse("text\n\n    let a;\n\n      b\nend")).toEqual([
      paragraph("text"),
      { type: "code", language: "", text: "let a;\n\n  b" },
      paragraph("end"),
    ]);
    expect(parse("- a\n\n        - b")).toMatchObject([{ type: "list" }]);
    expect(parse("text\n    goes on")).toEqual([paragraph("text", { type: "break" }, "goes on")]);
  });

  test.each([
    ["a &amp; b &lt;i&gt; &#169; &#x2192;", "a & b <i> © →"],
    ["&nosuch; &; & &constructor; AT&T", "&nosuch; &; & &constructor; AT&T"],
    ["&#0; &#27; &#xD800; &#9999999;", "\uFFFD \uFFFD \uFFFD \uFFFD"],
    ["`&amp;`", "&amp;"],
    ["[x](javascript&#58;alert(1))", "[x](javascript:alert(1))"],
  ])("entities are what they stand for: %j", (text, shown) => {
    expect(visible(parse(text))).toBe(shown);
    expect(nodes(parse(text)).filter(({ type }) => type === "link")).toEqual([]);
  });

  test("a break is one, and other elements are text", () => {
    expect(parse("a<br>b<br/>c <b>d</b>")).toEqual([
      paragraph("a", { type: "break" }, "b", { type: "break" }, "c <b>d</b>"),
    ]);
  });

  test("details fold their content away, nested and without an end too", () => {
    const text =
      "<details open>\n<summary><b>Log</b> &amp; more</summary>\n\n- a\n\n<details><summary>In</summary>\nb\n</details>\n</details>\nend";
    expect(parse(text)).toMatchObject([
      {
        ...{ type: "details", open: true, summary: ["Log & more"] },
        blocks: [
          { type: "list" },
          { type: "details", open: false, summary: ["In"], blocks: [paragraph("b")] },
        ],
      },
      paragraph("end"),
    ]);
    expect(parse("<details>\na")).toMatchObject([{ summary: ["Details"], blocks: [paragraph("a")] }]);
  });

  test("footnotes stand at the end, and what looks like one without a definition stays text", () => {
    expect(parse("So[^1] or [^abc].\n\n[^1]: Because **it** is.\n    Really.\n\nend")).toMatchObject([
      paragraph("So", { type: "note", label: "1" }, " or [^abc]."),
      paragraph("end"),
      { type: "notes", notes: [{ label: "1", blocks: [{ type: "paragraph" }] }] },
    ]);
    expect(parse("```\n[^1]: x\n```")).toEqual([{ type: "code", language: "", text: "[^1]: x" }]);
  });
});

/** Texts of some length whose cost would grow faster than they do, if any did. */
const hostile: Record<string, (chars: number) => string> = {
  "a wide head above short rows": (n) => {
    const columns = n / 6;
    return `|${"a|".repeat(columns)}\n|${"-|".repeat(columns)}\n${"|\n".repeat(columns)}`;
  },
  "one row of cells": (n) => `|${"-|".repeat(n / 4)}\n|${"-|".repeat(n / 4)}`,
  "rows that may be heads": (n) => "|-|-|\n".repeat(n / 6),
  "small tables": (n) => "|a|\n|-|\n\n".repeat(n / 9),
  "nested quotes": (n) => "> > > > > > > > > a\n".repeat(n / 20),
  "quotes that end lazily": (n) => "> - a\nb\n".repeat(n / 8),
  "quotes in one line": (n) => ">".repeat(n),
  "nested lists": (n) => "- - - - - - - - -\n".repeat(n / 18),
  "lists in quotes": (n) => "> - > - > - > - a\n".repeat(n / 18),
  "lists that go in and out": (n) => "- a\n  - b\n    - c\n      - d\n".repeat(n / 30),
  "a staircase": (n) =>
    Array.from({ length: Math.sqrt(2 * n) }, (_, depth) => `${" ".repeat(depth)}-\n`).join(""),
  "empty items": (n) => "-\n".repeat(n / 2),
  "items between blank lines": (n) => "-\n\n".repeat(n / 3),
  "blank lines": (n) => `- a${"\n".repeat(n)}b`,
  "details that never end": (n) => "<details>\n".repeat(n / 10),
  "details that end too often": (n) => "<details>\n</details>\n</details>\n".repeat(n / 32),
  footnotes: (n) => "[^a]: x[^a]\n".repeat(n / 12),
  "many footnotes": (n) =>
    Array.from({ length: n / 20 }, (_, label) => `[^${label}]: x[^${label}]\n`).join(""),
  "entities that are none": (n) => "&#&a&#x".repeat(n / 7),
  "underlined lines": (n) => "a\n--\n".repeat(n / 5),
  "indented lines": (n) => "    a\n\n".repeat(n / 7),
  spaces: (n) => `${" ".repeat(n / 2)}a${" ".repeat(n / 2)}b`,
  "almost rules": (n) => `${"- ".repeat(n / 2)}x`,
  "formulas without an end": (n) => "\\(a$\\[".repeat(n / 6),
  "formulas that are none": (n) => "$ a\\$$".repeat(n / 6),
  emphasis: (n) => "*a _b ".repeat(n / 6),
  "emphasis that crosses": (n) => "*a **b ~~c _d __e ***f [g [h [i [j ] ] ] ] ".repeat(n / 42),
  "emphasis in emphasis": (n) => "[**_~~[a".repeat(n / 8),
  "open brackets": (n) => "[".repeat(n),
  "pairs of brackets": (n) => "[]".repeat(n / 2),
  "links without an end": (n) => '[](a          "'.repeat(n / 15),
  "links with parentheses": (n) => `[]${"((a)".repeat(n / 4)}`,
  "links in links": (n) => `${"[".repeat(12)}${"a](http://a/)".repeat(n / 13)}`,
  "addresses that are none": (n) => "http://%".repeat(n / 8),
  "addresses in addresses": (n) => "<http://".repeat(n / 8),
  "addresses that become longer": (n) => `http://a/${"世".repeat(1990)} `.repeat(n / 2000),
  "runs of backticks": (n) =>
    Array.from({ length: Math.sqrt(2 * n) }, (_, run) => `${"`".repeat(run + 1)} `).join(""),
  "short code": (n) => "`a`".repeat(n / 3),
  "code blocks": (n) => "```\n```\n".repeat(n / 8),
  "code blocks in items": (n) => "- ```\n".repeat(n / 6),
  headings: (n) => "# #\n".repeat(n / 4),
  "line breaks": (n) => "a\n".repeat(n / 2),
  backslashes: (n) => "\\".repeat(n),
};

describe("hostile text", () => {
  test.each(Object.entries(hostile))("makes no more of itself than its length allows: %s", (_, make) => {
    const text = make(50_000);
    const started = performance.now();
    const written = JSON.stringify(parse(text)).length;
    const tookMs = performance.now() - started;
    expect(written / text.length).toBeLessThan(30);
    // Each takes less than a fifth of a second; what grew with the square took a minute.
    expect(tookMs).toBeLessThan(5_000);
  });

  test("that is a table of nothing but missing cells is shown as it was written", () => {
    expect(parse("|a|b|c|\n|-|-|-|\n|\n|\n|\n|\n|\n|\n|\n|\n|\n|\n|\n|\n|\n|\n|\n|\n|\n|\n")).toMatchObject([
      { type: "paragraph" },
    ]);
    expect(parse("|a|b|c|\n|-|-|-|\n|1|2|3|\n|1|\n")).toMatchObject([{ type: "table" }]);
  });
});

describe("what would hold up the browser", () => {
  test.each([
    ["letters of alternating direction", "aא".repeat(3_000), true],
    ["digits between letters that go the other way", "1م".repeat(3_000), true],
    ["letters of two scripts by turns", "aж".repeat(3_000), true],
    ["English", "The quick brown fox, 12 times. ".repeat(2_000), false],
    ["Vietnamese", "Tiếng Việt có sáu thanh điệu. ".repeat(2_000), false],
    ["Russian with commas and dates", "В 2026 году всё ещё есть слова. ".repeat(500), false],
    ["Hebrew with names in English", "זה קובץ של Heddle והוא ארוך מאוד. ".repeat(800), false],
    ["Japanese", "これは日本語の文章です。カタカナもある。".repeat(2_000), false],
  ])("is text that changes its script all the time: %s", (_, text, often) => {
    expect(changesScriptOften(text)).toBe(often);
  });

  test("is whatever makes thousands of elements", () => {
    expect(hasManyElements(parseMarkdown("```\na\n```\n".repeat(1_000)))).toBe(true);
    expect(hasManyElements(parseMarkdown("- a\n".repeat(10_000)))).toBe(true);
    expect(hasManyElements(parseMarkdown("# Title\n\nSome *text* and `code`.\n\n".repeat(500)))).toBe(false);
  });

  test("is shown in pieces that lose nothing and end with a line where they can", () => {
    const text = `${"one line\n".repeat(300)}${"👩".repeat(2_000)}`;
    const pieces = splitPieces(text);
    expect(pieces.join("")).toBe(text);
    expect(pieces.every((piece) => piece.length <= 1_001 && piece.isWellFormed())).toBe(true);
    expect(pieces[0]).toMatch(/line\n$/);
  });
});

describe("whatever is written", () => {
  const pieces = [
    "*",
    "**",
    "_",
    "~~",
    "`",
    "```",
    "[",
    "](",
    ")",
    "<",
    ">",
    "!",
    "#",
    "# ",
    "- ",
    "1. ",
    "> ",
    "|",
    "|-|",
    "\\",
  ];
  const piece = fc.constantFrom(
    ...pieces,
    "\n",
    "\n\n",
    "  ",
    "word",
    "https://x.example/",
    "javascript:",
    "é🧵",
  );
  const text = fc.array(piece, { maxLength: 60 }).map((parts) => parts.join(""));

  test("it parses, and links lead to http and https only", () => {
    fc.assert(
      fc.property(text, (written) => {
        for (const node of nodes(parse(written))) {
          if (node.type === "link") expect(node["href"]).toMatch(/^https?:\/\//);
        }
      }),
    );
  });

  test("no word is lost", () => {
    const words = fc.array(
      fc.oneof(
        piece.filter((part) => !/[(<`]|https|```/.test(part)),
        fc.stringMatching(/^[a-z]{1,6}$/),
      ),
    );
    fc.assert(
      fc.property(words, (parts) => {
        // A row keeps no more cells than its table's head has, so bars are left out here.
        const written = parts.join("").replaceAll("|", "");
        const letters = (shown: string) => shown.replaceAll(/[^a-zé🧵]/gu, "");
        expect(letters(visible(parse(written)))).toBe(letters(written));
      }),
    );
  });

  test("no text of 100,000 characters can hold up the page", () => {
    const unit = fc.array(piece, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(unit, (repeated) => {
        parse(repeated.repeat(Math.ceil(100_000 / repeated.length)));
      }),
      { numRuns: 40, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: true },
    );
  });
});
