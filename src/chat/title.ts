import { cutText } from "../agent/text/text.ts";

/** How much of a text is searched, and how much of a line is read, in characters. */
const searchedChars = 2_000;
const lineChars = 500;

/** What begins a line and is no word: headings, quotations, points of a list, Discord's small print. */
const lineStart = /^(?:(?:#{1,6}|[-*+]|-#|\[[ xX]\])(?:\s+|$)|>\s*)+/;

/** A line that is nothing but Markdown: a fence, a rule. */
const wordless = /^(?:(?:`{3,}|~{3,}).*|[-*_=\s]{3,})$/;

/**
 * Code; a link or picture; an address or a mention in brackets; emphasis. What only looks like emphasis stays:
 * `2 * 3`, `snake_case`, `*.ts`, `__init__.py`. Each mark looks for its end, and most may have none, so emphasis has its
 * longest length.
 */
const inline = new RegExp(
  [
    /(?<tick>`{1,3})(?<code>[^`]+)\k<tick>/,
    /!?\[(?<label>[^[\]]*)\]\((?:[^()]|\([^()]*\))*\)/,
    /<(?<address>https?:\/\/[^<>\s]+)>|<(?<sign>[@#])[!&]?(?<id>\w+)>/,
    /(?<![\w*_])(?<mark>\*{1,3}(?!\*)|_{1,3}(?!_)|~~|\|\|)(?=\S)(?<marked>.{0,1000}?\S)\k<mark>(?![\w*_]|\.\w)/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "g",
);

/**
 * Makes the title of a thread: the first line of its first message that says something, as plain text of at most `chars`
 * characters. Empty where no line does.
 */
export function makeTitle(markdown: string, chars: number): string {
  for (const line of markdown.slice(0, searchedChars).split("\n")) {
    const content = line.slice(0, lineChars).trim();
    const title = wordless.test(content) ? "" : stripMarks(content.replace(lineStart, "")).trim();
    if (title !== "") return cutText(title, chars).toWellFormed();
  }
  return "";
}

/** A line of Markdown without the marks of emphasis, code and links. */
export function stripMarks(text: string): string {
  return text.replace(inline, (...match) => {
    // The last argument of a replacer is the named groups, and there are some.
    const groups = match.at(-1) as Partial<Record<string, string>>;
    const { code, label, address, sign = "", id = "", marked } = groups;
    return code ?? address ?? stripMarks(label ?? marked ?? sign + id);
  });
}
